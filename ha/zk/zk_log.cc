#include "ha/zk/zk_log.h"

#include <atomic>
#include <cstdint>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/log.h"

namespace baton::ha {

void zkLogLine(const char* message) {
  static constexpr int64_t kLinesPerSecond = 10;
  // The callback has no context, so its counters are the process's.
  static std::atomic<int64_t> window{0};
  static std::atomic<int64_t> lines{0};
  static std::atomic<int64_t> suppressed{0};

  const int64_t second = toMicros(SystemClock().bootNow()) / 1'000'000;
  if (window.exchange(second) != second) {
    lines = 0;
    if (const int64_t count = suppressed.exchange(0); count > 0) {
      logWarn("zookeeper_client_lines_suppressed", field("count", count));
    }
  }
  if (lines.fetch_add(1) >= kLinesPerSecond) {
    suppressed.fetch_add(1);
    return;
  }
  const std::string_view text = message == nullptr ? "" : message;
  logWarn("zookeeper_client", field("text", text));
}

}  // namespace baton::ha
