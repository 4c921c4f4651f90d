#include "cli/audit_verbs.h"

namespace baton::cli {
namespace {

// What the row says beyond its action: what was asked, and what it changed, or why it was refused.
std::string wordsOf(const Json& row) {
  std::string words = memberText(row, "detail");
  if (!words.empty()) return words;
  words = memberText(row, "params");
  const std::string before = memberText(row, "before");
  const std::string after = memberText(row, "after");
  if (before.empty() && after.empty()) return words;
  words += words.empty() ? "" : " ";
  return words + (before.empty() ? "" : before + " ") + "-> " + (after.empty() ? "gone" : after);
}

}  // namespace

int auditList(Session& session, const AuditListOptions& options) {
  QueryFields fields = {{"kind", options.kind},
                        {"action", options.action},
                        {"object", options.object},
                        {"principal", options.principal},
                        {"request_id", options.request_id},
                        {"outcome", options.refused ? "refused" : ""}};
  const Status timed =
      addTimes(fields, session.clock().wallNow(),
               {{"--since", "from", options.since}, {"--before", "before", options.before}});
  if (!timed.ok()) return session.fail(timed.error());
  return listPages(
      session, "/api/v1/audit", std::move(fields),
      {timeColumn("AT", "at"), memberColumn("WHO", "principal"), memberColumn("FROM", "remote"),
       memberColumn("ACTION", "action"), memberColumn("OBJECT", "object"),
       memberColumn("OUTCOME", "outcome"), Column{"DETAIL", wordsOf}},
      options.pages);
}

}  // namespace baton::cli
