#include "worker/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "worker/attempt_files.h"

namespace baton::worker {

OutputFile::OutputFile(int base_fd, std::string path, int64_t bytes_max)
    : base_fd_(base_fd), path_(std::move(path)), bytes_max_(bytes_max) {}

bool OutputFile::openFile() {
  if (fd_) return true;
  if (!makeFolders(base_fd_, path_.substr(0, path_.rfind('/'))).ok()) return false;
  fd_.reset(
      openat(base_fd_, path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  return fd_.valid();
}

size_t OutputFile::writeSome(std::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = pwrite(fd_.get(), bytes.data() + done, bytes.size() - done, size_);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<size_t>(wrote);
    size_ += wrote;
    last_byte_ = bytes[done - 1];
  }
  return done;
}

bool OutputFile::markLoss(std::string_view why) {
  const std::string mark = fmt::format("{}{}, {} bytes lost: {}]\n", last_byte_ == '\n' ? "" : "\n",
                                       kLogMark, unmarked_, why);
  const int64_t size_before = size_;
  const char last_before = last_byte_;
  if (writeSome(mark) == mark.size()) {
    unmarked_ = 0;
    return true;
  }
  size_ = size_before;  // Half a mark would be read as the task's own output.
  last_byte_ = last_before;
  [[maybe_unused]] const int cut = ftruncate(fd_.get(), size_);
  return false;
}

void OutputFile::append(std::string_view bytes) {
  const auto room = static_cast<size_t>(std::max<int64_t>(bytes_max_ - taken_, 0));
  const std::string_view wanted = bytes.substr(0, room);
  size_t stored = 0;
  if (!wanted.empty() && openFile() && (unmarked_ == 0 || markLoss("disk full"))) {
    stored = writeSome(wanted);
  }
  taken_ += static_cast<int64_t>(stored);
  lost_ += static_cast<int64_t>(bytes.size() - stored);
  unmarked_ += static_cast<int64_t>(bytes.size() - stored);
}

void OutputFile::finish() {
  if (lost_ > 0 && openFile()) {
    const bool capped = taken_ >= bytes_max_;
    unmarked_ = lost_;
    const std::string_view why = capped ? "log.max_bytes reached" : "disk full";
    if (!markLoss(why)) {
      // The blocks that the file has can be written again even on a full disk.
      const std::string mark = fmt::format("\n{}, over {} bytes lost: {}]\n", kLogMark, lost_, why);
      size_ = std::max<int64_t>(size_ - static_cast<int64_t>(mark.size()), 0);
      if (size_ > 0) writeSome(mark);
    }
  }
  fd_.reset();
}

}  // namespace baton::worker
