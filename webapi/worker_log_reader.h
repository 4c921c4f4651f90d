#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/model/ids.h"
#include "net/http_client.h"

namespace baton::webapi {

// Which output of which attempt, and who has it.
struct LogLocation {
  std::string worker_address;  // host:port, where the master knows it and nowhere else.
  TaskId task_id = 0;
  int32_t attempt = 0;
  std::string stream;  // stdout | stderr
};

struct LogPiece {
  std::string bytes;
  std::optional<uint64_t> size;  // Of the whole output when it was read, if the worker said so.
  net::HttpHeaders facts;        // X-Baton-Log-* as the worker sent them.
};

// Reads one output from the worker that ran the attempt. Each read is bounded in size and time, so
// that a worker that hangs costs no more than its deadline. One thread at a time.
class WorkerLogReader {
 public:
  // `timeout`: for each call of read or readTail.
  WorkerLogReader(LogLocation location, std::string worker_token, Micros timeout);

  // Bytes from `offset` on, at most `limit`; none behind the end. Errors: Unavailable (the worker
  // is out of reach or answers with an error), DeadlineExceeded, NotFound (it has no such output),
  // Corrupt (the address or the answer makes no sense).
  Result<LogPiece> read(uint64_t offset, uint64_t limit);
  // The last `lines` lines, at most `bytes_max`; sets where they begin. Errors: as read.
  Result<LogPiece> readTail(int64_t lines, uint64_t bytes_max, uint64_t& offset);

  const LogLocation& location() const { return location_; }

 private:
  Result<LogPiece> readUntil(BootTime deadline, uint64_t offset, uint64_t limit);

  const SystemClock clock_;
  const LogLocation location_;
  const std::string worker_token_;
  const Micros timeout_;
  net::HttpClient client_;
};

// Where the last `lines` lines of the text begin; a line break at the very end ends the last one.
size_t tailBegin(std::string_view text, int64_t lines);

}  // namespace baton::webapi
