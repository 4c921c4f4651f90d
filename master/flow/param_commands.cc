#include "master/flow/param_commands.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/model/task_rules.h"
#include "master/state/audit.h"

namespace baton::master {
namespace {

constexpr size_t kParamNameCharsMax = 64;
constexpr size_t kUsersShown = 5;

Error noParam(const std::string& name) {
  return Error::notFound("there is no parameter {} of the project", truncateUtf8(name, 64));
}

// As parameters of flows have it.
Status checkParam(const api::ParamSet& request) {
  const auto wrong = [](const char* field, std::string message) {
    return Error(ErrorCode::InvalidArgument, std::move(message), field);
  };
  if (const std::string_view fault = wrongVariableName(request.name); !fault.empty()) {
    return wrong("name", std::string(fault));
  }
  if (flow::isBuiltInName(request.name)) {
    return wrong("name", "is a name that baton fills in itself");
  }
  if (request.name.size() > kParamNameCharsMax) {
    return wrong("name", fmt::format("has {} characters, at most {} are accepted",
                                     request.name.size(), kParamNameCharsMax));
  }
  if (request.value.find('\0') != std::string::npos) {
    return wrong("value", "has a zero byte, which no variable can hold");
  }
  return {};
}

}  // namespace

Status ParamCommands::admissible() const {
  if (!open_) return Error(ErrorCode::NotActive, "this master does not take commands yet");
  return context_.writer.acceptance();
}

Status ParamCommands::checkRoom(const api::ParamSet& request) const {
  const auto values = flows_.params.values();
  size_t count = 1;
  size_t bytes = request.name.size() + request.value.size();
  for (const auto& [name, value] : *values) {
    if (name == request.name) continue;
    ++count;
    bytes += name.size() + value->size();
  }
  if (count > kMembersMax) {
    return Error(
        ErrorCode::TooLarge,
        fmt::format("{} parameters of the project, at most {} are accepted", count, kMembersMax),
        "name");
  }
  if (bytes <= kParamsBytesMax) return {};
  return Error(ErrorCode::TooLarge,
               fmt::format("the project would have {} bytes of parameters, at most {} are accepted",
                           bytes, kParamsBytesMax),
               "value");
}

void ParamCommands::set(const api::ParamSet& request, const api::Callback<api::ParamIsSet>& done) {
  if (const Status ready = admissible(); !ready.ok()) return done(ready.error());
  Operation operation;
  Audit audit(request.request, context_.clock.wallNow(), "param.set", request.name);
  const auto before = flows_.params.find(request.name);
  if (before && !before->deleted) audit.setBefore({{"version", before->version}});
  auto is_set = set(operation, request);
  if (is_set.ok()) audit.setAfter({{"version", is_set->param.version}});
  audit.putInto(operation, is_set.status());
  operation.then([done, is_set = std::move(is_set)] { done(is_set); });
  context_.writer.submit(std::move(operation));
}

Result<api::ParamIsSet> ParamCommands::set(Operation& operation, const api::ParamSet& request) {
  RETURN_IF_ERROR(checkParam(request));
  const auto known = flows_.params.find(request.name);
  const bool there = known && !known->deleted;
  api::ParamIsSet is_set;
  is_set.created = !there;
  is_set.changed = !there || known->value != request.value;
  const uint32_t newest = there ? known->version : 0;
  if (request.if_version && *request.if_version != newest && is_set.changed) {
    return Error(ErrorCode::Conflict,
                 newest == 0 ? fmt::format("there is no parameter {}, and version {} was expected",
                                           request.name, *request.if_version)
                             : fmt::format("parameter {} is at version {}, and {} was expected",
                                           request.name, newest, *request.if_version),
                 "version");
  }
  if (known) is_set.param = *known;
  if (!is_set.changed) return is_set;
  RETURN_IF_ERROR(checkRoom(request));
  ParamRecord& record = is_set.param;
  record.name = request.name;
  record.version += 1;
  record.value = request.value;
  record.author = request.request.principal;
  record.updated_at = context_.clock.wallNow();
  record.deleted = false;
  flows_.params.put(record);
  operation.changes.params.push_back(record);
  logInfo("param_set", field("param", record.name), field("version", record.version),
          field("epoch", context_.epoch()));
  return is_set;
}

void ParamCommands::remove(const std::string& name, const api::Request& request,
                           const api::Callback<ParamRecord>& done) {
  if (const Status ready = admissible(); !ready.ok()) return done(ready.error());
  Operation operation;
  Audit audit(request, context_.clock.wallNow(), "param.delete", name);
  const auto before = flows_.params.find(name);
  if (before && !before->deleted) audit.setBefore({{"version", before->version}});
  auto removed = remove(operation, name, request.principal);
  audit.putInto(operation, removed.status());
  operation.then([done, removed = std::move(removed)] { done(removed); });
  context_.writer.submit(std::move(operation));
}

Result<ParamRecord> ParamCommands::remove(Operation& operation, const std::string& name,
                                          const std::string& principal) {
  const auto known = flows_.params.find(name);
  if (!known || known->deleted) return noParam(name);
  const std::vector<std::string> users = usersOf(name);
  if (!users.empty()) {
    std::string names;
    for (size_t i = 0; i < users.size() && i < kUsersShown; ++i) {
      names += (i == 0 ? "" : ", ") + users[i];
    }
    const size_t more = users.size() - std::min(users.size(), kUsersShown);
    if (more > 0) names += fmt::format(" and {} more", more);
    return Error::conflict("parameter {} is used by {}; let {} declare it first", name, names,
                           users.size() == 1 ? "that flow" : "those flows");
  }
  ParamRecord record = *known;
  record.deleted = true;
  record.value.clear();
  record.author = principal;
  record.updated_at = context_.clock.wallNow();
  flows_.params.put(record);
  operation.changes.params.push_back(record);
  logInfo("param_deleted", field("param", name), field("epoch", context_.epoch()));
  return record;
}

std::vector<std::string> ParamCommands::usersOf(const std::string& name) const {
  std::vector<std::string> users;
  for (const auto& [key, flow] : flows_.flows) {
    if (flow.record.deleted || flow.newest == nullptr) continue;
    const auto& used = flow.newest->spec.project_params;
    const auto it = used.find(name);
    if (it != used.end() && it->second) users.push_back(flow.record.name);
  }
  std::sort(users.begin(), users.end());
  return users;
}

}  // namespace baton::master
