#include "cli/cluster_verbs.h"

#include "cli/exit_code.h"
#include "cli/task_wait.h"

namespace baton::cli {
namespace {

constexpr Seconds kSyncLimit{60};

std::vector<Column> takeoverColumns() {
  return {memberColumn("EPOCH", "epoch"),
          memberColumn("NODE", "node_id"),
          memberColumn("REASON", "reason"),
          timeColumn("AT", "at"),
          memberColumn("DETECT_MS", "detect_ms"),
          memberColumn("LOCK_MS", "lock_ms"),
          memberColumn("BUMP_MS", "bump_ms"),
          memberColumn("LOAD_MS", "load_ms"),
          memberColumn("ACTIVE_MS", "active_ms"),
          memberColumn("TASKS", "tasks_loaded"),
          memberColumn("IN_DOUBT", "attempts_in_doubt")};
}

int printList(Session& session, const std::string& target, const std::vector<Column>& columns) {
  const auto list = session.api().get(target);
  if (!list.ok()) return session.fail(list.error());
  if (!list->is_object() || !list->contains("items")) {
    return session.fail(Error::make(ErrorCode::Corrupt, "the master's answer is no list"));
  }
  session.printRows(columns, (*list)["items"], *list);
  return kExitOk;
}

int printOne(Session& session, const std::string& target) {
  const auto object = session.api().get(target);
  if (!object.ok()) return session.fail(object.error());
  session.printObject(*object);
  return kExitOk;
}

}  // namespace

int clusterHistory(Session& session, const std::string& limit) {
  const std::string query = webapi::queryString({{"limit", limit}});
  return printList(session, "/api/v1/cluster/history" + (query.empty() ? "" : "?" + query),
                   takeoverColumns());
}

int clusterStats(Session& session) { return printOne(session, "/api/v1/stats"); }

int clusterVerify(Session& session) {
  const auto verify = session.api().post("/api/v1/cluster/verify");
  if (!verify.ok()) return session.fail(verify.error());
  session.printObject(*verify);
  return memberText(*verify, "differences_total") == "0" ? kExitOk : kExitFailure;
}

int clusterSync(Session& session) {
  const auto begun = session.api().post("/api/v1/cluster/sync");
  if (!begun.ok()) return session.fail(begun.error());
  const int64_t ended = begun->value("epoch", int64_t{0});
  const BootTime deadline = session.clock().bootNow() + kSyncLimit;
  WaitPace pace;
  while (true) {
    const auto cluster = session.api().get("/api/v1/cluster");
    if (!cluster.ok()) return session.fail(cluster.error());
    const auto active = cluster->find("active");
    const bool known = active != cluster->end() && active->is_object();
    const int64_t epoch = cluster->value("epoch", int64_t{0});
    if (known && epoch > ended) {
      // It answers this when it has read everything; until then the client waits for it.
      if (const auto open = session.api().get("/api/v1/stats"); !open.ok()) {
        return session.fail(open.error());
      }
      session.printLine(fmt::format("all is read again: epoch {}, active {}", epoch,
                                    printable(memberText(*active, "node_id"))),
                        {{"epoch", epoch}, {"node_id", memberText(*active, "node_id")}});
      return kExitOk;
    }
    if (session.clock().bootNow() >= deadline) {
      return session.fail(Error::make(ErrorCode::DeadlineExceeded,
                                      "nobody leads behind epoch {} within {} s; see `baton "
                                      "cluster status`",
                                      ended, kSyncLimit.count()));
    }
    session.sleep(pace.next());
  }
}

}  // namespace baton::cli
