#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/model/host_records.h"
#include "common/model/limit_records.h"
#include "common/model/records.h"
#include "dao/sql_session.h"

// Records as rows of a SqlBatch: one form (the columns) and one put function (the values, in the
// order of the columns) for each table.
namespace baton::dao {

// Who writes: goes into every row.
struct WriteMark {
  Epoch epoch = 0;
  uint64_t batch = 0;
};

// Fills rows of a batch; the first value that can't be stored makes endRow fail with Corrupt.
class RowEncoder {
 public:
  RowEncoder(SqlBatch& batch, std::string_view noun, WriteMark mark)
      : batch_(batch), noun_(noun), mark_(mark) {}

  RowEncoder& number(int64_t value);
  RowEncoder& natural(uint64_t value);
  RowEncoder& optional(const std::optional<int32_t>& value);
  RowEncoder& time(WallTime value) { return number(toMicros(value)); }
  template <typename E>
  RowEncoder& enumeration(E value) {
    return number(static_cast<int64_t>(value));
  }
  RowEncoder& null();
  // A name: refused if it has over `chars_max` characters.
  RowEncoder& name(std::string_view column, std::string_view value, size_t chars_max);
  // A document: refused if it has over `bytes_max` bytes; empty is NULL.
  RowEncoder& document(std::string_view column, std::string_view value, size_t bytes_max);
  // Text for people: cut if need be; empty is NULL.
  RowEncoder& prose(std::string_view value);
  RowEncoder& mark();
  Status endRow(const RowKey& key);

 private:
  SqlBatch& batch_;
  const std::string_view noun_;
  const WriteMark mark_;
  std::string scratch_;
  std::string unfit_;
};

// Bytes of text for people (reason_text, last_error) that are stored.
inline constexpr size_t kProseBytesMax = 4'096;
inline constexpr size_t kTextBytesMax = 65'535;
inline constexpr size_t kMediumTextBytesMax = 16'777'215;

const BatchForm& taskInsertForm();
Status putTask(RowEncoder& row, const TaskRecord& task);
const BatchForm& specInsertForm();
Status putSpec(RowEncoder& row, const TaskRecord& task);
const BatchForm& specStoreForm();
Status putSpecText(RowEncoder& row, TaskId id, std::string_view spec);
const BatchForm& tagInsertForm();
Status putTag(RowEncoder& row, TaskId id, std::string_view tag);
// Tasks of a flow are found as those of a tag are: by a mark made of the flow's key, which can be
// no tag and is not among those that a task shows.
std::string flowMark(std::string_view flow_key);
// What table task_tag has for a task of this group: no tag of a person.
std::string groupTag(std::string_view group);
const BatchForm& taskStateForm();
Status putTaskState(RowEncoder& row, const TaskState& state);
const BatchForm& outputsForm();
Status putOutputs(RowEncoder& row, TaskId id, std::string_view outputs);
const BatchForm& attemptForm();
Status putAttempt(RowEncoder& row, const AttemptRecord& attempt);
const BatchForm& runnerForm();
Status putRunner(RowEncoder& row, const RunnerRecord& runner);
const BatchForm& outboxForm();
Status putOutbox(RowEncoder& row, const OutboxRecord& record);
const BatchForm& limitForm();
Status putLimit(RowEncoder& row, const LimitRecord& record);
const BatchForm& idempotencyForm();
Status putIdempotency(RowEncoder& row, const IdempotencyRecord& record);
const BatchForm& hostForm();
Status putHost(RowEncoder& row, const HostRecord& host);
const BatchForm& settingForm();
Status putSetting(RowEncoder& row, const SettingRecord& setting);

// 0 for a live task, else its terminal status: column task.phase.
int64_t phaseOf(TaskStatus status);

}  // namespace baton::dao
