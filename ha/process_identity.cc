#include "ha/process_identity.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace baton::ha {

ProcessIdentity ownProcess() {
  ProcessIdentity identity;
  identity.pid = ::getpid();
  std::ifstream("/proc/sys/kernel/random/boot_id") >> identity.boot_id;
  std::ifstream file("/proc/self/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  // The name in parentheses may have spaces; behind it the start time is the 20th field.
  const size_t behind_name = stat.rfind(')');
  if (behind_name == std::string::npos) return identity;
  std::istringstream fields(stat.substr(behind_name + 1));
  std::string skipped;
  for (int i = 0; i < 19; ++i) fields >> skipped;
  fields >> identity.start_ticks;
  return identity;
}

}  // namespace baton::ha
