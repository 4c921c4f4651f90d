#include "worker/attempt_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "common/base/file_descriptor.h"

namespace baton::worker {
namespace {

constexpr int kTreeDepthMax = 200;

void emptyFolder(FileDescriptor folder, dev_t device, int depth) {
  struct stat info {};
  if (fstat(folder.get(), &info) != 0 || info.st_dev != device || depth > kTreeDepthMax) return;
  DIR* dir = fdopendir(folder.get());
  if (dir == nullptr) return;
  const int fd = folder.release();  // Owned by `dir` from here on.
  while (const dirent* entry = readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (unlinkat(fd, entry->d_name, 0) == 0 || (errno != EISDIR && errno != EPERM)) continue;
    FileDescriptor inner(
        openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (inner) emptyFolder(std::move(inner), device, depth + 1);
    unlinkat(fd, entry->d_name, AT_REMOVEDIR);
  }
  closedir(dir);
}

}  // namespace

std::string_view toString(LogStream stream) {
  return stream == LogStream::Stdout ? "stdout" : "stderr";
}

std::string logFolder(const AttemptKey& key) {
  return fmt::format("logs/{}/{}", key.task_id, key.attempt);
}

std::string logFile(const AttemptKey& key, LogStream stream) {
  return fmt::format("{}/{}", logFolder(key), toString(stream));
}

std::string workFolder(const AttemptKey& key) {
  return fmt::format("{}/{}.{}", kWorkRoot, key.task_id, key.attempt);
}

Status makeFolders(int base_fd, const std::string& path) {
  if (mkdirat(base_fd, path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno == ENOENT) {
    if (const size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0) {
      RETURN_IF_ERROR(makeFolders(base_fd, path.substr(0, slash)));
      if (mkdirat(base_fd, path.c_str(), 0700) == 0 || errno == EEXIST) return {};
    }
  }
  const int error = errno;
  return Error::make(error == ENOSPC ? ErrorCode::StorageFull : ErrorCode::Unavailable,
                     "folder {} can't be made: {}", path, strerror(error));
}

void removeTree(int base_fd, const std::string& path) {
  if (unlinkat(base_fd, path.c_str(), AT_REMOVEDIR) == 0) return;  // Mostly it is empty.
  FileDescriptor folder(
      openat(base_fd, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return;
  struct stat info {};
  if (fstat(folder.get(), &info) != 0) return;
  emptyFolder(std::move(folder), info.st_dev, 0);
  unlinkat(base_fd, path.c_str(), AT_REMOVEDIR);
}

}  // namespace baton::worker
