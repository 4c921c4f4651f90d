#include "worker/process_tree.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <unordered_set>

#include "common/base/file_descriptor.h"

namespace baton::worker {

bool signalProcess(const ProcStat& stat, int signal) {
  const FileDescriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, stat.pid, 0)));
  if (!pidfd) return false;
  if (!isAlive(stat.pid, stat.start_ticks)) return false;
  return syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0;
}

bool isAlive(pid_t pid, uint64_t start_ticks) {
  const auto now = readProcStat(pid);
  return now && now->start_ticks == start_ticks && !now->isDead();
}

std::vector<ProcStat> collectTree(const std::vector<pid_t>& roots) {
  std::vector<ProcStat> tree;
  std::unordered_set<pid_t> seen;
  std::vector<pid_t> todo(roots.rbegin(), roots.rend());
  while (!todo.empty()) {
    const pid_t pid = todo.back();
    todo.pop_back();
    if (!seen.insert(pid).second) continue;
    const auto stat = readProcStat(pid);
    if (!stat) continue;
    if (!stat->isDead()) tree.push_back(*stat);
    for (const pid_t child : readChildren(pid)) todo.push_back(child);
  }
  return tree;
}

}  // namespace baton::worker
