#include "worker/plug_ins.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "common/base/log.h"
#include "common/model/task_rules.h"

namespace baton::worker {
namespace {

constexpr Micros kLookPause{1'000'000};

Error unreachable(const std::string& path, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  return Error::make(missing ? ErrorCode::NotFound : ErrorCode::Unavailable, "{}: {}", path,
                     strerror(error));
}

// One place on the way: its owner and its mode.
Status checkPlace(const std::string& path, const struct stat& info, bool last) {
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return Error::make(ErrorCode::PermissionDenied,
                       "{} belongs to user {}, expected root or the worker's user {}", path,
                       info.st_uid, geteuid());
  }
  const bool sticky = !last && S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky) {
    return Error::make(
        ErrorCode::PermissionDenied, "{} is writable by {} (mode {:o}); expected chmod go-w", path,
        (info.st_mode & S_IWOTH) != 0 ? "everybody" : "its group", info.st_mode & 07777);
  }
  return {};
}

}  // namespace

Status checkOnlyOursToChange(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), &free);
  if (real == nullptr) return unreachable(path, errno);
  const std::string whole = real.get();
  for (size_t end = 0; end != std::string::npos;) {
    end = whole.find('/', end + 1);
    const std::string place = end == std::string::npos ? whole : whole.substr(0, end);
    struct stat info {};
    if (lstat(place.c_str(), &info) != 0) return unreachable(place, errno);
    RETURN_IF_ERROR(checkPlace(place, info, end == std::string::npos));
  }
  struct stat root {};
  if (lstat("/", &root) != 0) return unreachable("/", errno);
  return checkPlace("/", root, whole == "/");
}

Result<std::string> PlugInFolder::find(std::string_view kind) const {
  if (dir_.empty()) {
    return Error::notFound(
        "this worker has no plug-ins: the setting plugins is empty, and the kind "
        "{} needs {}{}",
        kind, kPlugInPrefix, kind);
  }
  const std::string path = fmt::format("{}/{}{}", dir_, kPlugInPrefix, kind);
  // Both: a link in the folder leads elsewhere.
  RETURN_IF_ERROR(checkOnlyOursToChange(dir_));
  RETURN_IF_ERROR(checkOnlyOursToChange(path));
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return unreachable(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return Error::make(ErrorCode::PermissionDenied, "{} is not a regular file", path);
  }
  if (faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0) {
    return Error::make(ErrorCode::PermissionDenied, "{} can't be executed: {}", path,
                       strerror(errno));
  }
  return path;
}

const std::set<std::string>& PlugInFolder::kinds(BootTime now) {
  if (dir_.empty() || (looked_ && now - looked_at_ < kLookPause)) return kinds_;
  looked_ = true;
  looked_at_ = now;
  look();
  return kinds_;
}

void PlugInFolder::look() {
  std::set<std::string> kinds;
  std::map<std::string, std::string> refused;
  std::error_code failed;
  std::filesystem::directory_iterator entry;
  if (const Status ours = checkOnlyOursToChange(dir_); !ours.ok()) {
    refused[dir_] = ours.error().message();
  } else {
    entry = std::filesystem::directory_iterator(dir_, failed);
    if (failed) refused[dir_] = unreachable(dir_, failed.value()).message();
  }
  for (; entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(kPlugInPrefix)) continue;
    const std::string kind = name.substr(kPlugInPrefix.size());
    const std::string place = fmt::format("{}/{}", dir_, name);
    if (const std::string_view wrong = wrongPlugInKind(kind); !wrong.empty()) {
      refused[place] = fmt::format("{} is no plug-in for a kind: {}", place, wrong);
    } else if (const auto found = find(kind); !found.ok()) {
      refused[place] = found.error().message();
    } else {
      kinds.insert(kind);
    }
  }
  while (kinds.size() > kPlugInsMax) {
    const auto last = std::prev(kinds.end());
    const std::string place = fmt::format("{}/{}{}", dir_, kPlugInPrefix, *last);
    refused[place] =
        fmt::format("{} is one too many: a worker carries {} plug-ins at most", place, kPlugInsMax);
    kinds.erase(last);
  }
  for (const auto& [place, why] : refused) {
    const auto known = refused_.find(place);
    if (known == refused_.end() || known->second != why)
      logError("plugin_refused", field("why", why));
  }
  refused_ = std::move(refused);
  if (kinds == kinds_) return;
  kinds_ = std::move(kinds);
  logInfo("plugins_changed", field("dir", dir_),
          field("kinds", fmt::format("{}", fmt::join(kinds_, ","))));
}

}  // namespace baton::worker
