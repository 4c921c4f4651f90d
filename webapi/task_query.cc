#include "webapi/task_query.h"

#include <algorithm>

#include "common/base/json.h"
#include "webapi/list_cursor.h"
#include "webapi/query_reader.h"

namespace baton::webapi {
namespace {

constexpr std::string_view kTaskCursorMark = "t-";

// A word may say more than a status ("timeout" is FAILED with that reason). The list has one reason
// for all, so such a word stands alone.
void readStatuses(QueryReader& reader, master::api::TaskListQuery& query) {
  std::vector<std::string> words;
  reader.words("status", words);
  for (const std::string& word : words) {
    const auto meaning = parseStatusWord(word);
    const std::string shown = truncateUtf8(word, 40);
    if (!meaning) return reader.failWord("status", word, namesOf<TaskStatus>(kTaskStatusCount));
    auto& statuses = query.statuses;
    if (std::find(statuses.begin(), statuses.end(), meaning->status) == statuses.end()) {
      statuses.push_back(meaning->status);
    }
    if (meaning->reason == FailureReason::None && !meaning->ignored) continue;
    if (words.size() > 1) {
      reader.fail("status", fmt::format("\"{}\" can't be combined with other statuses", shown));
    } else {
      query.reason = meaning->reason;
      if (meaning->ignored) query.ignored = true;
    }
  }
}

void readIgnored(QueryReader& reader, master::api::TaskListQuery& query) {
  if (!reader.has("ignored")) return;
  bool wanted = false;
  reader.boolean("ignored", wanted);
  if (query.ignored && !wanted) {
    reader.fail("ignored", "contradicts the status, which means ignored failures");
  }
  query.ignored = wanted;
}

void readReason(QueryReader& reader, master::api::TaskListQuery& query) {
  std::string word;
  reader.text("reason", word);
  if (word.empty()) return;
  const auto reason = parseFailureReason(word);
  if (!reason) {
    reader.failWord("reason", word, namesOf<FailureReason>(kFailureReasonCount));
  } else if (query.reason != FailureReason::None && query.reason != *reason) {
    reader.fail("reason", "contradicts the status, which names another reason");
  } else {
    query.reason = *reason;
  }
}

}  // namespace

std::string taskCursorAfter(TaskId id) { return cursorOf(kTaskCursorMark, id); }

Result<master::api::TaskListQuery> readTaskListQuery(const net::HttpRequest& request) {
  master::api::TaskListQuery query;
  QueryReader reader(request);
  readStatuses(reader, query);
  reader.choices("priority", namesOf<Priority>(kPriorityCount), parsePriority, query.priorities);
  readReason(reader, query);
  readIgnored(reader, query);
  std::string run;
  reader.text("name", query.name)
      .text("q", query.text)
      .text("tag", query.tag)
      .text("group", query.group)
      .text("host", query.host)
      .text("runner", query.runner_id)
      .text("run", run)
      .text("flow", query.flow)
      .time("created_from", query.created_from)
      .time("created_before", query.created_before)
      .boolean("total", query.total);
  if (!run.empty()) {
    const auto id = parseTaskId(run);
    if (!id) {
      reader.fail("run", fmt::format("is \"{}\", expected the id of a run", truncateUtf8(run, 40)));
    }
    query.run_id = id.value_or(0);
  }
  readPageLimit(reader, query.limit);
  readCursor(reader, kTaskCursorMark, UINT64_MAX, query.before);
  RETURN_IF_ERROR(reader.finish());
  return query;
}

}  // namespace baton::webapi
