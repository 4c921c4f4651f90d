#include "worker/host_figures.h"

#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fstream>

namespace baton::worker {

HostFigures readHostFigures(const std::string& data_dir) {
  HostFigures figures;
  double load = 0;
  if (getloadavg(&load, 1) == 1) figures.load1 = load;
  figures.cpu_count = std::max<int64_t>(sysconf(_SC_NPROCESSORS_ONLN), 0);
  std::ifstream memory("/proc/meminfo");
  std::string name, unit;
  int64_t kilobytes = 0;
  while (memory >> name >> kilobytes) {
    if (name == "MemTotal:") figures.memory_total_bytes = kilobytes * 1024;
    if (name == "MemAvailable:") figures.memory_free_bytes = kilobytes * 1024;
    std::getline(memory, unit);
  }
  struct statvfs disk {};
  if (statvfs(data_dir.c_str(), &disk) == 0) {
    figures.disk_free_bytes = static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
  }
  return figures;
}

}  // namespace baton::worker
