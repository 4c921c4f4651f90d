#include "worker/output_values.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/base/file_descriptor.h"
#include "common/base/json.h"
#include "common/base/random.h"
#include "common/model/task_spec.h"

namespace baton::worker {
namespace {

constexpr size_t kKeyBytesShown = 128;

bool isText(std::string_view text) {
  return isValidUtf8(text) && text.find('\0') == std::string_view::npos;
}

class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  // The next line without its end; false at the end of the text.
  bool next(std::string_view& line) {
    if (text_.empty()) return false;
    const size_t end = std::min(text_.find('\n'), text_.size());
    line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++number_;
    return true;
  }
  // The lines before one that is `word`, joined; false if there is none.
  bool nextUpTo(std::string_view word, std::string& joined) {
    std::string_view line;
    for (bool first = true; next(line); first = false) {
      if (line == word) return true;
      if (!first) joined += '\n';
      joined += line;
    }
    return false;
  }
  size_t number() const { return number_; }

 private:
  std::string_view text_;
  size_t number_ = 0;
};

}  // namespace

OutputValues parseOutputValues(std::string_view text) {
  OutputValues outputs;
  std::string_view cut;  // The line that the cap falls into, as far as it was read.
  const bool too_long = text.size() > kOutputsBytesMax;
  if (too_long) {
    text = text.substr(0, kOutputsBytesMax);
    // A line that was cut is no value that the task wrote.
    const size_t whole = text.rfind('\n') + 1;
    cut = text.substr(whole);
    text = text.substr(0, whole);
  }
  std::string_view first_lost = cut.substr(0, cut.find_first_of("=<"));
  LineReader lines(text);
  std::string_view line;
  while (lines.next(line)) {
    if (line.empty() || line.front() == '#') continue;
    const size_t number = lines.number();
    const size_t equals = line.find('=');
    const size_t marks = line.find("<<");
    const bool many = equals == line.npos && marks != line.npos && marks + 2 < line.size();
    std::string_view key = line.substr(0, many ? marks : equals);
    std::string value(many || equals == line.npos ? std::string_view() : line.substr(equals + 1));
    if (many && !lines.nextUpTo(line.substr(marks + 2), value)) {
      first_lost = key;
      if (outputs.problem.empty()) {
        outputs.problem =
            fmt::format("the value of the outputs that begins in line {} has no end", number);
      }
      break;
    }
    if ((!many && equals == line.npos) || key.empty() || !isText(key) || !isText(value)) {
      if (outputs.problem.empty()) {
        outputs.problem = fmt::format("line {} of the outputs is not key=value in UTF-8", number);
      }
      continue;
    }
    if (outputs.values.size() == kOutputsCountMax && !outputs.values.contains(std::string(key))) {
      outputs.problem = fmt::format("outputs past {} are left out", kOutputsCountMax);
      continue;
    }
    outputs.values[std::string(key)] = std::move(value);
  }
  if (too_long) {
    const bool named = !first_lost.empty() && isText(first_lost);
    outputs.problem =
        fmt::format("the outputs have more than {} bytes (64 KB): {} left out", kOutputsBytesMax,
                    named ? truncateUtf8(first_lost, kKeyBytesShown) + " and all behind it are"
                          : "the rest is");
  }
  return outputs;
}

Result<std::string> formatOutputValue(std::string_view key, std::string_view value) {
  if (!isText(value)) return Error::invalidArgument("it is not text in UTF-8");
  std::string lines;
  if (value.find('\n') == value.npos) {
    lines = fmt::format("{}={}\n", key, value);
  } else {
    std::string word = "END";
    while (value.find(word) != value.npos) word = "END-" + randomHex(8);
    lines = fmt::format("{}<<{}\n{}\n{}\n", key, word, value, word);
  }
  if (lines.size() > kOutputsBytesMax) {
    return Error::make(ErrorCode::TooLarge, "it has {} bytes, and {} are accepted with the name",
                       value.size(), kOutputsBytesMax);
  }
  return lines;
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
