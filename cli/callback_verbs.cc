#include "cli/callback_verbs.h"

#include "cli/exit_code.h"

namespace baton::cli {
namespace {

constexpr const char* kDead = "/api/v1/callbacks/dead";

std::string subjectOf(const Json& row) {
  const std::string run = memberText(row, "run_id");
  return run.empty() ? "task " + memberText(row, "task_id") : "run " + run;
}

// All that are dead now, before any of them is sent and may die again.
Result<std::vector<std::string>> allDead(Session& session) {
  std::vector<std::string> ids;
  std::string cursor;
  do {
    const std::string query = webapi::queryString({{"limit", "1000"}, {"cursor", cursor}});
    ASSIGN_OR_RETURN(const Json page, session.api().get(std::string(kDead) + "?" + query));
    if (!page.is_object() || !page.contains("items") || !page["items"].is_array()) {
      return Error::make(ErrorCode::Corrupt, "the master's answer is no list");
    }
    for (const Json& item : page["items"]) ids.push_back(memberText(item, "id"));
    cursor = memberText(page, "next_cursor");
  } while (!cursor.empty());
  return ids;
}

}  // namespace

int callbackList(Session& session, const PageOptions& options) {
  return listPages(
      session, kDead, {},
      {memberColumn("ID", "id"), Column{"OF", subjectOf}, memberColumn("ATTEMPT", "attempt"),
       memberColumn("EVENT", "event"), memberColumn("URL", "url"), memberColumn("TRIES", "tries"),
       timeColumn("CREATED", "created_at"), memberColumn("ERROR", "last_error")},
      options);
}

int callbackResend(Session& session, std::vector<std::string> ids, bool all) {
  if (all == !ids.empty()) {
    return session.fail(Error::invalidArgument("expected ids of callbacks, or --all"));
  }
  if (all) {
    auto dead = allDead(session);
    if (!dead.ok()) return session.fail(dead.error());
    ids = std::move(*dead);
  }
  Json sent = Json::array();
  int code = kExitOk;
  for (const std::string& id : ids) {
    const auto callback =
        session.api().post(fmt::format("{}/{}/resend", kDead, webapi::pathSegment(id)));
    if (callback.ok()) {
      sent.push_back(*callback);
    } else if (!all || callback.error().code() != ErrorCode::Conflict) {  // Somebody was faster.
      code = session.fail(callback.error());
      if (code != kExitNotFound && code != kExitRefused) return code;
    }
  }
  session.printLine(fmt::format("{} callbacks are sent again", sent.size()), sent);
  return code;
}

}  // namespace baton::cli
