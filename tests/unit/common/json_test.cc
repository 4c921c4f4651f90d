#include "common/base/json.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

std::string messageOf(std::string_view text) {
  const auto parsed = parseJson(text);
  return parsed.ok() ? "accepted" : parsed.error().message();
}

TEST(JsonTest, DepthIsBoundedBeforeTheRecursiveParserSeesTheText) {
  // Aim: a million brackets must not exhaust the stack.
  EXPECT_TRUE(parseJson(std::string(32, '[') + std::string(32, ']')).ok());
  EXPECT_EQ(messageOf(std::string(33, '[') + std::string(33, ']')),
            "JSON nested deeper than 32 levels");
  EXPECT_EQ(messageOf(std::string(1'000'000, '[')), "JSON nested deeper than 32 levels");
  EXPECT_TRUE(parseJson("\"" + std::string(100, '[') + "\"").ok());
  EXPECT_TRUE(parseJson(R"(["\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["])").ok());
}

TEST(JsonTest, AKeyThatStandsTwiceIsRefusedByName) {
  // Aim: which of two values wins must never be a matter of the parser.
  EXPECT_EQ(messageOf(R"({"a":1,"b":2,"a":3})"), "JSON key \"a\" stands twice in one object");
  EXPECT_EQ(messageOf(R"({"x":{"k":1},"y":[{"k":1,"k":1}]})"),
            "JSON key \"k\" stands twice in one object");
  EXPECT_TRUE(parseJson(R"({"a":{"k":1},"b":{"k":2},"k":[{"k":3},{"k":4}]})").ok());
}

TEST(JsonTest, NothingIsHiddenBehindAZeroByte) {
  for (const std::string& text :
       {std::string("{}\0", 3), std::string("{\"a\":[1]\0,2]}", 13), std::string("\0{}", 3)}) {
    const auto json = parseJson(text);
    ASSERT_FALSE(json.ok());
    EXPECT_NE(json.error().message().find("a zero byte"), std::string::npos);
  }
}

TEST(JsonTest, AnErrorNamesLineAndColumn) {
  // Aim: a person finds the place.
  EXPECT_NE(messageOf("{\n  \"a\": tru\n}").find("line 2, column"), std::string::npos)
      << messageOf("{\n  \"a\": tru\n}");
  EXPECT_NE(messageOf("nope").find("line 1, column"), std::string::npos);
  EXPECT_NE(messageOf("").find("not JSON"), std::string::npos);
}

TEST(JsonTest, WhatIsNotOneWholeUtf8TextIsRefused) {
  // Aim: nothing behind the value, no comments, no broken text.
  EXPECT_NE(messageOf("{} {}"), "accepted");
  EXPECT_NE(messageOf("{}x"), "accepted");
  EXPECT_NE(messageOf("// c\n{}"), "accepted");
  EXPECT_NE(messageOf("{\"a\":1,}"), "accepted");
  EXPECT_NE(messageOf("\"\xff\""), "accepted");
  EXPECT_NE(messageOf("\"\xc0\xaf\""), "accepted");
  EXPECT_NE(messageOf("\"\xed\xa0\x80\""), "accepted");
}

TEST(JsonTest, TextAboveTheCapIsTooLarge) {
  // Aim: the cap is checked before anything is parsed.
  const JsonLimits small{.bytes_max = 10};
  EXPECT_EQ(parseJson("[1,2,3,4,5,6]", small).error().code(), ErrorCode::TooLarge);
  EXPECT_TRUE(parseJson("[1,2,3,4]", small).ok());
}

TEST(JsonTest, BytesThatAreNotUtf8AreWrittenAsAReplacement) {
  // Aim: output of a task can't make the master throw.
  EXPECT_EQ(dumpJson(Json("a\xff")), "\"a\xEF\xBF\xBD\"");
}

TEST(JsonReaderTest, TheFirstWrongMemberIsNamedWithPathValueAndExpectation) {
  // Aim: what is wrong, where, and what was expected; later members do not replace it.
  const Json json = Json::parse(R"({"max":-1,"name":7})");
  JsonReader reader(json, "retry");
  int64_t max = 5;
  std::string name = "kept";
  reader.integer("max", max, 0, 10).string("name", name);
  const Status status = reader.finish();
  EXPECT_EQ(status.error().field(), "retry.max");
  EXPECT_EQ(status.error().message(), "is -1, expected a whole number from 0 to 10");
  EXPECT_EQ(max, 5);
  EXPECT_EQ(name, "kept");
}

TEST(JsonReaderTest, AMemberNobodyAskedForIsRefusedUnlessTolerant) {
  // Aim: a typing error in a submission is no silent default; messages between versions may grow.
  const Json json = Json::parse(R"({"nmae":"x"})");
  std::string name;
  JsonReader strict(json);
  strict.string("name", name);
  const Status refused = strict.finish();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("nmae"), std::string::npos);
  JsonReader tolerant(json);
  tolerant.string("name", name);
  EXPECT_TRUE(tolerant.finishTolerant().ok());
}

