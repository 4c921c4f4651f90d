#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/file_descriptor.h"

namespace baton::worker {

// Every mark in a log begins with this, at the begin of a line.
inline constexpr std::string_view kLogMark = "[baton: output truncated";

// One output stream of an attempt on disk: byte for byte up to a cap, then a mark. It never fails
// and never blocks its caller for room: what the disk does not take is lost, counted and marked in
// place as soon as there is room again. The file is made with the first byte. One thread.
class OutputFile {
 public:
  // `path` is relative to `base_fd`, which outlives this. `bytes_max` counts the task's bytes.
  OutputFile(int base_fd, std::string path, int64_t bytes_max);

  void append(std::string_view bytes);
  // The end of the stream: a stream that lost anything gets a mark as its last line, on a full
  // disk in place of its last bytes. Closes the file.
  void finish();

  int64_t storedBytes() const { return size_; }  // Size of the file.
  int64_t lostBytes() const { return lost_; }

 private:
  bool openFile();
  size_t writeSome(std::string_view bytes);
  bool markLoss(std::string_view why);

  const int base_fd_;
  const std::string path_;
  const int64_t bytes_max_;
  FileDescriptor fd_;
  int64_t size_ = 0;      // Of the file, marks included.
  int64_t taken_ = 0;     // The task's bytes in the file.
  int64_t lost_ = 0;      // The task's bytes that are not.
  int64_t unmarked_ = 0;  // Lost since the last mark.
  char last_byte_ = '\n';
};

}  // namespace baton::worker
