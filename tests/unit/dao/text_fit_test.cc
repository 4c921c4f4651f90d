#include "dao/text_fit.h"

#include <gtest/gtest.h>

#include "common/base/json.h"

namespace baton::dao {
namespace {

// Whatever the bytes and the limit, the result is valid UTF-8 within the limit.
TEST(TextFit, AnyBytesFitAnyLimit) {
  const std::string parts[] = {"a", "é", "€", "🚀", "\xff", "\xf0\x9f", std::string(1, '\0')};
  uint32_t seed = 1;
  for (int round = 0; round < 2'000; ++round) {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      seed = seed * 1'664'525 + 1'013'904'223;
      text += parts[(seed >> 16) % 7];
    }
    for (const size_t limit : {size_t{3}, size_t{10}, size_t{17}, size_t{30}, size_t{100}}) {
      std::string scratch;
      const std::string_view fit = fitText(text, limit, scratch);
      ASSERT_TRUE(isValidUtf8(fit)) << round;
      ASSERT_LE(fit.size(), limit) << round;
    }
  }
}

// Text that fits is not copied.
TEST(TextFit, FittingTextIsBorrowed) {
  const std::string text = "exit code 3 €";
  std::string scratch;
  EXPECT_EQ(fitText(text, text.size(), scratch).data(), text.data());
  EXPECT_EQ(fitText(text, text.size() - 1, scratch), "exit code 3…");
}

// Characters are counted, not bytes; the reason names column and limit.
TEST(TextFit, NamesAreLimitedInCharacters) {
  EXPECT_EQ(whyUnfit("name", "🚀🚀", 2), "");
  EXPECT_EQ(whyUnfit("name", "🚀🚀🚀", 2), "name has 3 characters, at most 2 are stored");
  EXPECT_EQ(whyUnfit("name", "abc", 2), "name has 3 characters, at most 2 are stored");
  EXPECT_EQ(whyUnfit("name", "\xff", 2), "name is not UTF-8");
  EXPECT_EQ(whyUnfitBytes("spec", "€", 3), "");
  EXPECT_EQ(whyUnfitBytes("spec", "€", 2), "spec has 3 bytes, at most 2 are stored");
}

}  // namespace
}  // namespace baton::dao
