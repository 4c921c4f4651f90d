#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/session.h"

// What verbs of definitions (flows, calendars) have in common.
namespace baton::cli {

// Fetches and prints one: as YAML the text as it was stored, else what the master says of it, as
// `facts` in a table. Returns the exit code.
int showStored(Session& session, const std::string& target,
               const std::function<Facts(const Json&)>& facts);

// Sends several, which are stored together or not at all; the request has everything but method and
// timeout. `told` prints what is wrong with
// them if the master has said it, and says whether it did. Returns the items of the answer, or with
// an exit code nothing.
struct AppliedTogether {
  int code = 0;
  Json items = {};
};
AppliedTogether applyTogether(Session& session, webapi::ApiRequest request,
                              const std::function<bool()>& told);
// What to say of a file that holds a definition of another kind than `wanted` ("flow" or
// "calendar"): its first level has the other kind's key and not its own. Empty: it does not.
std::string otherKind(std::string_view text, std::string_view wanted);
// Says so, and returns the code.
int nothingApplied(Session& session, int code);

// Deletes one at `path` if `yes`, or if the person at the terminal says so. `noun`: "flow"; the
// question ends with `consequence`. Returns the exit code.
int deleteStored(Session& session, const std::string& path, const std::string& noun,
                 const std::string& name, const std::string& consequence, bool yes);

}  // namespace baton::cli
