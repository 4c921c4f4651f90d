#include "worker/output_values.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "common/base/file_descriptor.h"
#include "common/base/json.h"
#include "common/model/task_spec.h"

namespace baton::worker {

OutputValues parseOutputValues(std::string_view text) {
  OutputValues outputs;
  if (text.size() > kOutputsBytesMax) {
    outputs.problem = fmt::format("outputs past {} bytes are left out", kOutputsBytesMax);
    text = text.substr(0, kOutputsBytesMax);
    // A line that was cut is no value that the task wrote.
    text = text.substr(0, text.rfind('\n') + 1);
  }
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0 || !isValidUtf8(line) ||
        line.find('\0') != std::string_view::npos) {
      if (outputs.problem.empty()) {
        outputs.problem = fmt::format("line {} of the outputs is not key=value in UTF-8", number);
      }
      continue;
    }
    std::string key(line.substr(0, equals));
    if (outputs.values.size() == kOutputsCountMax && !outputs.values.contains(key)) {
      outputs.problem = fmt::format("outputs past {} are left out", kOutputsCountMax);
      continue;
    }
    outputs.values[std::move(key)] = line.substr(equals + 1);
  }
  return outputs;
}

OutputValues readOutputValues(int base_fd, const std::string& path) {
  // Not blocking: the task may have put a named pipe there.
  const FileDescriptor fd(
      openat(base_fd, path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT) return {};
    return {.values = {}, .problem = fmt::format("outputs can't be read: {}", strerror(errno))};
  }
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return {.values = {}, .problem = "outputs can't be read: not a regular file"};
  }
  std::string text(kOutputsBytesMax + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return parseOutputValues(text);
}

}  // namespace baton::worker
