#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace baton::worker {

inline constexpr std::string_view kPlugInPrefix = "baton-task-";
// A heartbeat may have 100 labels, 32 of them the operator's.
inline constexpr size_t kPlugInsMax = 64;

// Who else than root and the user of this process could change what stands at `path`: itself or,
// through a folder above it, what it leads to (links are followed). Folders above with the sticky
// bit (/tmp) protect what is in them. Errors: NotFound, PermissionDenied (names the place and what
// to do), Unavailable.
Status checkOnlyOursToChange(const std::string& path);

// The executables baton-task-KIND in one folder. They are run with the worker's rights by whoever
// may submit a task, so that neither folder nor file may be writable by anybody else. One thread.
class PlugInFolder {
 public:
  // `dir`: absolute; empty: no plug-ins.
  explicit PlugInFolder(std::string dir) : dir_(std::move(dir)) {}

  // The kinds that can be run now; the folder is looked at anew when the last look is over a
  // second old. What is new, gone or refused is logged once.
  const std::set<std::string>& kinds(BootTime now);

  // The program of a kind, looked at now. Errors: NotFound, PermissionDenied (not executable, or
  // writable by others), Unavailable; the text says where it was looked for.
  Result<std::string> find(std::string_view kind) const;

 private:
  void look();

  const std::string dir_;
  bool looked_ = false;
  BootTime looked_at_{};
  std::set<std::string> kinds_;
  std::map<std::string, std::string> refused_;  // File or folder to the reason.
};

}  // namespace baton::worker
