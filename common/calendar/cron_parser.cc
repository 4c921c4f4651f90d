#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "common/base/digest.h"
#include "common/base/duration_text.h"
#include "common/base/json.h"
#include "common/calendar/cron_expression.h"

namespace baton {
namespace {

constexpr std::array<std::string_view, 12> kMonthNames{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                       "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kDayNames{"SUN", "MON", "TUE", "WED",
                                                    "THU", "FRI", "SAT"};

struct Macro {
  std::string_view name;
  std::string_view meaning;
};
constexpr std::array<Macro, 7> kMacros{{{"@hourly", "0 * * * *"},
                                        {"@daily", "0 0 * * *"},
                                        {"@midnight", "0 0 * * *"},
                                        {"@weekly", "0 0 * * 0"},
                                        {"@monthly", "0 0 1 * *"},
                                        {"@yearly", "0 0 1 1 *"},
                                        {"@annually", "0 0 1 1 *"}}};

constexpr std::chrono::hours kEveryMax{366 * 24};

// What one field takes.
struct FieldKind {
  std::string_view name;
  unsigned min;
  unsigned max;
  unsigned name_offset = 0;  // Number of the first name.
  std::span<const std::string_view> names = {};
  bool wraps = false;  // A range may run over the end (Quartz).
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  for (std::string& part : split(text, ' ')) {
    for (std::string& word : split(part, '\t')) {
      if (!word.empty()) found.push_back(std::move(word));
    }
  }
  return found;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

// Reads an expression field by field.
class CronParser {
 public:
  CronParser(bool quartz, std::string_view hash_key) : quartz_(quartz), hash_key_(hash_key) {}

  Result<CronExpression> parse(const std::vector<std::string>& fields);

 private:
  struct Step {
    std::string what;
    unsigned step = 1;
    bool stepped = false;
  };
  template <size_t N>
  Status readSet(const FieldKind& kind, const std::string& text, std::bitset<N>& out);
  template <size_t N>
  Status readPart(const FieldKind& kind, const std::string& part, std::bitset<N>& out);
  Status readMonthDays(const std::string& text);
  Result<bool> readMonthDay(const std::string& part);
  Status readWeekDays(const std::string& text);
  Result<bool> readWeekDay(const std::string& part);
  Status readYears(const std::string& text);
  Result<Step> readStep(const FieldKind& kind, const std::string& part) const;
  Result<unsigned> readValue(const FieldKind& kind, const std::string& text) const;
  Result<unsigned> hashed(const FieldKind& kind, const std::string& what, unsigned step,
                          unsigned& last) const;

  static Error refuse(const FieldKind& kind, std::string_view part, std::string_view why) {
    return Error::invalidArgument("cron {} field: '{}' {}", kind.name, truncateUtf8(part, 40), why);
  }
  FieldKind weekdayKind() const {
    return quartz_ ? FieldKind{"weekday", 1, 7, 1, kDayNames, true}
                   : FieldKind{"weekday", 0, 7, 0, kDayNames, false};
  }
  FieldKind dayKind() const { return {"day", 1, 31, 0, {}, quartz_}; }
  // 0 to 6 with Sunday as 0, from the numbers of the dialect.
  unsigned weekday(unsigned value) const { return quartz_ ? value - 1 : value % 7; }