TEST(JsonReaderTest, WrongTypesNullAndNumbersThatDoNotFitAreRefused) {
  // Aim: no value is bent into another type.
  const auto refused = [](const char* text, auto read) {
    const Json json = Json::parse(text);
    JsonReader reader(json);
    read(reader);
    return !reader.finish().ok();
  };
  int64_t number = 0;
  bool flag = false;
  std::string text;
  Millis time{0};
  std::vector<std::string> list;
  std::map<std::string, std::string> map;
  EXPECT_TRUE(refused(R"({"a":null})", [&](auto& r) { r.string("a", text); }));
  EXPECT_TRUE(refused(R"({"a":1})", [&](auto& r) { r.string("a", text); }));
  EXPECT_TRUE(refused(R"({"a":"abc"})", [&](auto& r) { r.string("a", text, 2); }));
  EXPECT_TRUE(refused(R"({"a":1})", [&](auto& r) { r.boolean("a", flag); }));
  EXPECT_TRUE(refused(R"({"a":"true"})", [&](auto& r) { r.boolean("a", flag); }));
  EXPECT_TRUE(refused(R"({"a":1.5})", [&](auto& r) { r.integer("a", number, 0, 9); }));
  EXPECT_TRUE(
      refused(R"({"a":18446744073709551615})", [&](auto& r) { r.integer("a", number, 0, 9); }));
  EXPECT_TRUE(refused(R"({"a":60})", [&](auto& r) { r.duration("a", time, Seconds(90)); }));
  EXPECT_TRUE(refused(R"({"a":"2m"})", [&](auto& r) { r.duration("a", time, Seconds(90)); }));
  EXPECT_TRUE(refused(R"({"a":["x",1]})", [&](auto& r) { r.strings("a", list, 9); }));
  EXPECT_TRUE(refused(R"({"a":["x","y"]})", [&](auto& r) { r.strings("a", list, 1); }));
  EXPECT_TRUE(refused(R"({"a":{"x":1}})", [&](auto& r) { r.stringMap("a", map, 9); }));
  EXPECT_TRUE(refused(R"([])", [&](auto& r) { r.string("a", text); }));
}

TEST(JsonReaderTest, LengthsCountCharactersAndCutsKeepThemWhole) {
  // Aim: a limit in characters is fair to every language, and a cut never makes broken text.
  EXPECT_EQ(utf8Length("äöü"), 3U);
  EXPECT_TRUE(isValidUtf8("待调度"));
  EXPECT_FALSE(isValidUtf8("\xe5\xbe"));
  const std::string cut = truncateUtf8("待调度待调度", 10);
  EXPECT_LE(cut.size(), 10U);
  EXPECT_TRUE(isValidUtf8(cut));
  EXPECT_TRUE(cut.ends_with("…"));
  EXPECT_EQ(truncateUtf8("short", 10), "short");
}

}  // namespace
}  // namespace baton
