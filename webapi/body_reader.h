#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/json.h"
#include "common/model/ids.h"
#include "common/model/task_status.h"
#include "net/http_message.h"

// Members that bodies of several addresses have; each keeps its error in the reader.
namespace baton::webapi {

// The body as JSON, which must be an object; a missing one is an empty object.
Result<Json> readObjectBody(const net::HttpRequest& request);

// RFC 3339; returns whether it was set.
bool readTime(JsonReader& reader, std::string_view name, WallTime& out);
// A name of a flow, task or event.
bool readName(JsonReader& reader, std::string_view name, std::string& out);
bool readPriority(JsonReader& reader, std::string_view name, Priority& out);
// An object of strings and nulls of 128 KB at most.
void readParams(JsonReader& reader, std::string_view name,
                std::map<std::string, std::optional<std::string>>& out);
// Keeps an error if there is no such member.
void require(JsonReader& reader, std::string_view name);

}  // namespace baton::webapi
