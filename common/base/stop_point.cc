#include "common/base/stop_point.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include "common/base/log.h"

namespace baton::detail {
namespace {

using StopPointNames = std::set<std::string, std::less<>>;

StopPointNames splitStopPoints(std::string_view rest) {
  StopPointNames names;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (comma != 0) names.emplace(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return names;
}

std::string stopPointVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// True for the one caller that takes the file with this name in it.
bool takeFromFile(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return false;
  return splitStopPoints(line).contains(name) && ::unlink(path.c_str()) == 0;
}

bool takeStopPoint(std::string_view name) {
  static std::mutex mutex;
  static StopPointNames armed = splitStopPoints(stopPointVariable("BATON_STOP_POINT"));
  static const std::string path = stopPointVariable("BATON_STOP_POINT_FILE");
  const std::lock_guard lock(mutex);
  if (const auto found = armed.find(name); found != armed.end()) {
    armed.erase(found);
    return true;
  }
  return !path.empty() && takeFromFile(path, name);
}

}  // namespace

std::atomic<bool> stop_points_armed{std::getenv("BATON_STOP_POINT") != nullptr ||
                                    std::getenv("BATON_STOP_POINT_FILE") != nullptr};

void stopPointSlow(std::string_view name) {
  if (!takeStopPoint(name)) return;
  logWarn("stop_point_reached", field("name", name));
  ::raise(SIGSTOP);
}

}  // namespace baton::detail
