#include "webapi/task_query.h"

#include <algorithm>
#include <charconv>

#include "common/base/json.h"
#include "webapi/query_reader.h"

namespace baton::webapi {
namespace {

constexpr std::string_view kCursorMark = "t-";

Result<TaskId> parseTaskCursor(std::string_view text) {
  TaskId id = 0;
  const std::string_view digits =
      text.starts_with(kCursorMark) ? text.substr(kCursorMark.size()) : std::string_view();
  const char* const end = digits.data() + digits.size();
  const auto [read, failure] = std::from_chars(digits.data(), end, id, 16);
  if (digits.empty() || failure != std::errc() || read != end || id == 0) {
    return Error::invalidArgument("is not a next_cursor of this address");
  }
  return id;
}

// A word may carry a failure reason ("timeout" is FAILED with that reason). The list has one
// reason for all, so such a word stands alone.
void readStatuses(QueryReader& reader, master::api::TaskListQuery& query) {
  std::vector<std::string> words;
  reader.words("status", words);
  for (const std::string& word : words) {
    const auto meaning = parseStatusWord(word);
    const std::string shown = truncateUtf8(word, 40);
    if (!meaning) {
      reader.fail("status", fmt::format("\"{}\" is not a status", shown));
      return;
    }
    auto& statuses = query.statuses;
    if (std::find(statuses.begin(), statuses.end(), meaning->status) == statuses.end()) {
      statuses.push_back(meaning->status);
    }
    if (meaning->reason == FailureReason::None) continue;
    if (words.size() > 1) {
      reader.fail("status", fmt::format("\"{}\" can't be combined with other statuses", shown));
    } else {
      query.reason = meaning->reason;
    }
  }
}

void readPriorities(QueryReader& reader, master::api::TaskListQuery& query) {
  std::vector<std::string> words;
  reader.words("priority", words);
  for (const std::string& word : words) {
    if (const auto priority = parsePriority(word)) {
      query.priorities.push_back(*priority);
    } else {
      reader.fail("priority", fmt::format("\"{}\" is not one of low, normal, high, critical",
                                          truncateUtf8(word, 40)));
    }
  }
}

void readReason(QueryReader& reader, master::api::TaskListQuery& query) {
  std::string word;
  reader.text("reason", word);
  if (word.empty()) return;
  const auto reason = parseFailureReason(word);
  if (!reason) {
    reader.fail("reason", fmt::format("\"{}\" is not a failure reason", truncateUtf8(word, 40)));
  } else if (query.reason != FailureReason::None && query.reason != *reason) {
    reader.fail("reason", "contradicts the status, which names another reason");
  } else {
    query.reason = *reason;
  }
}

}  // namespace

std::string taskCursorAfter(TaskId id) { return fmt::format("{}{:x}", kCursorMark, id); }

Result<master::api::TaskListQuery> readTaskListQuery(const net::HttpRequest& request) {
  master::api::TaskListQuery query;
  QueryReader reader(request);
  readStatuses(reader, query);
  readPriorities(reader, query);
  readReason(reader, query);
  int64_t limit = query.limit;
  std::string cursor;
  reader.text("name", query.name)
      .text("q", query.text)
      .text("tag", query.tag)
      .text("host", query.host)
      .text("runner", query.runner_id)
      .time("created_from", query.created_from)
      .time("created_before", query.created_before)
      .integer("limit", limit, 1, 1'000)
      .text("cursor", cursor)
      .boolean("total", query.total);
  query.limit = static_cast<uint32_t>(limit);
  if (!cursor.empty()) {
    const auto before = parseTaskCursor(cursor);
    if (before.ok()) {
      query.before = *before;
    } else {
      reader.fail("cursor", before.error().message());
    }
  }
  RETURN_IF_ERROR(reader.finish());
  return query;
}

}  // namespace baton::webapi
