#include <algorithm>
#include <array>

#include "common/base/duration_text.h"
#include "flow/definition/reading.h"

namespace baton::flow {
namespace {

constexpr Millis kSecond{1'000};
constexpr Millis kYear{366LL * 86'400'000};

constexpr std::array<std::pair<std::string_view, CronDialect>, 2> kDialectWords{
    {{"unix5", CronDialect::Unix5}, {"quartz", CronDialect::Quartz}}};
constexpr std::array<std::pair<std::string_view, GapPolicy>, 2> kGapWords{
    {{"run_after", GapPolicy::RunAfter}, {"skip", GapPolicy::Skip}}};
constexpr std::array<std::pair<std::string_view, OverlapPolicy>, 3> kClockWords{
    {{"first", OverlapPolicy::First},
     {"second", OverlapPolicy::Second},
     {"both", OverlapPolicy::Both}}};
constexpr std::array<std::pair<std::string_view, OffDayPolicy>, 3> kOffDayWords{
    {{"skip", OffDayPolicy::Skip},
     {"previous", OffDayPolicy::Previous},
     {"next", OffDayPolicy::Next}}};
constexpr std::array<std::pair<std::string_view, MisfireKind>, 3> kMisfireWords{
    {{"none", MisfireKind::None}, {"latest", MisfireKind::Latest}, {"all", MisfireKind::All}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kOrderWords{
    {{"oldest_first", true}, {"newest_first", false}}};

template <typename Value, size_t N>
std::string_view wordOf(Value value,
                        const std::array<std::pair<std::string_view, Value>, N>& words) {
  for (const auto& [word, known] : words) {
    if (known == value) return word;
  }
  return {};
}

bool readSeconds(MapReader& reader, std::string_view key, Seconds& out) {
  Millis duration{0};
  if (!reader.duration(key, duration, kSecond, kYear)) return false;
  out = std::chrono::duration_cast<Seconds>(duration);
  if (out != duration) reader.wrong(*reader.take(key), "whole seconds");
  return true;
}

void readMisfire(MapReader& schedule, ScheduleSpec& spec) {
  const YamlEntry* entry = schedule.take("misfire");
  if (entry == nullptr) return;
  MisfirePolicy misfire;
  if (entry->value.kind == YamlNode::Kind::Scalar) {
    if (schedule.choice("misfire", misfire.kind, kMisfireWords)) spec.misfire = misfire;
    return;
  }
  MapReader reader(entry->value, schedule.pathOf("misfire"), schedule.issues());
  reader.choice("policy", misfire.kind, kMisfireWords);
  int64_t max = misfire.max;
  reader.integer("max", max, 1, 1'000);
  misfire.max = static_cast<uint32_t>(max);
  readSeconds(reader, "within", misfire.within);
  reader.choice("order", misfire.oldest_first, kOrderWords);
  for (const std::string_view key : {"max", "within", "order"}) {
    if (misfire.kind != MisfireKind::All && reader.has(key)) {
      reader.failKey(key, fmt::format("has no meaning with policy {}", toString(misfire.kind)));
    }
  }
  reader.finish();
  spec.misfire = misfire;
}

void readCron(Reading& reading, MapReader& reader, ScheduleSpec& spec) {
  reader.choice("dialect", spec.dialect, kDialectWords);
  if (reader.text("cron", spec.cron, 256)) {
    const auto parsed = CronExpression::parse(spec.cron, spec.dialect, reading.flow.name);
    if (!parsed.ok()) reader.fail(*reader.take("cron"), parsed.error().message());
  }
  const YamlEntry* dst = reader.take("dst");
  if (dst != nullptr) {
    MapReader clock(dst->value, reader.pathOf("dst"), reader.issues());
    clock.choice("gap", spec.gap, kGapWords);
    clock.choice("overlap", spec.clock_overlap, kClockWords);
    clock.finish();
  }
  if (!reader.has("timezone")) {
    reader.failKey("timezone",
                   "is missing; a cron schedule needs one, such as Europe/Berlin or UTC");
  }
}

void checkBounds(MapReader& reader, const ScheduleSpec& spec) {
  if (spec.start && spec.end && *spec.start >= *spec.end) {
    reader.failKey("end", fmt::format("is {}, expected a time behind start ({})",
                                      formatRfc3339(*spec.end), formatRfc3339(*spec.start)));
  }
  if (spec.kind == ScheduleSpec::Kind::At) {
    const bool outside =
        (spec.start && spec.at < *spec.start) || (spec.end && spec.at >= *spec.end);
    if (outside) reader.failKey("at", "never fires: it is not between start and end");
  }
}

}  // namespace

void readSchedule(Reading& reading, const YamlEntry& entry) {
  MapReader reader(entry.value, "schedule", reading.issues);
  reading.schedule_mark = entry.mark;
  ScheduleSpec spec;
  std::vector<std::string_view> kinds;
  for (const std::string_view kind : {"cron", "every", "at"}) {
    if (reader.has(kind)) kinds.push_back(kind);
  }
  if (entry.value.kind == YamlNode::Kind::Map && kinds.size() != 1) {
    reader.issues().error(
        entry.mark, "schedule",
        kinds.empty() ? "says not when; expected one of cron, every, at"
                      : fmt::format("has {} of cron, every, at; expected one", kinds.size()));
  }
  if (reader.text("timezone", reading.flow.timezone, 64)) {
    const auto zone = TimeZone::load(reading.flow.timezone);
    if (!zone.ok()) reader.fail(*reader.take("timezone"), zone.error().message());
  }
  if (reader.has("cron")) {
    readCron(reading, reader, spec);
  } else {
    for (const std::string_view key : {"dialect", "dst"}) {
      if (reader.take(key) != nullptr) reader.failKey(key, "has a meaning for cron alone");
    }
  }
  if (readSeconds(reader, "every", spec.every)) spec.kind = ScheduleSpec::Kind::Every;
  if (reader.instant("at", spec.at)) spec.kind = ScheduleSpec::Kind::At;
  WallTime time;
  if (reader.instant("start", time)) spec.start = time;
  if (reader.instant("end", time)) spec.end = time;
  if (reader.integer("count", spec.count, 1, 1'000'000'000) && reader.has("at")) {
    reader.failKey("count", "has no meaning with at, which fires once");
  }
  if (reader.name("calendar", spec.calendar) && reading.surroundings.calendars &&
      reading.surroundings.calendars->count(nameKey(spec.calendar)) == 0) {
    reader.fail(
        *reader.take("calendar"),
        fmt::format("\"{}\" is no calendar that is known here; `baton calendar apply` stores one",
                    spec.calendar));
  }
  if (reader.choice("off_day", spec.off_day, kOffDayWords) && !reader.has("calendar")) {
    reader.failKey("off_day", "has a meaning only with a calendar");
  }
  readMisfire(reader, spec);
  checkBounds(reader, spec);
  reader.finish();
  reading.flow.schedule = std::move(spec);
}

Recurrence recurrenceOf(const FlowSpec& flow, WallTime anchor,
                        std::shared_ptr<const WorkCalendar> calendar) {
  CHECK(flow.schedule.has_value());
  const ScheduleSpec& schedule = *flow.schedule;
  auto zone = TimeZone::load(flow.timezone);
  CHECK(zone.ok());
  Recurrence::Parts parts{.base = schedule.at, .zone = *zone};
  if (schedule.kind == ScheduleSpec::Kind::Cron) {
    auto cron = CronExpression::parse(schedule.cron, schedule.dialect, flow.name);
    CHECK(cron.ok());
    parts.base = CronSchedule(std::move(cron).value(), *zone, schedule.gap, schedule.clock_overlap);
  } else if (schedule.kind == ScheduleSpec::Kind::Every) {
    parts.base = EverySchedule{schedule.start.value_or(anchor), schedule.every};
  }
  parts.start = schedule.start;
  parts.end = schedule.end;
  parts.calendar = std::move(calendar);
  parts.off_day = schedule.off_day;
  return Recurrence(std::move(parts));
}

std::string_view toString(MisfireKind kind) { return wordOf(kind, kMisfireWords); }
std::string_view toString(OffDayPolicy off_day) { return wordOf(off_day, kOffDayWords); }
std::string_view toString(GapPolicy gap) { return wordOf(gap, kGapWords); }
std::string_view toString(OverlapPolicy overlap) { return wordOf(overlap, kClockWords); }

}  // namespace baton::flow
