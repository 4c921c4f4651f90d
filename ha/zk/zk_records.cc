#include "ha/zk/zk_records.h"

#include <limits>

#include "common/base/json.h"

namespace baton::ha {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr JsonLimits kRecordLimits{.bytes_max = 64 * 1024, .depth_max = 4};

Json identityJson(const MasterIdentity& who) {
  return {{"id", who.node_id},
          {"inc", who.incarnation},
          {"address", who.address},
          {"version", who.version},
          {"boot_id", who.boot_id},
          {"pid", who.pid},
          {"start_ticks", who.start_ticks}};
}

void readIdentity(JsonReader& reader, MasterIdentity& who) {
  reader.string("id", who.node_id)
      .string("inc", who.incarnation)
      .string("address", who.address)
      .string("version", who.version)
      .string("boot_id", who.boot_id)
      .integer("pid", who.pid, 0, kMax)
      .integer("start_ticks", who.start_ticks, 0, kMax);
}

FailoverState stateFromText(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(FailoverState::Stopped); ++i) {
    const auto state = static_cast<FailoverState>(i);
    if (toString(state) == text) return state;
  }
  return FailoverState::Init;
}

std::optional<Json> parseObject(const std::string& text) {
  Result<Json> json = parseJson(text, kRecordLimits);
  if (!json.ok() || !json.value().is_object()) return std::nullopt;
  return std::move(json).value();
}

}  // namespace

std::string encodeLock(const LockRecord& lock) {
  Json json = identityJson(lock.who);
  json["epoch"] = lock.epoch;
  json["prev"] = lock.prev_epoch;
  json["reason"] = lock.reason;
  json["attempt"] = lock.attempt;
  return dumpJson(json);
}

std::optional<LockRecord> decodeLock(const std::string& text) {
  const std::optional<Json> json = parseObject(text);
  if (!json) return std::nullopt;
  LockRecord lock;
  int64_t epoch = 0;
  int64_t prev = 0;
  JsonReader reader(*json);
  readIdentity(reader, lock.who);
  reader.integer("epoch", epoch, 1, kMax)
      .integer("prev", prev, 0, kMax)
      .string("reason", lock.reason)
      .string("attempt", lock.attempt);
  if (!reader.finishTolerant().ok() || epoch == 0 || lock.who.node_id.empty()) return std::nullopt;
  lock.epoch = static_cast<uint64_t>(epoch);
  lock.prev_epoch = static_cast<uint64_t>(prev);
  return lock;
}

std::string encodeMember(const MemberRecord& member) {
  Json json = identityJson(member.who);
  json["state"] = toString(member.state);
  json["prio"] = member.priority;
  json["eligible"] = member.eligible;
  json["seen_epoch"] = member.seen_epoch;
  json["health"] = {{"db_ok", member.database_ok}};
  return dumpJson(json);
}

std::optional<MemberRecord> decodeMember(const std::string& text) {
  const std::optional<Json> json = parseObject(text);
  if (!json) return std::nullopt;
  MemberRecord member;
  int64_t priority = 100;
  int64_t seen_epoch = 0;
  std::string state;
  JsonReader reader(*json);
  readIdentity(reader, member.who);
  reader.string("state", state)
      .integer("prio", priority, 0, std::numeric_limits<int32_t>::max())
      .boolean("eligible", member.eligible)
      .integer("seen_epoch", seen_epoch, 0, kMax);
  if (const Json* health = reader.object("health")) {
    JsonReader(*health, "health").boolean("db_ok", member.database_ok);
  }
  if (!reader.finishTolerant().ok() || member.who.node_id.empty()) return std::nullopt;
  member.state = stateFromText(state);
  member.priority = static_cast<int32_t>(priority);
  member.seen_epoch = static_cast<uint64_t>(seen_epoch);
  return member;
}

std::string encodeEpoch(uint64_t epoch, const std::string& node_id, const std::string& incarnation,
                        const std::string& reason) {
  return dumpJson(
      Json{{"epoch", epoch}, {"id", node_id}, {"inc", incarnation}, {"reason", reason}});
}

std::optional<uint64_t> decodeEpoch(const std::string& text) {
  const std::optional<Json> json = parseObject(text);
  if (!json) return std::nullopt;
  int64_t epoch = -1;
  JsonReader reader(*json);
  reader.integer("epoch", epoch, 0, kMax);
  if (!reader.finishTolerant().ok() || epoch < 0) return std::nullopt;
  return static_cast<uint64_t>(epoch);
}

std::string encodeCluster(const std::string& guid) {
  return dumpJson(Json{{"guid", guid}, {"schema", 1}});
}

std::optional<std::string> decodeCluster(const std::string& text) {
  const std::optional<Json> json = parseObject(text);
  if (!json) return std::nullopt;
  std::string guid;
  JsonReader reader(*json);
  reader.string("guid", guid);
  if (!reader.finishTolerant().ok() || guid.empty()) return std::nullopt;
  return guid;
}

}  // namespace baton::ha
