#include <algorithm>
#include <array>
#include <charconv>

#include "common/base/json.h"
#include "common/model/ids.h"
#include "common/model/task_rules.h"
#include "flow/definition/placeholder.h"

namespace baton::flow {
namespace {

using Unit = DateStep::Unit;

constexpr std::string_view kInstantFormat = "%Y-%m-%dT%H:%M:%S%:z";

struct BuiltInDate {
  std::string_view name;
  std::string_view format;
  int64_t days;
};
// Names of another scheduler's dates.
constexpr std::array<BuiltInDate, 3> kSystemDates{{{"system.biz.date", "%Y%m%d", -1},
                                                   {"system.biz.curdate", "%Y%m%d", 0},
                                                   {"system.datetime", "%Y%m%d%H%M%S", 0}}};
constexpr std::array<std::string_view, 3> kBuiltInTexts{"flow", "run_id", "task"};

std::optional<DateText::Base> dateBaseOf(std::string_view name) {
  if (name == "plan_time") return DateText::Base::PlanTime;
  if (name == "prev_success_time") return DateText::Base::PrevSuccessTime;
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// "FORMAT,STEP,…": what reads as a step at the end is one; before it a comma is part of the format.
Status readFormatAndSteps(std::string_view text, DateText& date) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == text.npos) break;
    begin = comma + 1;
  }
  date.format = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) {
    const auto step = parseDateStep(trimmed(parts[i]));
    if (step.ok()) {
      date.steps.push_back(*step);
    } else if (date.steps.empty() && parts[i].find('%') != std::string_view::npos) {
      date.format += "," + std::string(parts[i]);
    } else {
      return step.error();
    }
  }
  if (date.format.empty()) {
    return Error::invalidArgument("has no format; expected for example %Y%m%d");
  }
  return checkDateFormat(date.format);
}

