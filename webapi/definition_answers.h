#pragma once

#include <vector>

#include "master/api/flow_ports.h"
#include "webapi/call.h"

// What the handlers of definitions (flows, calendars) have in common.
namespace baton::webapi {

// 400 with all that is wrong; `with_file`: the summary names the file of the first.
net::HttpResponse wrongDefinition(const std::vector<master::api::DefinitionIssue>& issues,
                                  bool with_file = false);
// Version conflicts are a failed precondition; other conflicts stay what they are.
void failDefinition(const Call& call, const Error& error);
// Whether the first kind that is named in Accept and served here is YAML.
bool wantsYaml(const net::HttpRequest& request);

}  // namespace baton::webapi
