#pragma once

#include <cstdint>
#include <string>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/calendar/cron_schedule.h"

namespace baton {

// What a preview is asked for, in the words of the command line and of REST.
struct PreviewRequest {
  std::string cron;
  std::string timezone;
  std::string dialect;   // unix5 | quartz; empty: by the number of fields.
  std::string gap;       // run_after | skip; empty: run_after.
  std::string overlap;   // first | second | both; empty: first.
  std::string hash_key;  // What H stands for: the name of the flow.
  WallTime after{};
  uint32_t count = 5;  // 1 to 1000.
};

// Errors: InvalidArgument with the option as field, its value and what is expected.
Result<CronSchedule> makeCronSchedule(const PreviewRequest& request);

// The next instants, found by the function that fires:
// {"cron", "timezone", "items": [{"utc", "local", "weekday"}], "next_clock_change"}. Fewer items
// than asked for mean that it never fires again. `next_clock_change` is null or {"utc", "local",
// "shift"}.
// Errors: as makeCronSchedule, and a count out of range.
Result<Json> previewSchedule(const PreviewRequest& request);

}  // namespace baton
