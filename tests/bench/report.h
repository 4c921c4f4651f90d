#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/json.h"

namespace baton::bench {

// One measured value, and what it has to be.
struct Figure {
  std::string name;  // "p1.tasks"
  double value = 0;
  std::string unit;
  // The bound that has to be met; the unit's direction tells which side is good.
  std::optional<double> must = std::nullopt;
  std::optional<double> goal = std::nullopt;
  bool low_is_good = false;
  std::string note = {};  // How it came about, or what it is a ratio to.
};

// What a run of the bench came to, in the order in which it was measured. One thread.
class Report {
 public:
  void setting(const std::string& name, const std::string& value) {
    settings_.emplace_back(name, value);
  }
  void add(Figure figure) { figures_.push_back(std::move(figure)); }
  void fail(std::string what) { errors_.push_back(std::move(what)); }

  bool failed() const { return !errors_.empty(); }
  std::string table() const;
  Json json() const;

 private:
  std::vector<std::pair<std::string, std::string>> settings_;
  std::vector<Figure> figures_;
  std::vector<std::string> errors_;
};

// `part` from 0 to 1 of the values in rising order: 0.5 is the median. 0 for none.
double quantile(std::vector<double> values, double part);

// "a, b and c as measured": every single value, for a note.
std::string valuesText(const std::vector<double>& values);

}  // namespace baton::bench
