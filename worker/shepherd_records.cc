#include "worker/shepherd_records.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <sstream>

#include "worker/proc_info.h"

namespace baton::worker {
namespace {

constexpr const char* kRecordsTemp = "shepherd.records.new";

std::string startedLine(const ProcessRecord& record) {
  return fmt::format("S {} {} {} {} {}\n", record.key.task_id, record.key.attempt, record.pid,
                     record.start_ticks, record.key.nonce);
}

Status writeRecordText(int fd, std::string_view text) {
  // One write: lines of several processes never mix in a file opened for appending.
  const ssize_t wrote = write(fd, text.data(), text.size());
  if (wrote == static_cast<ssize_t>(text.size())) return {};
  const int error = wrote < 0 ? errno : ENOSPC;
  return Error::make(error == ENOSPC ? ErrorCode::StorageFull : ErrorCode::Unavailable,
                     "{} can't be written: {}", kRecordsName, strerror(error));
}

bool parseRecordLine(const std::string& line, char& kind, ProcessRecord& record) {
  std::istringstream in(line);
  in >> kind >> record.key.task_id >> record.key.attempt;
  if (kind == 'S') in >> record.pid >> record.start_ticks;
  if (in.fail()) return false;
  in >> record.key.nonce;  // May be empty.
  return true;
}

}  // namespace

Result<ShepherdRecords> ShepherdRecords::create(int dir_fd, const std::string& boot_id) {
  ShepherdRecords records(dir_fd, boot_id);
  RETURN_IF_ERROR(records.rewrite({}));
  return records;
}

Status ShepherdRecords::rewrite(const std::vector<ProcessRecord>& open) {
  FileDescriptor fd(openat(dir_fd_, kRecordsTemp,
                           O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) {
    return Error::unavailable("{} can't be written: {}", kRecordsTemp, strerror(errno));
  }
  std::string text = "B " + boot_id_ + "\n";
  for (const ProcessRecord& record : open) text += startedLine(record);
  RETURN_IF_ERROR(writeRecordText(fd.get(), text));
  if (renameat(dir_fd_, kRecordsTemp, dir_fd_, kRecordsName) != 0) {
    return Error::unavailable("{} can't be renamed: {}", kRecordsTemp, strerror(errno));
  }
  fd_ = std::move(fd);
  lines_ = open.size();
  return {};
}

Status ShepherdRecords::compact(const std::vector<ProcessRecord>& open) { return rewrite(open); }

Status ShepherdRecords::recordSelf(const AttemptKey& key) const {
  const pid_t self = getpid();
  const auto stat = readProcStat(self);
  if (!stat) return Error::unavailable("/proc/{}/stat can't be read", self);
  return writeRecordText(fd_.get(),
                         startedLine({.key = key, .pid = self, .start_ticks = stat->start_ticks}));
}

void ShepherdRecords::recordGone(const AttemptKey& key) {
  ++lines_;
  // A lost line costs whoever comes later a look at a process that is gone.
  [[maybe_unused]] const Status written =
      writeRecordText(fd_.get(), fmt::format("E {} {} {}\n", key.task_id, key.attempt, key.nonce));
}

Result<RecordedProcesses> ShepherdRecords::read(int dir_fd) {
  RecordedProcesses recorded;
  const FileDescriptor fd(openat(dir_fd, kRecordsName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) {
    if (errno == ENOENT) return recorded;
    return Error::unavailable("{} can't be read: {}", kRecordsName, strerror(errno));
  }
  std::string text;
  char buffer[65536];
  ssize_t got = 0;
  while ((got = ::read(fd.get(), buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(got));
  }
  if (got < 0) return Error::unavailable("{} can't be read: {}", kRecordsName, strerror(errno));
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("B ")) {
      recorded.boot_id = line.substr(2);
      continue;
    }
    char kind = '?';
    ProcessRecord record;
    if (!parseRecordLine(line, kind, record)) continue;
    if (kind == 'S') {
      recorded.open.push_back(record);
    } else if (kind == 'E') {
      std::erase_if(recorded.open,
                    [&](const ProcessRecord& open) { return open.key == record.key; });
    }
  }
  return recorded;
}

}  // namespace baton::worker