  const bool quartz_;
  const std::string hash_key_;
  CronExpression cron_;
};

Result<unsigned> CronParser::readValue(const FieldKind& kind, const std::string& text) const {
  const std::string name = upper(text);
  for (size_t i = 0; i < kind.names.size(); ++i) {
    if (name == kind.names[i]) return static_cast<unsigned>(i) + kind.name_offset;
  }
  const auto value = number(text);
  if (!value) {
    return refuse(kind, text,
                  fmt::format("is not a number{}; expected {} to {}",
                              kind.names.empty() ? "" : " or a name", kind.min, kind.max));
  }
  if (*value < kind.min || *value > kind.max) {
    return refuse(kind, text,
                  fmt::format("is out of range; expected {} to {}", kind.min, kind.max));
  }
  return *value;
}

Result<CronParser::Step> CronParser::readStep(const FieldKind& kind,
                                              const std::string& part) const {
  const size_t slash = part.find('/');
  if (slash == std::string::npos) return Step{part, 1, false};
  const auto step = number(std::string_view(part).substr(slash + 1));
  if (!step || *step == 0) return refuse(kind, part, "needs a step of 1 or more behind the /");
  if (*step > kind.max - kind.min) {
    return refuse(
        kind, part,
        fmt::format("has a step that is larger than the field ({} to {}), so it would match "
                    "once; name the value alone, or use a field further right",
                    kind.min, kind.max));
  }
  return Step{part.substr(0, slash), *step, true};
}

// H or H(a-b), with or without a step: a value that is the same for the same key. `last` becomes
// the end of the range, if there is one.
Result<unsigned> CronParser::hashed(const FieldKind& kind, const std::string& what, unsigned step,
                                    unsigned& last) const {
  unsigned low = kind.min;
  unsigned high = kind.max;
  if (what.size() > 1) {
    const size_t dash = what.find('-');
    if (what[1] != '(' || what.back() != ')' || dash == std::string::npos) {
      return refuse(kind, what, "is no hashed slot; expected H or H(a-b)");
    }
    ASSIGN_OR_RETURN(low, readValue(kind, what.substr(2, dash - 2)));
    ASSIGN_OR_RETURN(high, readValue(kind, what.substr(dash + 1, what.size() - dash - 2)));
    if (low > high) return refuse(kind, what, "is a range that runs backwards");
    last = high;
  }
  if (kind.name == "day" && what.size() == 1) high = 28;  // A day that every month has.
  if (kind.name == "weekday" && !quartz_) high = std::min(high, 6U);
  const unsigned slots = std::min(high - low + 1, step > 1 ? step : high - low + 1);
  const std::string digest = sha256Hex(hash_key_ + "/" + std::string(kind.name));
  return low + static_cast<unsigned>(std::stoul(digest.substr(0, 8), nullptr, 16) % slots);
}

template <size_t N>
Status CronParser::readPart(const FieldKind& kind, const std::string& part, std::bitset<N>& out) {
  if (part.empty()) return refuse(kind, part, "is an empty part of a list");
  ASSIGN_OR_RETURN(const Step step, readStep(kind, part));
  unsigned low = kind.min;
  unsigned high = kind.max;
  bool wrapped = false;
  const size_t dash = step.what.find('-');
  if (upper(step.what).starts_with('H')) {
    ASSIGN_OR_RETURN(low, hashed(kind, upper(step.what), step.step, high));
    if (!step.stepped) high = low;
  } else if (dash != std::string::npos && dash > 0) {
    ASSIGN_OR_RETURN(low, readValue(kind, step.what.substr(0, dash)));
    ASSIGN_OR_RETURN(high, readValue(kind, step.what.substr(dash + 1)));
    if (low > high && !kind.wraps) {
      return refuse(kind, part, "is a range that runs backwards; write it as two ranges");
    }
    wrapped = low > high;
  } else if (step.what != "*") {
    ASSIGN_OR_RETURN(low, readValue(kind, step.what));
    if (!step.stepped) high = low;  // N/step runs from N to the end.
  }
  if (kind.name == "weekday" && !quartz_ && dash == std::string::npos && high == 7 && low < 7) {
    high = 6;  // Sunday once.
  }
  const unsigned size = kind.max - kind.min + 1;
  const unsigned end = wrapped ? high + size : high;
  for (unsigned value = low; value <= end; value += step.step) {
    out.set(value > kind.max ? value - size : value);
  }
  return {};
}

template <size_t N>
Status CronParser::readSet(const FieldKind& kind, const std::string& text, std::bitset<N>& out) {
  for (const std::string& part : split(text, ',')) RETURN_IF_ERROR(readPart(kind, part, out));
  return {};
}

// The forms that only a day of the month has; false: it is an ordinary part.
Result<bool> CronParser::readMonthDay(const std::string& part) {
  const std::string word = upper(part);
  CronExpression::MonthDays& days = cron_.month_days_;
  if (word == "LW" || word == "WL") {
    days.last_weekday = true;
    return true;
  }
  if (word == "L" || word.starts_with("L-")) {
    const auto back = word == "L" ? 0U : number(std::string_view(word).substr(2));
    if (!back || *back > 30) return refuse(dayKind(), part, "; expected L, or L-1 to L-30");
    days.from_last.push_back(*back);
    return true;
  }
  if (word.size() > 1 && word.back() == 'W') {
    ASSIGN_OR_RETURN(const unsigned day, readValue(dayKind(), word.substr(0, word.size() - 1)));
    days.nearest.push_back(day);
    return true;
  }
  return false;
}

Status CronParser::readMonthDays(const std::string& text) {
  CronExpression::MonthDays& days = cron_.month_days_;
  days.star = text.front() == '*' || text == "?";
  days.any = text == "*" || text == "?";
  if (days.any) return {};
  for (const std::string& part : split(text, ',')) {
    ASSIGN_OR_RETURN(const bool special, readMonthDay(part));
    if (!special) RETURN_IF_ERROR(readPart(dayKind(), part, days.days));
  }
  return {};
}

Result<bool> CronParser::readWeekDay(const std::string& part) {
  const FieldKind kind = weekdayKind();
  CronExpression::WeekDays& days = cron_.week_days_;
  if (const size_t hash = part.find('#'); hash != std::string::npos) {
    ASSIGN_OR_RETURN(const unsigned day, readValue(kind, part.substr(0, hash)));
    const auto n = number(std::string_view(part).substr(hash + 1));
    if (!n || *n < 1 || *n > 5) return refuse(kind, part, "; expected 1 to 5 behind the #");
    days.nth.push_back({weekday(day), *n});
    return true;
  }
  const std::string word = upper(part);
  if (word == "L") {
    if (!quartz_) return refuse(kind, part, "needs a day, as in 5L (the last Friday)");
    days.days.set(6);  // Quartz: the last day of the week.
    return true;
  }
  if (word.size() > 1 && word.back() == 'L') {
    ASSIGN_OR_RETURN(const unsigned day, readValue(kind, word.substr(0, word.size() - 1)));
    days.last.push_back(weekday(day));
    return true;
  }
  return false;
}

Status CronParser::readWeekDays(const std::string& text) {
  CronExpression::WeekDays& days = cron_.week_days_;
  days.star = text.front() == '*' || text == "?";
  days.any = text == "*" || text == "?";
  if (days.any) return {};
  std::bitset<8> numbers;
  for (const std::string& part : split(text, ',')) {
    ASSIGN_OR_RETURN(const bool special, readWeekDay(part));
    if (!special) RETURN_IF_ERROR(readPart(weekdayKind(), part, numbers));
  }
  for (unsigned value = 0; value < numbers.size(); ++value) {
    if (numbers[value]) days.days.set(weekday(value));
  }
  return {};
}

Status CronParser::readYears(const std::string& text) {
  static constexpr FieldKind kYear{"year", 1970, 2199, 0, {}, false};
  std::bitset<2200> years;
  RETURN_IF_ERROR(readSet(kYear, text, years));
  for (unsigned year = kYear.min; year <= kYear.max; ++year) {
    cron_.years_[year - kYear.min] = years[year];
  }
  return {};
}

Result<CronExpression> CronParser::parse(const std::vector<std::string>& fields) {
  const size_t first = quartz_ ? 1 : 0;
  const std::string& minute = fields[first];
  const std::string& hour = fields[first + 1];
  const std::string& day = fields[first + 2];
  const std::string& weekday = fields[first + 4];
  if (quartz_ && (day == "?") == (weekday == "?")) {
    return Error::invalidArgument(
        "cron day '{}' and weekday '{}': exactly one of the two fields must be ? with six or seven "
        "fields",
        day, weekday);
  }
  cron_.seconds_.set(0);
  if (quartz_) {
    cron_.seconds_.reset();
    RETURN_IF_ERROR(readSet({"second", 0, 59, 0, {}, true}, fields[0], cron_.seconds_));
  }
  RETURN_IF_ERROR(readSet({"minute", 0, 59, 0, {}, quartz_}, minute, cron_.minutes_));
  RETURN_IF_ERROR(readSet({"hour", 0, 23, 0, {}, quartz_}, hour, cron_.hours_));
  RETURN_IF_ERROR(readMonthDays(day));
  RETURN_IF_ERROR(
      readSet({"month", 1, 12, 1, kMonthNames, quartz_}, fields[first + 3], cron_.months_));
  RETURN_IF_ERROR(readWeekDays(weekday));
  if (fields.size() == 7) {
    RETURN_IF_ERROR(readYears(fields[6]));
  } else {
    cron_.years_.set();
  }
  cron_.interval_ = minute.front() == '*' || hour.front() == '*';
  if (!cron_.nextMatch({})) {
    return Error::invalidArgument("cron: no date ever matches day '{}' of month '{}', weekday '{}'",
                                  day, fields[first + 3], weekday);
  }
  return std::move(cron_);
}

Result<CronExpression> CronExpression::parse(std::string_view text, CronDialect dialect,
                                             std::string_view hash_key) {
  std::vector<std::string> fields = words(text);
  const std::string shown = truncateUtf8(text, 100);
  if (fields.empty())
    return Error::invalidArgument("cron expression '' is empty; expected five fields");
  if (fields[0] == "@every") {
    if (fields.size() != 2)
      return Error::invalidArgument("cron '{}': expected @every DURATION", shown);
    ASSIGN_OR_RETURN(const Micros distance, parseDuration(fields[1]));
    if (distance < Seconds(1) || distance % Seconds(1) != Micros(0)) {
      return Error::invalidArgument("cron '{}': expected whole seconds, at least 1s", shown);
    }
    if (distance > kEveryMax) {
      return Error::invalidArgument("cron '{}': expected at most 366d", shown);
    }
    CronExpression every;
    every.interval_ = true;
    every.every_ = std::chrono::duration_cast<Seconds>(distance);
    return every;
  }
  if (fields[0].front() == '@') {
    const auto macro = std::find_if(kMacros.begin(), kMacros.end(),
                                    [&](const Macro& m) { return m.name == fields[0]; });
    if (macro == kMacros.end() || fields.size() != 1) {
      return Error::invalidArgument(
          "cron '{}' is unknown; expected @hourly, @daily, @midnight, @weekly, @monthly, @yearly, "
          "@annually or @every DURATION",
          shown);
    }
    fields = words(macro->meaning);
    dialect = CronDialect::Unix5;
  }
  const size_t count = fields.size();
  const bool right = dialect == CronDialect::Unix5    ? count == 5
                     : dialect == CronDialect::Quartz ? count == 6 || count == 7
                                                      : count >= 5 && count <= 7;
  if (!right) {
    return Error::invalidArgument(
        "cron '{}' has {} fields; expected five (minute hour day month weekday), or six or seven "
        "as "
        "in Quartz (second first, year last)",
        shown, count);
  }
  return CronParser(count != 5, lower(hash_key)).parse(fields);
}

}  // namespace baton
