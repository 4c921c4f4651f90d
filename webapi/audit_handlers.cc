#include "webapi/audit_handlers.h"

#include <utility>

#include "webapi/list_cursor.h"
#include "webapi/query_reader.h"
#include "webapi/task_json.h"

namespace baton::webapi {
namespace {

using master::api::AuditListQuery;

constexpr std::string_view kAuditCursorMark = "a-";

std::string_view kindOfAction(std::string_view action) {
  return action.substr(0, action.find('.'));
}

// A word that no row can have is told, so that nobody takes an empty list for an answer.
void checkWord(QueryReader& reader, std::string_view name, const std::string& word, bool kind) {
  std::string names;
  std::string_view last;
  for (const std::string_view action : kAuditActions) {
    const std::string_view known = kind ? kindOfAction(action) : action;
    if (word.empty() || word == known) return;
    if (known == std::exchange(last, known)) continue;
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  reader.failWord(name, word, names);
}

Result<AuditListQuery> readAuditListQuery(const net::HttpRequest& request) {
  AuditListQuery query;
  std::string outcome;
  QueryReader reader(request);
  reader.text("kind", query.kind)
      .text("action", query.action)
      .text("object", query.object)
      .text("principal", query.principal)
      .text("request_id", query.request_id)
      .text("outcome", outcome)
      .time("from", query.from)
      .time("before", query.until)
      .boolean("total", query.total);
  checkWord(reader, "kind", query.kind, true);
  checkWord(reader, "action", query.action, false);
  if (!outcome.empty()) {
    query.refused = outcome == "refused";
    if (outcome != "refused" && outcome != "done") {
      reader.fail("outcome",
                  fmt::format("is \"{}\", expected done or refused", truncateUtf8(outcome, 40)));
    }
  }
  readPageLimit(reader, query.limit);
  readCursor(reader, kAuditCursorMark, INT64_MAX, query.before);
  RETURN_IF_ERROR(reader.finish());
  return query;
}

Result<Json> factsOfRow(const AuditRecord& row, const std::string& text) {
  if (text.empty()) return Json(nullptr);
  Result<Json> json = parseJson(text);
  if (json.ok() && json->is_object()) return json;
  return Error::make(ErrorCode::Corrupt, "audit row {} has a stored text that is no JSON object",
                     row.id);
}

Result<Json> auditToJson(const AuditRecord& row) {
  ASSIGN_OR_RETURN(Json params, factsOfRow(row, row.params));
  ASSIGN_OR_RETURN(Json before, factsOfRow(row, row.before));
  ASSIGN_OR_RETURN(Json after, factsOfRow(row, row.after));
  return Json{{"id", std::to_string(row.id)},
              {"at", timeToJson(row.at)},
              {"principal", textOrNull(row.principal)},
              {"remote", textOrNull(row.remote)},
              {"request_id", textOrNull(row.request_id)},
              {"action", row.action},
              {"object", row.object},
              {"outcome", row.refused ? "refused" : "done"},
              {"detail", textOrNull(row.detail)},
              {"params", std::move(params)},
              {"before", std::move(before)},
              {"after", std::move(after)}};
}

}  // namespace

void AuditHandlers::bindTo(Router& router) {
  router.bind("listAudit", [this](const Call& call) { list(call); });
}

void AuditHandlers::list(const Call& call) {
  const auto query = readAuditListQuery(call.request());
  if (!query.ok()) return call.fail(query.error());
  const auto view = audit_.audit(*query);
  if (!view.ok()) return call.fail(view.error());
  call.finish(listToJson(*view, auditToJson, [](const AuditRecord& row) {
    return cursorOf(kAuditCursorMark, row.id);
  }));
}

}  // namespace baton::webapi
