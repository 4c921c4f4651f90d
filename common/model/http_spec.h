#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"

namespace baton {

inline constexpr size_t kHttpBodyCharsMax = 64 * 1024;
inline constexpr size_t kHttpHeadersMax = 100;
inline constexpr size_t kHttpExpectMax = 20;

// A request as a task (kind http): of submissions and of flow definitions, where the texts may
// hold placeholders. What each key means: docs/plugins.md.
struct HttpSpec {
  std::string method = "GET";
  std::string url;
  std::map<std::string, std::string> headers;
  std::string body;
  std::vector<std::string> expect;  // "200", "2xx", "200-204"; empty: 2xx.
  std::string capture;              // Output that takes the body; empty: none.
};

// Everything that is wrong with it, each with the key as field ("url"): InvalidArgument, TooLarge,
// or Unsupported (https). Empty: nothing. `as_written`: an address with placeholders is looked at
// no deeper than its scheme.
std::vector<Error> httpFaults(const HttpSpec& http, bool as_written = false);

// True if the status is one of those that are expected.
bool isExpectedStatus(const HttpSpec& http, int status);
// "2xx", "200, 204 or 300-303".
std::string expectedText(const HttpSpec& http);

// Reads the members of the object `json` at `path`, strictly unless `tolerant`; no judgement of
// values.
Status readHttp(const Json& json, const std::string& path, bool tolerant, HttpSpec& http);
// What readHttp reads; members with their default are left out.
Json httpToJson(const HttpSpec& http);

}  // namespace baton
