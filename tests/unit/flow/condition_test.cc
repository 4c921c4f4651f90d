#include "flow/definition/condition.h"

#include <gtest/gtest.h>

namespace baton::flow {
namespace {

// "true", "false", "refused: …" or "error: …".
std::string judged(const std::string& text) {
  const OutputMap outputs{{"load",
                           {{"rows", "12"},
                            {"zero", "0"},
                            {"big", "9007199254740993"},
                            {"mode", "full"},
                            {"octal", "0755"},
                            {"none", ""},
                            {"yes", "true"},
                            {"no", "false"},
                            {"price", "1.50"}}}};
  PlaceholderContext context;
  context.outputs = &outputs;
  const auto condition = Condition::parse(text);
  if (!condition.ok()) return "refused: " + condition.error().message();
  const auto value = condition->evaluate(context);
  if (!value.ok()) return "error: " + value.error().message();
  return *value ? "true" : "false";
}

// Numbers compare as numbers, exactly; quoted texts as texts; words bind as usual.
TEST(ConditionTest, Evaluates) {
  const std::pair<std::string, std::string> cases[] = {
      {"${load.rows} > 0", "true"},
      {"${load.rows} > 9", "true"},
      {"${load.rows}>=12", "true"},
      {"${load.rows} < 12", "false"},
      {"${load.rows} <= 12.0", "true"},
      {"${load.rows} == 12.000", "true"},
      {"${load.rows} != 12", "false"},
      {"-1 < ${load.zero}", "true"},
      {"-0 == 0", "true"},
      {"-2 < -1", "true"},
      {"1.05 < 1.5", "true"},
      {"${load.price} == 1.5", "true"},
      {"${load.price} == '1.5'", "false"},
      {"${load.big} > 9007199254740992", "true"},
      {"${load.big} < 9007199254740993.5", "true"},
      {"123456789012345678901234567890 > 99999999999999999999", "true"},
      {"${load.mode} == \"full\"", "true"},
      {"${load.mode} == 'part'", "false"},
      {"${load.mode} < 'g'", "true"},
      {"${load.rows} == '12'", "true"},
      {"${load.octal} == \"0755\"", "true"},
      {"${load.none} == ''", "true"},
      {"${load.rows} == ${load.price}", "false"},
      {"${load.mode} != ${load.none}", "true"},
      {"${load.yes}", "true"},
      {"not ${load.yes}", "false"},
      {"not not ${load.no}", "false"},
      {"${load.yes} == true", "true"},
      {"false != ${load.no}", "false"},
      {"true", "true"},
      {"false or true and false", "false"},
      {"true or false and false", "true"},
      {"(true or false) and false", "false"},
      {"not false and true", "true"},
      {"not (true and true)", "false"},
      {"not ${load.rows} > 20", "true"},
      {"${load.rows} > 0 and (${load.mode} == \"full\" or not ${load.yes})", "true"},
      {"$[yyyy] == 1970", "true"},
      {"${plan_time:%Y, %m} == '1970, 01'", "true"},
      // The right side counts only if it matters.
      {"false and ${load.absent} > 0", "false"},
      {"true or ${load.absent} > 0", "true"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(judged(text), expected) << text;
}

// What can't be compared must be an error that names both, never just false.
TEST(ConditionTest, ErrorsOfValues) {
  EXPECT_EQ(judged("${load.mode} > 0"),
            "error: ${load.mode} (\"full\") can't be compared with 0 (\"0\"): one is a number, the "
            "other is not");
  EXPECT_NE(judged("${load.octal} == 493").find("\"0755\") can't be compared"), std::string::npos);
  EXPECT_NE(judged("${load.none} < 1").find("(\"\") can't be compared"), std::string::npos);
  EXPECT_NE(judged("${load.rows} == ${load.mode}").find("can't be compared"), std::string::npos);
  EXPECT_EQ(judged("${load.rows}"), "error: ${load.rows} is \"12\", expected true or false");
  EXPECT_EQ(judged("${load.rows} == true"),
            "error: ${load.rows} is \"12\", expected true or false");
  EXPECT_NE(judged("${load.absent} > 0").find("did not write that output"), std::string::npos);
}

// What is no condition must be refused with the column.
TEST(ConditionTest, RefusesWithColumn) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "column 1: ends too early"},
      {"${load.rows} >", "column 15: ends too early"},
      {"${load.rows} > 0 and", "column 21: ends too early"},
      {"(true", "column 6: expected \")\""},
      {"true)", "column 5: \")\" is too much"},
      {"true true", "column 6: \"true\" is too much"},
      {"${load.rows} = 12", "column 14: \"=\" is not known here; write =="},
      {"true && true", "column 6: \"&&\" is not known here; write and"},
      {"true || true", "column 6: \"||\" is not known here; write or"},
      {"${load.mode} == full", "column 17: \"full\" is no operand"},
      {"ä == 1", "column 1: \"ä == 1\" is no operand"},
      {"'ä' == full", "column 8: \"full\" is no operand"},
      {"${load.rows} > 010", "column 16: \"010\" is no operand"},
      {"${load.rows} > 1e2", "\"1e2\" is no operand"},
      {"${load.rows} > 0x10", "\"0x10\" is no operand"},
      {"${load.rows} > +1", "\"+1\" is no operand"},
      {"${load.rows} > .5", "\".5\" is no operand"},
      {"${load.rows} > 'x", "column 16: a quote begins here and does not end"},
      {"load.rows > 0", "\"load.rows\" is no operand"},
      {"$x > 0", "column 1: \"$x > 0\" is no placeholder"},
      {"${x > 0", "has no \"}\""},
      {"${x y} > 0", "column 1: placeholder ${x y}"},
      {"1 < 2 < 3", "column 6: a comparison of a comparison"},
      {"12", "12 alone is neither true nor false"},
      {"'x'", "x alone is neither true nor false"},
      {"5 > 'x'", "compares the number 5 with the text x"},
      {"${load.yes} > true", "only be compared with == and !="},
      {"not", "ends too early"},
      {"not_a", "\"not_a\" is no operand"},
      {"! true", "is no operand"},
      {std::string(5'000, ' '), "at most 4096 are accepted"}};
  for (const auto& [text, said] : cases) {
    const std::string got = judged(text);
    EXPECT_TRUE(got.starts_with("refused: ")) << text << " " << got;
    EXPECT_NE(got.find(said), std::string::npos) << text << " " << got;
  }
  std::string deep;
  for (int i = 0; i < 1'000; ++i) deep += "(";
  EXPECT_NE(judged(deep + "true").find("nested over"), std::string::npos);
  deep.clear();
  for (int i = 0; i < 1'000; ++i) deep += "not ";
  EXPECT_NE(judged(deep + "true").find("nested over"), std::string::npos);
  std::string wide = "true";
  for (int i = 0; i < 500; ++i) wide += " or 1>2";
  EXPECT_EQ(judged(wide), "true");
}

TEST(ConditionTest, ListsItsPlaceholders) {
  const auto condition = Condition::parse("${a} == 1 and not ${b.c} == ${plan_time:%Y}");
  ASSERT_TRUE(condition.ok());
  std::string sources;
  for (const TextPart& part : condition->placeholders()) sources += part.source;
  EXPECT_EQ(sources, "${a}${b.c}${plan_time:%Y}");
}

}  // namespace
}  // namespace baton::flow
