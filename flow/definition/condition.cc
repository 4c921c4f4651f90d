#include "flow/definition/condition.h"

#include <algorithm>
#include <array>

#include "common/base/json.h"

namespace baton::flow {
namespace {

constexpr size_t kConditionBytesMax = 4'096;
constexpr int kConditionDepthMax = 50;

// A plain decimal number: optional minus, no leading zero, optional fraction.
bool isDecimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == part.npos;
  };
  if (!digits(whole) || (whole.size() > 1 && whole[0] == '0')) return false;
  return point == text.npos || digits(text.substr(point + 1));
}

// -1, 0 or 1; exact, however long the numbers are.
int compareDecimals(std::string_view a, std::string_view b) {
  struct Parts {
    bool negative;
    std::string_view whole;
    std::string_view fraction;
  };
  const auto split = [](std::string_view text) {
    Parts parts{text.starts_with('-'), {}, {}};
    if (parts.negative) text.remove_prefix(1);
    const size_t point = text.find('.');
    parts.whole = text.substr(0, point);
    if (point != text.npos) parts.fraction = text.substr(point + 1);
    while (parts.fraction.ends_with('0')) parts.fraction.remove_suffix(1);
    if (parts.whole == "0" && parts.fraction.empty()) parts.negative = false;
    return parts;
  };
  const Parts x = split(a);
  const Parts y = split(b);
  if (x.negative != y.negative) return x.negative ? -1 : 1;
  int order = 0;
  if (x.whole.size() != y.whole.size()) {
    order = x.whole.size() < y.whole.size() ? -1 : 1;
  } else {
    order = x.whole.compare(y.whole);
    if (order == 0) order = x.fraction.compare(y.fraction);
  }
  order = order < 0 ? -1 : (order > 0 ? 1 : 0);
  return x.negative ? -order : order;
}

}  // namespace

// Reads a condition by recursive descent; the first error is kept.
class ConditionParser {
 public:
  explicit ConditionParser(std::string_view text) : text_(text) {}

  Result<Condition> parse() {
    if (text_.size() > kConditionBytesMax) {
      return Error::invalidArgument("has {} bytes, at most {} are accepted", text_.size(),
                                    kConditionBytesMax);
    }
    parseOr();
    skipBlanks();
    if (!error_ && at_ < text_.size()) {
      fail(at_, fmt::format("\"{}\" is too much; expected and, or, a comparison or the end",
                            restShown()));
    }
    if (error_) return *error_;
    return std::move(condition_);
  }

 private:
  using Node = Condition::Node;
  using Operand = Condition::Operand;
  using Compare = Condition::Compare;

  void fail(size_t at, const std::string& why) {
    if (error_) return;
    error_ = Error::invalidArgument("column {}: {}", utf8Length(text_.substr(0, at)) + 1, why);
  }
  std::string restShown() const { return truncateUtf8(text_.substr(at_), 20); }

