#include "webapi/host_handlers.h"

#include <algorithm>

#include "common/base/json.h"
#include "common/model/task_rules.h"
#include "webapi/cluster_json.h"
#include "webapi/request_key.h"
#include "webapi/task_handlers.h"

namespace baton::webapi {
namespace {

using master::api::HostChange;
using master::api::HostPolicy;
using master::api::HostPolicyChange;
using master::api::HostView;

constexpr size_t kHostCharsMax = 255;
constexpr size_t kHostReasonCharsMax = 256;
constexpr size_t kHostLabelsMax = 64;

bool isOneLine(std::string_view text) {
  return isValidUtf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

Result<std::string> readHostName(const Call& call) {
  const std::string& name = call.pathParam("host");
  // The database takes names that differ by blanks at their end for the same.
  const bool blank_ends = name.starts_with(' ') || name.ends_with(' ');
  if (isPathPart(name) && !blank_ends && isOneLine(name) && utf8Length(name) <= kHostCharsMax) {
    return name;
  }
  return Error(ErrorCode::InvalidArgument,
               fmt::format("is \"{}\", expected a worker id or host name of 1 to {} characters, "
                           "and not . or ..",
                           truncateUtf8(name, 40), kHostCharsMax),
               "host");
}

Status readReason(const net::HttpRequest& request, std::string& reason) {
  if (request.body.empty()) return {};
  ASSIGN_OR_RETURN(const Json json, parseJson(request.body));
  JsonReader reader(json);
  reader.string("reason", reason, kHostReasonCharsMax);
  RETURN_IF_ERROR(reader.finish());
  if (isOneLine(reason)) return {};
  return Error(ErrorCode::InvalidArgument, "has control characters, expected one line", "reason");
}

Status readLabels(const net::HttpRequest& request,
                  std::map<std::string, std::optional<std::string>>& labels) {
  ASSIGN_OR_RETURN(const Json json, parseJson(request.body));
  JsonReader reader(json);
  const Json* members = reader.object("labels");
  RETURN_IF_ERROR(reader.finish());
  if (members == nullptr || members->empty() || members->size() > kHostLabelsMax) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("has {} labels, expected 1 to {}",
                             members == nullptr ? 0 : members->size(), kHostLabelsMax),
                 "labels");
  }
  for (const auto& [name, value] : members->items()) {
    const bool fits = isValidName(name) &&
                      (value.is_null() ||
                       (value.is_string() && isValidName(value.get_ref<const std::string&>())));
    if (!fits) {
      return Error(ErrorCode::InvalidArgument,
                   "is no label; expected names of 1 to 64 of A-Z a-z 0-9 . _ -, or null to remove "
                   "it",
                   "labels." + truncateUtf8(name, 80));
    }
    if (name.starts_with(kKindLabelPrefix)) {
      return Error(ErrorCode::InvalidArgument, std::string(kKindLabelRule), "labels." + name);
    }
    labels[name] = value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
  }
  return {};
}

Result<HostPolicyChange> readPolicy(const net::HttpRequest& request) {
  ASSIGN_OR_RETURN(const Json json, parseJson(request.body));
  JsonReader reader(json);
  HostPolicyChange change;
  bool white_list = false;
  if (reader.has("white_list")) {
    reader.boolean("white_list", white_list);
    change.white_list = white_list;
  }
  if (const Json* version = reader.any("min_version"); version != nullptr) {
    if (version->is_string() && !version->get_ref<const std::string&>().empty()) {
      change.min_version = version->get<std::string>();
    } else if (version->is_null()) {
      change.min_version.emplace();
    } else {
      reader.fail("min_version", "is not a version such as \"1.2.0\" or null");
    }
  }
  RETURN_IF_ERROR(reader.finish());
  if (!change.white_list && !change.min_version) {
    return Error::invalidArgument("nothing to change; expected white_list or min_version");
  }
  return change;
}

}  // namespace

void HostHandlers::bindTo(Router& router) {
  using Verb = HostChange::Verb;
  const auto action = [&](std::string_view operation, Verb verb) {
    router.bind(operation, [this, verb](const Call& call) { change(call, verb); });
  };
  action("drainHost", Verb::Drain);
  action("excludeHost", Verb::Exclude);
  action("includeHost", Verb::Include);
  action("unregisterHost", Verb::Unregister);
  action("labelHost", Verb::Label);
  router.bind("getHostPolicy", [this](const Call& call) { getPolicy(call); });
  router.bind("setHostPolicy", [this](const Call& call) { setPolicy(call); });
}

void HostHandlers::change(const Call& call, HostChange::Verb verb) {
  HostChange change;
  change.verb = verb;
  change.request = requesterOf(call);
  auto name = readHostName(call);
  if (!name.ok()) return call.fail(name.error());
  change.host = std::move(*name);
  Status read;
  switch (verb) {
    case HostChange::Verb::Label:
      read = readLabels(call.request(), change.labels);
      break;
    case HostChange::Verb::Unregister:
      read = readEmptyBody(call.request());
      break;
    default:
      read = readReason(call.request(), change.reason);
      break;
  }
  if (!read.ok()) return call.fail(read.error());
  hosts_.change(std::move(change), [call](const Result<std::vector<HostView>>& hosts) {
    if (!hosts.ok()) return call.fail(hosts.error());
    call.replyJson(hostsToJson(*hosts));
  });
}

void HostHandlers::getPolicy(const Call& call) {
  const auto policy = hosts_.policy();
  if (!policy.ok()) return call.fail(policy.error());
  call.replyJson(hostPolicyToJson(*policy));
}

void HostHandlers::setPolicy(const Call& call) {
  auto change = readPolicy(call.request());
  if (!change.ok()) return call.fail(change.error());
  change->request = requesterOf(call);
  hosts_.setPolicy(std::move(*change), [call](const Result<HostPolicy>& policy) {
    if (!policy.ok()) return call.fail(policy.error());
    call.replyJson(hostPolicyToJson(*policy));
  });
}

}  // namespace baton::webapi
