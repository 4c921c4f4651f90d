#include "common/base/version_number.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

// Versions are ordered number by number as SemVer has it, never as text.
TEST(VersionNumberTest, TheOrderIsThatOfSemanticVersioning) {
  const std::vector<const char*> rising = {"0",
                                           "0.1.0",
                                           "0.9.9",
                                           "0.10.0",
                                           "1.0.0-alpha",
                                           "1.0.0-alpha.1",
                                           "1.0.0-alpha.beta",
                                           "1.0.0-beta.2",
                                           "1.0.0-beta.11",
                                           "1.0.0-rc.1",
                                           "1.0.0",
                                           "1.0.1",
                                           "1.2",
                                           "1.2.0.1",
                                           "1.10",
                                           "2.0.0-20261130",
                                           "2.0.0",
                                           "10.0.0"};
  for (size_t i = 0; i < rising.size(); ++i) {
    for (size_t j = 0; j < rising.size(); ++j) {
      const auto a = VersionNumber::parse(rising[i]);
      const auto b = VersionNumber::parse(rising[j]);
      ASSERT_TRUE(a && b) << rising[i] << " " << rising[j];
      EXPECT_EQ(*a <=> *b, i <=> j) << rising[i] << " " << rising[j];
    }
  }
}

// What is missing counts as 0, and what stands behind "+" not at all.
TEST(VersionNumberTest, MissingNumbersAndBuildsMakeNoDifference) {
  EXPECT_EQ(VersionNumber::parse("1.2"), VersionNumber::parse("1.2.0"));
  EXPECT_EQ(VersionNumber::parse("1.2.0+abc.7"), VersionNumber::parse("1.2.0"));
  EXPECT_EQ(VersionNumber::parse("1.2.0-rc.01"), VersionNumber::parse("1.2.0-rc.1"));
}

// What is no version is refused instead of being compared by chance.
TEST(VersionNumberTest, OtherTextsAreNoVersions) {
  for (const char* text : {"", "test", "v1", "1.", ".1", "1..2", "1.2.3.4.5", "1.x", "1.2.0-",
                           "1.2.0-a..b", "1.2.0+", "1 2", "-1", "9999999999", "1.2.0-ä"}) {
    EXPECT_FALSE(VersionNumber::parse(text)) << text;
  }
}

}  // namespace
}  // namespace baton
