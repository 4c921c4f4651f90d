#include "worker/proc_info.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "common/base/file_descriptor.h"

namespace baton::worker {
namespace {

// Files of /proc are read whole: their size is not known before.
std::string readProcFile(const std::string& path) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t got = read(fd.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

template <typename T>
bool takeNumber(std::string_view& text, T& value) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

void addChildrenOf(const std::string& path, std::vector<pid_t>& children) {
  const std::string text = readProcFile(path);
  std::string_view rest = text;
  pid_t child = 0;
  while (takeNumber(rest, child)) children.push_back(child);
}

std::vector<pid_t> numbersIn(const std::string& folder) {
  std::vector<pid_t> numbers;
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return numbers;
  while (const dirent* entry = readdir(dir)) {
    std::string_view name = entry->d_name;
    pid_t number = 0;
    if (takeNumber(name, number) && name.empty() && number > 0) numbers.push_back(number);
  }
  closedir(dir);
  return numbers;
}

}  // namespace

std::optional<ProcStat> parseProcStat(std::string_view text) {
  ProcStat stat;
  if (!takeNumber(text, stat.pid)) return std::nullopt;
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  text.remove_prefix(name_end + 2);
  stat.state = text.front();
  text.remove_prefix(1);
  if (!takeNumber(text, stat.parent) || !takeNumber(text, stat.group) ||
      !takeNumber(text, stat.session)) {
    return std::nullopt;
  }
  int64_t skipped = 0;
  for (int field = 7; field <= 21; ++field) {
    if (!takeNumber(text, field == 20 ? stat.threads : skipped)) return std::nullopt;
  }
  if (!takeNumber(text, stat.start_ticks)) return std::nullopt;
  return stat;
}

std::optional<ProcStat> readProcStat(pid_t pid) {
  return parseProcStat(readProcFile(fmt::format("/proc/{}/stat", pid)));
}

std::vector<pid_t> readChildren(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t thread : numbersIn(fmt::format("/proc/{}/task", pid))) {
    addChildrenOf(fmt::format("/proc/{}/task/{}/children", pid, thread), children);
  }
  return children;
}

std::vector<pid_t> listProcesses() { return numbersIn("/proc"); }

std::optional<std::string> findInEnvironment(std::string_view block, std::string_view name) {
  while (!block.empty()) {
    const size_t end = std::min(block.find('\0'), block.size());
    const std::string_view entry = block.substr(0, end);
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return std::string(entry.substr(name.size() + 1));
    }
    block.remove_prefix(std::min(end + 1, block.size()));
  }
  return std::nullopt;
}

std::string readEnvironmentBlock(pid_t pid) {
  return readProcFile(fmt::format("/proc/{}/environ", pid));
}

std::string readBootId() {
  std::string id = readProcFile("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

}  // namespace baton::worker