// A product such as "7*1" or "1/24/60" behind a pattern: how many days, as a step.
Result<DateStep> readPatternDistance(std::string_view text) {
  const bool minus = text.front() == '-';
  std::string_view rest = text.substr(1);
  int64_t number = 1;
  int64_t divisor = 1;
  char operation = '*';
  while (!rest.empty()) {
    int64_t factor = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), factor);
    const bool digits = rest[0] >= '0' && rest[0] <= '9';
    int64_t& side = operation == '*' ? number : divisor;
    if (!digits || error != std::errc() || factor > 1'000'000 || side > 1'000'000) break;
    side *= factor;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (rest.empty()) break;
    operation = rest[0];
    if ((operation != '*' && operation != '/') || rest.size() == 1) break;
    rest.remove_prefix(1);
  }
  // Of a day: whole days, hours, minutes or seconds.
  constexpr std::array<std::pair<int64_t, Unit>, 4> kParts{
      {{1, Unit::Day}, {24, Unit::Hour}, {24 * 60, Unit::Minute}, {86'400, Unit::Second}}};
  if (text.size() > 1 && rest.empty() && divisor > 0) {
    for (const auto& [parts, unit] : kParts) {
      if (number * parts % divisor != 0) continue;
      const int64_t count = number * parts / divisor;
      if (count > 10'000'000) break;
      return DateStep{unit, minus ? -count : count};
    }
  }
  return Error::invalidArgument(
      "\"{}\" is no distance; expected days such as -1, +7*2, or parts of a day such as -1/24",
      truncateUtf8(text, 40));
}

struct PatternFunction {
  std::string_view name;
  std::optional<Unit> edge;  // First go there …
  Unit unit;                 // … then this far.
  bool takes_count;
};
constexpr std::array<PatternFunction, 7> kFunctions{{
    {"add_months", std::nullopt, Unit::Month, true},
    {"month_begin", Unit::MonthStart, Unit::Day, true},
    {"month_end", Unit::MonthEnd, Unit::Day, true},
    {"week_begin", Unit::WeekStart, Unit::Day, true},
    {"week_end", Unit::WeekEnd, Unit::Day, true},
    {"this_day", std::nullopt, Unit::Day, false},
    {"last_day", std::nullopt, Unit::Day, false},
}};

// "add_months(yyyyMM,-1)".
Status readFunction(std::string_view inside, DateText& date) {
  const size_t paren = inside.find('(');
  const std::string_view name = trimmed(inside.substr(0, paren));
  const auto function = std::find_if(kFunctions.begin(), kFunctions.end(),
                                     [&](const PatternFunction& f) { return f.name == name; });
  if (function == kFunctions.end()) {
    std::string names;
    for (const PatternFunction& f : kFunctions)
      names += (names.empty() ? "" : ", ") + std::string(f.name);
    return Error::invalidArgument("\"{}\" is no function of dates; expected one of {}",
                                  truncateUtf8(name, 40), names);
  }
  std::string_view arguments = inside.substr(paren + 1);
  if (!arguments.ends_with(')')) return Error::invalidArgument("expected \")\" at the end");
  arguments.remove_suffix(1);
  const size_t comma = function->takes_count ? arguments.rfind(',') : arguments.npos;
  if (function->takes_count && comma == arguments.npos) {
    return Error::invalidArgument("expected {}(PATTERN,N)", name);
  }
  ASSIGN_OR_RETURN(date.format, formatFromPattern(trimmed(arguments.substr(0, comma))));
  if (function->edge) date.steps.push_back({*function->edge, 0});
  if (function->name == "last_day") date.steps.push_back({Unit::Day, -1});
  if (!function->takes_count) return {};
  std::string count(trimmed(arguments.substr(comma + 1)));
  if (count.empty()) return Error::invalidArgument("expected {}(PATTERN,N)", name);
  if (count[0] != '-' && count[0] != '+') count.insert(0, "+");
  ASSIGN_OR_RETURN(DateStep step, readPatternDistance(count));
  if (step.unit != Unit::Day) return Error::invalidArgument("{} takes a whole number", name);
  step.unit = function->unit;
  date.steps.push_back(step);
  return {};
}

// What stands between "$[" and "]".
Result<TextPart> readPattern(std::string_view inside) {
  TextPart part;
  part.kind = TextPart::Kind::Date;
  if (trimmed(inside).empty()) return Error::invalidArgument("is empty; expected a date pattern");
  if (inside.find('(') != inside.npos) {
    RETURN_IF_ERROR(readFunction(trimmed(inside), part.date));
    return part;
  }
  // A distance is a sign with nothing but digits, * and / behind it.
  const size_t last = inside.find_last_not_of("0123456789*/ ");
  std::string_view pattern = inside;
  if (last != inside.npos && last > 0 && (inside[last] == '-' || inside[last] == '+')) {
    std::string distance;
    for (const char c : inside.substr(last)) {
      if (c != ' ') distance += c;
    }
    ASSIGN_OR_RETURN(const DateStep step, readPatternDistance(distance));
    part.date.steps.push_back(step);
    pattern = trimmed(inside.substr(0, last));
  }
  ASSIGN_OR_RETURN(part.date.format, formatFromPattern(pattern));
  return part;
}

bool isParamName(std::string_view name) { return wrongVariableName(name).empty(); }

// What stands between "${" and "}".
Result<TextPart> readReference(std::string_view inside) {
  TextPart part;
  const size_t colon = inside.find(':');
  const std::string_view name = inside.substr(0, colon);
  if (const auto base = dateBaseOf(name)) {
    part.kind = TextPart::Kind::Date;
    part.date.base = *base;
    part.date.format = kInstantFormat;
    if (colon != inside.npos) {
      RETURN_IF_ERROR(readFormatAndSteps(inside.substr(colon + 1), part.date));
    }
    return part;
  }
  if (colon != inside.npos) {
    return Error::invalidArgument("only plan_time and prev_success_time take a format");
  }
  for (const BuiltInDate& known : kSystemDates) {
    if (known.name != name) continue;
    part.kind = TextPart::Kind::Date;
    part.date.format = known.format;
    if (known.days != 0) part.date.steps.push_back({Unit::Day, known.days});
    return part;
  }
  const size_t dot = name.rfind('.');
  if (dot != name.npos && isValidName(name.substr(0, dot)) && isParamName(name.substr(dot + 1))) {
    part.kind = TextPart::Kind::Output;
    part.text = name.substr(0, dot);
    part.key = name.substr(dot + 1);
    return part;
  }
  if (!isParamName(name)) {
    return Error::invalidArgument(
        "expected ${{name}}, ${{task.key}} or ${{plan_time:FORMAT}}; $${{ stands for a plain ${{");
  }
  part.kind = TextPart::Kind::Name;
  part.text = name;
  return part;
}

}  // namespace

Result<std::vector<TextPart>> parsePlaceholders(std::string_view text) {
  std::vector<TextPart> parts;
  std::string literal;
  const auto flush = [&] {
    if (literal.empty()) return;
    parts.push_back({.kind = TextPart::Kind::Literal,
                     .text = std::move(literal),
                     .key = {},
                     .date = {},
                     .source = {}});
    literal.clear();
  };
  const auto opens = [&](size_t at) {
    return at + 1 < text.size() && text[at] == '$' && (text[at + 1] == '{' || text[at + 1] == '[');
  };
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '$' && opens(i + 1)) {  // "$${".
      literal += text.substr(i + 1, 2);
      i += 3;
      continue;
    }
    if (!opens(i)) {
      literal += text[i++];
      continue;
    }
    const bool brace = text[i + 1] == '{';
    const size_t end = text.find(brace ? '}' : ']', i + 2);
    const std::string source(text.substr(i, end == text.npos ? text.npos : end + 1 - i));
    const auto wrong = [&](const std::string& why) {
      return Error::invalidArgument("placeholder {}: {}", truncateUtf8(source, 60), why);
    };
    if (end == text.npos) return wrong(brace ? "has no \"}\"" : "has no \"]\"");
    const std::string_view inside = text.substr(i + 2, end - i - 2);
    auto part = brace ? readReference(inside) : readPattern(inside);
    if (!part.ok()) return wrong(part.error().message());
    part->source = source;
    flush();
    parts.push_back(std::move(part).value());
    i = end + 1;
  }
  flush();
  return parts;
}

bool isBuiltInName(std::string_view name) {
  return dateBaseOf(name).has_value() ||
         std::find(kBuiltInTexts.begin(), kBuiltInTexts.end(), name) != kBuiltInTexts.end();
}

bool isLiteral(const std::vector<TextPart>& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [](const TextPart& part) { return part.kind == TextPart::Kind::Literal; });
}

}  // namespace baton::flow
