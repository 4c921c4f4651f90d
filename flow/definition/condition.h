#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flow/definition/placeholder.h"

namespace baton::flow {

// A condition of a task ("when"), such as
//   ${load.rows} > 0 and (${mode} == "full" or not ${load.partial})
// Operands are placeholders, numbers (plain decimal), quoted texts, true and false. Words bind as
// usual: comparison, not, and, or. A value that is a plain decimal number is compared as a number
// with numbers, exactly; with a quoted text every value is compared as text. Anything else,
// such as a word against a number, is an error and never just false.
// A pure value; any thread.
class Condition {
 public:
  // Errors: InvalidArgument (with the column within the condition, from 1).
  static Result<Condition> parse(std::string_view text);

  // Evaluates; the right side of "and" and "or" only if it matters.
  // Errors: InvalidArgument (a placeholder that does not resolve; values that can't be compared,
  // both named; a value that should be true or false and is neither).
  Result<bool> evaluate(const PlaceholderContext& context) const;

  // The placeholders in it.
  std::vector<TextPart> placeholders() const;

 private:
  friend class ConditionParser;

  struct Operand {
    enum class Kind : uint8_t { Placeholder, Number, Text, Truth };
    Kind kind = Kind::Truth;
    std::string text;             // As written in the condition, without quotes.
    std::vector<TextPart> parts;  // Placeholder.
  };
  enum class Compare : uint8_t { None, Equal, Unequal, Less, LessEqual, Greater, GreaterEqual };
  struct Node {
    enum class Kind : uint8_t { And, Or, Not, Test };
    Kind kind = Kind::Test;
    size_t left = 0;  // Of nodes_: And, Or, Not.
    size_t right = 0;
    Compare compare = Compare::None;  // Test: of `a` with `b`; None: `a` alone.
    Operand a;
    Operand b;
  };
  static Result<std::string> valueOf(const Operand& operand, const PlaceholderContext& context);
  static Result<bool> test(const Node& node, const PlaceholderContext& context);
  Result<bool> evaluateNode(size_t at, const PlaceholderContext& context) const;

  std::vector<Node> nodes_;  // The last one is the whole.
};

}  // namespace baton::flow
