#include "cli/event_verbs.h"

#include "cli/exit_code.h"
#include "cli/explain.h"
#include "cli/options.h"

namespace baton::cli {

int eventSend(Session& session, const EventSendOptions& options) {
  Json body = {{"name", options.name}, {"key", options.key}};
  if (const Status added = addPairs(body, "data", "--data", options.data); !added.ok()) {
    return session.fail(added.error());
  }
  if (!options.at.empty()) body["happened_at"] = options.at;
  const auto event = session.api().create("/api/v1/events", body, options.idempotency_key);
  if (!event.ok()) return session.fail(event.error());
  const bool known = memberText(*event, "known") == "true";
  session.printLine(printable(fmt::format("event {} ({}, {}) {}", memberText(*event, "id"),
                                          memberText(*event, "name"), memberText(*event, "key"),
                                          known ? "was there already; nothing changed" : "stored")),
                    *event);
  return kExitOk;
}

int eventList(Session& session, const EventListOptions& options) {
  QueryFields fields = {{"name", options.name}, {"q", options.text}, {"key", options.key}};
  const Status timed = addTimes(fields, session.clock().wallNow(),
                                {{"--since", "happened_from", options.since},
                                 {"--before", "happened_before", options.before}});
  if (!timed.ok()) return session.fail(timed.error());
  return listPages(
      session, "/api/v1/events", std::move(fields),
      {memberColumn("ID", "id"), memberColumn("NAME", "name"), memberColumn("KEY", "key"),
       timeColumn("HAPPENED", "happened_at"), memberColumn("DATA", "data")},
      options.pages);
}

int missedList(Session& session, const MissedListOptions& options) {
  QueryFields fields = {
      {"flow", options.flow}, {"q", options.text}, {"reason", joinedWords(options.reasons)}};
  const Status timed = addTimes(
      fields, session.clock().wallNow(),
      {{"--since", "plan_from", options.since}, {"--before", "plan_before", options.before}});
  if (!timed.ok()) return session.fail(timed.error());
  return listPages(session, "/api/v1/missed", std::move(fields),
                   {memberColumn("FLOW", "flow"), memberColumn("PLAN_TIME", "plan_time"),
                    memberColumn("REASON", "reason"), timeColumn("RECORDED", "recorded_at"),
                    memberColumn("RUN", "run_id"), memberColumn("WHY", "reason_text")},
                   options.pages);
}

int missedExplain(Session& session, const std::string& flow, const std::string& plan_time) {
  const std::string query = webapi::queryString({{"flow", flow}, {"plan_time", plan_time}});
  return explainAt(session, flow, plan_time, "/api/v1/missed/explain?" + query);
}

int missedRun(Session& session, const std::string& flow, const std::string& plan_time) {
  const auto run =
      session.api().create("/api/v1/missed/run", {{"flow", flow}, {"plan_time", plan_time}});
  if (!run.ok()) return session.fail(run.error());
  session.printLine(printable(memberText(*run, "id")), *run);
  return kExitOk;
}

}  // namespace baton::cli
