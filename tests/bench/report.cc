#include "tests/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace baton::bench {
namespace {

std::string numberText(double value) {
  const double size = std::abs(value);
  if (size >= 100) return fmt::format("{:.0f}", value);
  if (size >= 10) return fmt::format("{:.1f}", value);
  return fmt::format("{:.3g}", value);
}

bool meets(const Figure& figure, double bound) {
  return figure.low_is_good ? figure.value <= bound : figure.value >= bound;
}

std::string boundText(const Figure& figure, const std::optional<double>& bound) {
  if (!bound) return "";
  return fmt::format("{} {} {}", figure.low_is_good ? "<=" : ">=", numberText(*bound),
                     meets(figure, *bound) ? "yes" : "NO");
}

}  // namespace

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  const double rest = place - static_cast<double>(below);
  return values[below] * (1 - rest) + values[above] * rest;
}

std::string valuesText(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + numberText(value);
  return text;
}

std::string Report::table() const {
  std::string text;
  for (const auto& [name, value] : settings_) text += fmt::format("{:<38} {}\n", name, value);
  text += fmt::format("\n{:<34} {:>10} {:<8} {:<14} {:<14} {}\n", "figure", "value", "unit", "must",
                      "goal", "note");
  for (const Figure& figure : figures_) {
    text += fmt::format("{:<34} {:>10} {:<8} {:<14} {:<14} {}\n", figure.name,
                        numberText(figure.value), figure.unit, boundText(figure, figure.must),
                        boundText(figure, figure.goal), figure.note);
  }
  for (const std::string& error : errors_) text += "ERROR: " + error + "\n";
  return text;
}

Json Report::json() const {
  Json settings = Json::object();
  for (const auto& [name, value] : settings_) settings[name] = value;
  Json figures = Json::array();
  for (const Figure& figure : figures_) {
    Json one{{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}};
    if (figure.must) one["must"] = *figure.must;
    if (figure.must) one["must_met"] = meets(figure, *figure.must);
    if (figure.goal) one["goal"] = *figure.goal;
    if (figure.goal) one["goal_met"] = meets(figure, *figure.goal);
    if (!figure.note.empty()) one["note"] = figure.note;
    figures.push_back(std::move(one));
  }
  return {{"settings", std::move(settings)}, {"figures", std::move(figures)}, {"errors", errors_}};
}

}  // namespace baton::bench