  void skipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
  }
  static bool isWordCharacter(char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  }
  std::string_view peekWord() const {
    size_t end = at_;
    while (end < text_.size() && isWordCharacter(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool takeWord(std::string_view word) {
    skipBlanks();
    if (peekWord() != word) return false;
    at_ += word.size();
    return true;
  }
  size_t add(Node node) {
    condition_.nodes_.push_back(std::move(node));
    return condition_.nodes_.size() - 1;
  }

  size_t parseOr() { return parseChain("or", Node::Kind::Or, &ConditionParser::parseAnd); }
  size_t parseAnd() { return parseChain("and", Node::Kind::And, &ConditionParser::parseNot); }

  size_t parseChain(std::string_view word, Node::Kind kind, size_t (ConditionParser::*part)()) {
    size_t left = (this->*part)();
    while (!error_ && takeWord(word)) {
      const size_t right = (this->*part)();
      Node node;
      node.kind = kind;
      node.left = left;
      node.right = right;
      left = add(std::move(node));
    }
    return left;
  }

  size_t parseNot() {
    if (++depth_ > kConditionDepthMax) {
      fail(at_, fmt::format("is nested over {} deep", kConditionDepthMax));
    }
    if (error_) return 0;
    size_t node = 0;
    skipBlanks();
    if (takeWord("not")) {
      Node negation;
      negation.kind = Node::Kind::Not;
      negation.left = parseNot();
      node = add(std::move(negation));
    } else if (at_ < text_.size() && text_[at_] == '(') {
      ++at_;
      node = parseOr();
      skipBlanks();
      if (!error_ && (at_ >= text_.size() || text_[at_] != ')')) fail(at_, "expected \")\"");
      ++at_;
    } else {
      node = parseTest();
    }
    --depth_;
    return node;
  }

  Compare takeCompare() {
    constexpr std::array<std::pair<std::string_view, Compare>, 6> kSigns{
        {{"==", Compare::Equal},
         {"!=", Compare::Unequal},
         {"<=", Compare::LessEqual},
         {">=", Compare::GreaterEqual},
         {"<", Compare::Less},
         {">", Compare::Greater}}};
    skipBlanks();
    for (const auto& [sign, compare] : kSigns) {
      if (!text_.substr(at_).starts_with(sign)) continue;
      at_ += sign.size();
      return compare;
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOthers{
        {{"=", "=="}, {"&&", "and"}, {"||", "or"}}};
    for (const auto& [other, ours] : kOthers) {
      if (text_.substr(at_).starts_with(other)) {
        fail(at_, fmt::format("\"{}\" is not known here; write {}", other, ours));
      }
    }
    return Compare::None;
  }

  size_t parseTest() {
    Node node;
    const size_t begin = at_;
    node.a = parseOperand();
    if (error_) return 0;
    node.compare = takeCompare();
    if (error_) return 0;
    if (node.compare == Compare::None) {
      if (node.a.kind == Operand::Kind::Number || node.a.kind == Operand::Kind::Text) {
        fail(begin,
             fmt::format("{} alone is neither true nor false; expected a comparison", node.a.text));
      }
      return add(std::move(node));
    }
    node.b = parseOperand();
    if (error_) return 0;
    checkComparable(begin, node);
    const size_t behind = at_;
    if (!error_ && takeCompare() != Compare::None) {
      fail(behind, "a comparison of a comparison; join two with and");
    }
    return add(std::move(node));
  }

  // What can be told without values.
  void checkComparable(size_t begin, const Node& node) {
    const auto number = [](const Operand& o) { return o.kind == Operand::Kind::Number; };
    const auto word = [](const Operand& o) {
      return o.kind == Operand::Kind::Text || o.kind == Operand::Kind::Truth;
    };
    if ((number(node.a) && word(node.b)) || (word(node.a) && number(node.b))) {
      fail(begin, fmt::format("compares the number {} with the text {}",
                              number(node.a) ? node.a.text : node.b.text,
                              number(node.a) ? node.b.text : node.a.text));
    }
    const bool truth = node.a.kind == Operand::Kind::Truth || node.b.kind == Operand::Kind::Truth;
    if (truth && node.compare != Compare::Equal && node.compare != Compare::Unequal) {
      fail(begin, "true and false can only be compared with == and !=");
    }
  }

  Operand parseOperand() {
    skipBlanks();
    Operand operand;
    if (at_ >= text_.size()) {
      fail(at_, "ends too early; expected a placeholder, a number or a quoted text");
      return operand;
    }
    const char c = text_[at_];
    if (c == '$') return parsePlaceholder();
    if (c == '"' || c == '\'') {
      const size_t end = text_.find(c, at_ + 1);
      if (end == text_.npos) {
        fail(at_, "a quote begins here and does not end");
        return operand;
      }
      operand.kind = Operand::Kind::Text;
      operand.text = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return operand;
    }
    size_t end = at_;
    while (end < text_.size() && (isWordCharacter(text_[end]) || text_[end] == '.' ||
                                  text_[end] == '-' || text_[end] == '+')) {
      ++end;
    }
    operand.text = text_.substr(at_, end - at_);
    if (operand.text == "true" || operand.text == "false") {
      operand.kind = Operand::Kind::Truth;
    } else if (isDecimal(operand.text)) {
      operand.kind = Operand::Kind::Number;
    } else {
      fail(at_,
           fmt::format(
               "\"{}\" is no operand; expected a placeholder, a plain number, or a text in quotes",
               operand.text.empty() ? restShown() : truncateUtf8(operand.text, 40)));
    }
    at_ = end;
    return operand;
  }

  Operand parsePlaceholder() {
    Operand operand;
    operand.kind = Operand::Kind::Placeholder;
    const bool pattern = text_.substr(at_).starts_with("$[");
    const size_t end = text_.find(pattern ? ']' : '}', at_);
    operand.text = text_.substr(at_, end == text_.npos ? text_.npos : end + 1 - at_);
    auto parts = parsePlaceholders(operand.text);
    if (!parts.ok()) {
      fail(at_, parts.error().message());
    } else if (parts->size() != 1 || isLiteral(*parts)) {
      fail(at_, fmt::format("\"{}\" is no placeholder", truncateUtf8(operand.text, 40)));
    } else {
      operand.parts = std::move(parts).value();
      at_ = end + 1;
    }
    return operand;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  std::optional<Error> error_;
  Condition condition_;
};

Result<Condition> Condition::parse(std::string_view text) { return ConditionParser(text).parse(); }

Result<std::string> Condition::valueOf(const Operand& operand, const PlaceholderContext& context) {
  if (operand.kind != Operand::Kind::Placeholder) return operand.text;
  return resolveText(operand.text, context);
}

Result<bool> Condition::test(const Node& node, const PlaceholderContext& context) {
  ASSIGN_OR_RETURN(const std::string a, valueOf(node.a, context));
  if (node.compare == Compare::None) {
    if (a == "true" || a == "false") return a == "true";
    return Error::invalidArgument("{} is \"{}\", expected true or false", node.a.text,
                                  truncateUtf8(a, 40));
  }
  ASSIGN_OR_RETURN(const std::string b, valueOf(node.b, context));
  const auto truth = [](const Operand& o) { return o.kind == Operand::Kind::Truth; };
  for (const auto& [operand, value] : {std::pair(&node.a, &a), std::pair(&node.b, &b)}) {
    if ((truth(node.a) || truth(node.b)) && *value != "true" && *value != "false") {
      return Error::invalidArgument("{} is \"{}\", expected true or false", operand->text,
                                    truncateUtf8(*value, 40));
    }
  }
  const bool as_text = node.a.kind == Operand::Kind::Text || node.b.kind == Operand::Kind::Text;
  int order = 0;
  if (as_text || (!isDecimal(a) && !isDecimal(b))) {
    order = a.compare(b);
  } else if (isDecimal(a) && isDecimal(b)) {
    order = compareDecimals(a, b);
  } else {
    return Error::invalidArgument(
        "{} (\"{}\") can't be compared with {} (\"{}\"): one is a number, the other is not",
        node.a.text, truncateUtf8(a, 40), node.b.text, truncateUtf8(b, 40));
  }
  switch (node.compare) {
    case Compare::Equal:
      return order == 0;
    case Compare::Unequal:
      return order != 0;
    case Compare::Less:
      return order < 0;
    case Compare::LessEqual:
      return order <= 0;
    case Compare::Greater:
      return order > 0;
    default:
      return order >= 0;
  }
}

Result<bool> Condition::evaluateNode(size_t at, const PlaceholderContext& context) const {
  const Node& node = nodes_[at];
  if (node.kind == Node::Kind::Test) return test(node, context);
  const auto left = evaluateNode(node.left, context);
  if (!left.ok()) return left;
  if (node.kind == Node::Kind::Not) return !*left;
  if (*left == (node.kind == Node::Kind::Or)) return left;
  return evaluateNode(node.right, context);
}

Result<bool> Condition::evaluate(const PlaceholderContext& context) const {
  CHECK(!nodes_.empty());
  return evaluateNode(nodes_.size() - 1, context);
}

std::vector<TextPart> Condition::placeholders() const {
  std::vector<TextPart> found;
  for (const Node& node : nodes_) {
    for (const Operand* operand : {&node.a, &node.b}) {
      found.insert(found.end(), operand->parts.begin(), operand->parts.end());
    }
  }
  return found;
}

}  // namespace baton::flow
