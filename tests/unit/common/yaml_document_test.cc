#include "common/yaml/yaml_document.h"

#include <gtest/gtest.h>

#include <chrono>

#include "common/base/json.h"
#include "common/yaml/plain_scalar.h"

namespace baton {
namespace {

// "line:column path: message" of each issue, one a line.
std::string yamlIssues(const std::string& text, const YamlLimits& limits = {}) {
  std::vector<YamlIssue> issues;
  readYaml(text, limits, issues);
  std::string out;
  for (const YamlIssue& issue : issues) {
    out += fmt::format("{}:{} {}: {}\n", issue.mark.line, issue.mark.column, issue.path,
                       issue.message);
  }
  return out;
}

YamlNode yamlOf(const std::string& text) {
  std::vector<YamlIssue> issues;
  auto node = readYaml(text, {}, issues);
  EXPECT_TRUE(node.has_value() && issues.empty()) << text << yamlIssues(text);
  return node ? *node : YamlNode{};
}

// Scalars must stay as they were written, with their quotes and places, and maps in their order.
TEST(YamlDocumentTest, KeepsTextQuotesOrderAndPlaces) {
  const YamlNode root = yamlOf(
      "country: no\nver: 1.10\n\"mode\": '0755'\nat: 12:30\nlist: [a, {b: c}]\nn: null\ne: \"\"\n"
      "t: ~\nnothing:\nblock: |\n  x: [\n   \ty\n");
  ASSERT_EQ(root.kind, YamlNode::Kind::Map);
  EXPECT_EQ(root.entries[0].key, "country");
  EXPECT_EQ(root.entries[0].value.text, "no");
  EXPECT_FALSE(root.entries[0].value.quoted);
  EXPECT_EQ(root.find("ver")->value.text, "1.10");
  EXPECT_EQ(root.find("mode")->value.text, "0755");
  EXPECT_TRUE(root.find("mode")->value.quoted);
  EXPECT_EQ(root.find("at")->value.text, "12:30");
  const YamlNode& list = root.find("list")->value;
  EXPECT_EQ(list.items[1].mark, (YamlMark{5, 11}));
  EXPECT_EQ(list.items[1].entries[0].value.mark, (YamlMark{5, 15}));
  EXPECT_EQ(root.find("n")->value.kind, YamlNode::Kind::Null);
  EXPECT_EQ(root.find("n")->value.text, "null");
  EXPECT_EQ(root.find("e")->value.kind, YamlNode::Kind::Scalar);
  EXPECT_EQ(root.find("t")->value.text, "~");
  EXPECT_EQ(root.find("nothing")->value.text, "");
  EXPECT_EQ(root.find("nothing")->value.mark, (YamlMark{9, 1}));
  EXPECT_EQ(root.find("block")->value.text, "x: [\n \ty\n");
  EXPECT_EQ(root.find("absent"), nullptr);
}

// Columns are characters for people, not bytes; a byte order mark is none.
TEST(YamlDocumentTest, ColumnsCountCharacters) {
  EXPECT_EQ(yamlOf("\xef\xbb\xbfäöü: x\n").entries[0].value.mark, (YamlMark{1, 6}));
  EXPECT_EQ(yamlIssues("ä: {ü: !!x 1}\n").substr(0, 4), "1:8 ");
}

// JSON is read by the same reader, escapes of two halves included.
TEST(YamlDocumentTest, ReadsJson) {
  const YamlNode root = yamlOf(
      "{\n\t\"a\":1,\"b\":[true,null,\"x\\/\\u00e4\\n\\\"\\ud83d\\ude00\"],\"c\":{},\n"
      "  \"d\\\\\": \"\\\\ud83d\"}");
  EXPECT_EQ(root.find("a")->value.text, "1");
  EXPECT_EQ(root.find("a")->mark, (YamlMark{2, 2}));
  EXPECT_EQ(root.find("b")->value.items[1].kind, YamlNode::Kind::Null);
  EXPECT_EQ(root.find("b")->value.items[2].text, "x/ä\n\"😀");
  EXPECT_EQ(root.find("d\\")->value.text, "\\ud83d");
  EXPECT_EQ(yamlIssues("{\"a\": \"\\ud83d\"}").substr(0, 2), "1:");
  EXPECT_EQ(yamlIssues("{\"a\": \"\\ud83d\\ude00x\",\n\"b\": \"é\\ud83d\\ude00\", \"b\": 1}"),
            "2:23 b: stands twice, first in line 2\n");
  const std::string any = "q\"uo'te\\ \t\n\r\x01\x7f é😀 # : - {}[] %";
  EXPECT_EQ(yamlOf(dumpJson(Json{{any, any}})).entries[0].value.text, any);
}

// Each escape must be the character that YAML says, in UTF-8, also of a key; none may be another
// one in silence.
TEST(YamlDocumentTest, EscapesAreWhatYamlSays) {
  const std::pair<std::string, std::string> escapes[] = {{R"(\a)", "\x07"},
                                                         {R"(\b)", "\x08"},
                                                         {R"(\t)", "\t"},
                                                         {"\\\t", "\t"},
                                                         {R"(\n)", "\n"},
                                                         {R"(\v)", "\x0b"},
                                                         {R"(\f)", "\x0c"},
                                                         {R"(\r)", "\r"},
                                                         {R"(\e)", "\x1b"},
                                                         {R"(\ )", " "},
                                                         {R"(\")", "\""},
                                                         {R"(\/)", "/"},
                                                         {R"(\\)", "\\"},
                                                         {R"(\N)", "\xc2\x85"},
                                                         {R"(\_)", "\xc2\xa0"},
                                                         {R"(\L)", "\xe2\x80\xa8"},
                                                         {R"(\P)", "\xe2\x80\xa9"},
                                                         {R"(\x41)", "A"},
                                                         {R"(\x7f)", "\x7f"},
                                                         {R"(\x85)", "\xc2\x85"},
                                                         {R"(\xa0)", "\xc2\xa0"},
                                                         {R"(\xFF)", "ÿ"},
                                                         {R"(\u00e9)", "é"},
                                                         {R"(\u2028)", "\xe2\x80\xa8"},
                                                         {R"(\uffff)", "\xef\xbf\xbf"},
                                                         {R"(\U0001F600)", "😀"},
                                                         {R"(\U0010ffff)", "\xf4\x8f\xbf\xbf"}};
  for (const auto& [escape, character] : escapes) {
    for (const std::string before : {"", "a", "é", "😀", "\xc2\xa0", "\xc2\x85"}) {
      const std::string quoted = "\"" + before + escape + "b" + escape + escape + "\"";
      const YamlNode root = yamlOf(quoted + ": " + quoted + "\n");
      ASSERT_EQ(root.entries.size(), 1U) << escape;
      const std::string expected = before + character + "b" + character + character;
      EXPECT_EQ(root.entries[0].key, expected) << escape;
      EXPECT_EQ(root.entries[0].value.text, expected) << escape;
    }
  }
  // Only within double quotes.
  EXPECT_EQ(yamlOf(R"(a: '\N\_\n')").entries[0].value.text, R"(\N\_\n)");
  EXPECT_EQ(yamlOf("a: |-\n  \\N\\_\\n\n").entries[0].value.text, R"(\N\_\n)");
  for (const std::string wrong :
       {R"(\q)", R"(\xg1)", R"(\u12)", R"(\U0000004)", R"(\ud83d)", R"(\ud83d\ude00)", R"(\udc00)",
        R"(\U0000d800)", R"(\U00110000)"}) {
    EXPECT_NE(yamlIssues("a: \"" + wrong + "\"\n"), "") << wrong;
  }
  // Two halves are one character in JSON alone, not where somebody wrote those letters.
  EXPECT_EQ(yamlOf(R"(['a"b', '\ud83d\ude00'])").items[1].text, R"(\ud83d\ude00)");
}

// Empty lines at the end of a text in quotes are line ends, however many.
TEST(YamlDocumentTest, KeepsEmptyLinesOfTextsInQuotes) {
  const std::pair<std::string, std::string> cases[] = {{"'x\n  y'", "x y"},
                                                       {"'x\n\n  y'", "x\ny"},
                                                       {"'x\n  '", "x "},
                                                       {"'x\n\n  '", "x\n"},
                                                       {"'x \n\n\n\n  '", "x\n\n\n"},
                                                       {"'x\r\n\r\n\r\n  '", "x\n\n"},
                                                       {"'\n  '", " "},
                                                       {"'\n\n  '", "\n"},
                                                       {"'\n \n\t\n  '", "\n\n"},
                                                       {"'it''\n\n  '''", "it'\n'"},
                                                       {"'it''\n\n\n  '", "it'\n\n"},
                                                       {"\"x\\n\n\n\n  \"", "x\n\n\n"},
                                                       {"\"x\\n\\n\"", "x\n\n"},
                                                       {"\"x \\\n  y\"", "x y"},
                                                       {"\"x \\\n  \"", "x "},
                                                       {"\"x\\\n\n\n  \"", "x\n\n"},
                                                       {"\"x\\\r\n\r\n\r\n  \"", "x\n\n"},
                                                       {"\"x\\  \n\n\n  \"", "x \n\n"},
                                                       {"\"\\N\n\n\n  \"", "\xc2\x85\n\n"},
                                                       {"\"\\\"\n\n\n  \"", "\"\n\n"}};
  for (const auto& [text, expected] : cases) {
    const YamlNode root = yamlOf("a: {k: " + text + "}\nb: " + text + "\nc: 1\n");
    ASSERT_EQ(root.entries.size(), 3U) << text;
    EXPECT_EQ(root.entries[0].value.find("k")->value.text, expected) << text;
    EXPECT_EQ(root.entries[1].value.text, expected) << text;
  }
  const std::pair<std::string, std::string> blocks[] = {
      {"|+", "x\n\n\n"}, {"|", "x\n"}, {"|-", "x"}, {">", "x\n"}, {">-", "x"}, {">2", "x\n"}};
  for (const auto& [head, expected] : blocks) {
    EXPECT_EQ(yamlOf("a: " + head + "\n  x\n\n\nb: 1\n").entries[0].value.text, expected) << head;
  }
  // Blanks without a line end, as an editor leaves them, are no part of a folded text.
  const std::pair<std::string, std::string> ends[] = {
      {">\n  x\n  ", "x\n"},   {">\n  x\n  y\n  ", "x y\n"}, {">\n  x\n   y\n  ", "x\n y\n"},
      {">\n  x \n  ", "x \n"}, {">-\n  x\n  ", "x"},         {"> # a-b\n  x\n  ", "x\n"},
      {">\n  x\n ", "x\n"},    {">-\n  x\n     ", "x\n   "}, {"|\n  x\n  ", "x\n"}};
  for (const auto& [text, expected] : ends) {
    EXPECT_EQ(yamlOf("a: " + text).entries[0].value.text, expected) << text;
  }
  EXPECT_EQ(yamlOf("- >-\n  x \n- y\n  ").items[0].text, "x ");
}

// A line of a text may begin as a directive does.
TEST(YamlDocumentTest, APercentSignIsNoDirectiveWithinATextOrIndented) {
  EXPECT_EQ(yamlOf("a: 'x\n%y'\nb: \"x\n%y\"\n").entries[1].value.text, "x %y");
  EXPECT_EQ(yamlOf("a: |\n  %x\nb:\n- 1\n").entries[0].value.text, "%x\n");
}

// Each thing that is refused must be named with its place.
TEST(YamlDocumentTest, RefusesByNameAndPlace) {
  const std::pair<std::string, std::string> cases[] = {
      {"a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", "5:3 b.c: stands twice, first in line 3\n"},
      {"{\"a\": 1, \"a\": 2}", "1:10 a: stands twice, first in line 1\n"},
      {"a: &x {b: 1}\nc:\n  <<: *x\n", "3:3 c.<<: merge keys (\"<<\") are not accepted"},
      {"a: !!python/object:os.system x\n", "1:4 a: has the tag !!python/object:os.system; tags"},
      {"a: !!python/none\n", "1:4 a: has the tag !!python/none"},
      {"a: !secret x\n", "1:4 a: has the tag !secret"},
      {"a: [!!set {x: 1}]\n", "1:5 a[0]: has the tag !!set"},
      {"? [a, b]\n: c\n", "1:3 : a key is a list or a map"},
      {"a: 1\n---\nb: 2\n", "has a second document"},
      {"~: 1\n", "a key is empty, null"},
      {"null: 1\n", "a key is empty, null"},
      {"a: &x [*x]\n", "an alias stands inside its own anchor"},
      {"a: *x\n", "is not YAML"},
      {"a:\n\tb: 1\n", "the line begins with a tab; indent with blanks"},
      {"a: [\n", "is not YAML"},
      {"a: \"x\n", "1:4 a: a quote begins here and does not end"},
      {"a: 'it''s\nb: 2\n", "1:4 a: a quote begins here and does not end"},
      {"{\"a\": \"x\\\"}\n", "or a bracket has no end"},
      {"a: >+\n  x\n\nb: 1\n", "1:4 a: is folded and keeps its line ends (\">+\"), which is not"},
      {"a:\n  - >2+ # c\n    x\n", "2:5 a[0]: is folded and keeps its line ends"},
      {"a: b: c\n", "1:5 : is not YAML"},
      {"a: \"x\\0\"\n", "1:4 a: has a NUL character"},
      {"# x\n\n%YAML 1.1\n---\na: 1\n", "3:1 : begins with \"%\""},
      {"%a: 1", "1:1 : begins with \"%\"; directives"},
      {"a: |\n  date\n%Y\n", "3:1 : begins with \"%\"; directives"},
      {"a: 1\n%b: 2\n", "2:1 : begins with \"%\""},
      {"a: 'x\n\n  y'\n%b\nc: 3\n", "4:1 : begins with \"%\""},
      {"ab\n\x04", "2:1 : has the control character 0x04"},
      {"x: 1\na: \xff\n", "2:4 : is no text in UTF-8"},
      {std::string("a: \0x", 5), "1:4 : has the control character 0x00"},
      {"{" + std::string(2'000, 'k') + ": 1}\n", "over 1024 characters"},
      {std::string(2'000'000, ' '), "is over 1048576 bytes"}};
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(yamlIssues(text).find(expected), std::string::npos) << text.substr(0, 60) << "\n"
                                                                  << yamlIssues(text);
  }
}

// Aliases stand for copies, and a bomb of them must be refused before it grows.
TEST(YamlDocumentTest, AliasesAreCopiesWithinTheBudget) {
  const YamlNode root = yamlOf("a: &x {k: [1, 2]}\nb: *x\nc: &y t\nd: *y\n");
  EXPECT_EQ(root.find("b")->value.find("k")->value.items[1].text, "2");
  EXPECT_EQ(root.find("d")->value.text, "t");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i,
                        i - 1);
  }
  EXPECT_NE(yamlIssues(bomb).find("has over 200000 values"), std::string::npos);
  std::string heavy = "a0: &a0 " + std::string(1'000, 'x') + "\nb: [";
  for (int i = 0; i < 2'000; ++i) heavy += "*a0, ";
  EXPECT_NE(yamlIssues(heavy + "1]\n").find("has over 1048576 bytes of values"), std::string::npos);
  std::string lists = "a0: &a0 [" + std::string(10'000, 'x') + "]\n";
  for (int i = 1; i < 3; ++i) {
    lists +=
        fmt::format("a{0}: &a{0} {{k: *a{1}, l: [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}]}}\n", i, i - 1);
  }
  EXPECT_TRUE(yamlIssues(lists).empty()) << yamlIssues(lists);
  lists += "b: [*a2, *a2, *a2]\n";
  EXPECT_NE(yamlIssues(lists).find("has over 1048576 bytes of values"), std::string::npos);
  std::string tower = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) tower += fmt::format("a{0}: &a{0} [*a{1}]\n", i, i - 1);
  EXPECT_NE(yamlIssues(tower).find("nested too deep"), std::string::npos);
}

// Whatever is nested, wide or long must be judged at once, not after seconds or a crash.
TEST(YamlDocumentTest, HostileTextsAreJudgedQuickly) {
  const auto repeat = [](std::string_view part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += part;
    return out;
  };
  std::string stairs;
  for (int i = 0; i < 400; ++i) stairs += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& text :
       {repeat("[", 100'000), repeat("{a:", 100'000), repeat("{", 100'000), repeat("- ", 100'000),
        repeat("? ", 100'000), repeat(": ", 100'000), repeat("[{", 100'000), repeat("&a ", 100'000),
        repeat("!a ", 100'000), repeat("a: ", 100'000), stairs, "{" + repeat("? a,", 200'000) + "}",
        repeat("[a, ", 100'000), repeat("- - ? ", 100'000)}) {
    EXPECT_NE(yamlIssues(text), "") << text.substr(0, 20);
  }
  for (const std::string& text :
       {repeat("\n", 100'000), repeat("- \n", 100'000), repeat("#\n", 100'000),
        "[" + repeat("\"ä\",", 100'000) + "]", "[" + repeat("{? a, b: }, ", 20'000) + "]",
        repeat("-", 100'000), "a: \"" + repeat("x ", 100'000) + "\""}) {
    EXPECT_EQ(yamlIssues(text), "") << text.substr(0, 20);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST(YamlDocumentTest, PlainScalars) {
  for (const char* text : {"0", "7", "120"}) EXPECT_TRUE(plainInteger(text)) << text;
  for (const char* text : {"", "010", "1e2", "0x10", "yes", "+1", "-1", "1_0", " 1", "1.0"}) {
    EXPECT_FALSE(plainInteger(text)) << text;
  }
  EXPECT_EQ(plainNumber("1.5"), 1.5);
  EXPECT_EQ(plainNumber("2"), 2.0);
  for (const char* text : {".5", "1.", "1.5e3", "01.5", "inf", "nan", "1.5.2"}) {
    EXPECT_FALSE(plainNumber(text)) << text;
  }
  EXPECT_EQ(plainBytes("64MB"), 64 << 20);
  EXPECT_EQ(plainBytes("2G"), int64_t{2} << 30);
  EXPECT_EQ(plainBytes("7"), 7);
  for (const char* text : {"", "B", "7B", "M", "2 MB", "2mb", "0x1M", "9999999999GB"}) {
    EXPECT_FALSE(plainBytes(text)) << text;
  }
  EXPECT_EQ(plainDuration("1h30m"), Millis(5'400'000));
  EXPECT_FALSE(plainDuration("010s"));
}

}  // namespace
}  // namespace baton
