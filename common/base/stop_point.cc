#include "common/base/stop_point.h"

#include <signal.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include "common/base/log.h"

namespace baton::detail {
namespace {

std::set<std::string, std::less<>> stopPointsFromEnvironment() {
  std::set<std::string, std::less<>> names;
  const char* value = std::getenv("BATON_STOP_POINT");
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (comma != 0) names.emplace(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return names;
}

}  // namespace

std::atomic<bool> stop_points_armed{std::getenv("BATON_STOP_POINT") != nullptr};

void stopPointSlow(std::string_view name) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> armed = stopPointsFromEnvironment();
  {
    const std::lock_guard lock(mutex);
    const auto found = armed.find(name);
    if (found == armed.end()) return;
    armed.erase(found);
  }
  logWarn("stop_point_reached", field("name", name));
  ::raise(SIGSTOP);
}

}  // namespace baton::detail
