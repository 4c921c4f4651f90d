#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dao/flow_row_encoder.h"
#include "dao/row_encoder.h"
#include "dao/sql_session.h"

namespace baton::dao {

// A part of a query with the values of its marks, which are borrowed.
struct QueryPart {
  std::string sql;
  SqlValues values;
  std::deque<std::string> texts = {};  // Values that nobody else keeps; they stay where they are.

  std::string_view keep(std::string text) { return texts.emplace_back(std::move(text)); }
};

// Appends conditions to a query that has none yet.
class Conditions {
 public:
  explicit Conditions(QueryPart& query) : query_(query) {}

  void add(std::string_view condition) {
    query_.sql += first_ ? " WHERE " : " AND ";
    first_ = false;
    query_.sql += condition;
  }
  void add(std::string_view condition, SqlValue value) {
    add(condition);
    query_.values.push_back(value);
  }
  // From `from` on and before `before`; zero times are open.
  void addTimes(std::string_view column, WallTime from, WallTime before) {
    if (from != WallTime{}) add(fmt::format("{}>=?", column), toMicros(from));
    if (before != WallTime{}) add(fmt::format("{}<?", column), toMicros(before));
  }
  // The column has that text as a part; empty: no condition.
  void addPart(std::string_view column, std::string_view text) {
    if (!text.empty()) add(fmt::format("instr({},?)>0", column), text);
  }
  // No condition if there are no values.
  template <typename T>
  void addOneOf(std::string_view column, const std::vector<T>& values) {
    if (values.empty()) return;
    add(column);
    query_.sql += " IN (";
    for (size_t i = 0; i < values.size(); ++i) {
      query_.sql += i == 0 ? "?" : ",?";
      if constexpr (std::is_convertible_v<T, std::string_view>) {
        query_.values.push_back(std::string_view(values[i]));
      } else {
        query_.values.push_back(static_cast<int64_t>(values[i]));
      }
    }
    query_.sql += ')';
  }
  // Status, and the phases in which rows of these statuses are, by whose index it is found.
  template <typename E>
  void addStatuses(std::string_view phase_column, std::string_view status_column,
                   const std::vector<E>& statuses) {
    std::vector<int64_t> phases;
    for (const E status : statuses) phases.push_back(phaseOf(status));
    std::sort(phases.begin(), phases.end());
    phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
    addOneOf(phase_column, phases);
    addOneOf(status_column, statuses);
  }

 private:
  QueryPart& query_;
  bool first_ = true;
};

}  // namespace baton::dao
