#include "ha/local/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace baton::ha {
namespace {

std::string holderOf(int fd) {
  std::array<char, 32> text{};
  const ssize_t length = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), length > 0 ? static_cast<size_t>(length) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return pid.empty() ? "unknown" : pid;
}

}  // namespace

Result<DirectoryLock> DirectoryLock::take(const std::string& directory) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Error::invalidArgument("the data directory {} is not a directory", directory);
  }
  const std::string path = directory + "/baton.lock";
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return Error::unavailable("{} cannot be opened: {}", path, std::strerror(errno));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return Error::unavailable("{} cannot be locked: {}", path, std::strerror(errno));
    }
    return Error::conflict("the data directory {} is in use by the process {}", directory,
                           holderOf(file.get()));
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return Error::unavailable("{} cannot be written: {}", path, std::strerror(errno));
  }
  return DirectoryLock(std::move(file));
}

}  // namespace baton::ha
