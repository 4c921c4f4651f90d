#include "common/base/nearest_word.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

// Aim: a slip of the keys is recognised, and another word is not taken for one.
TEST(NearestWordTest, FewChangesMakeTheWordThatWasMeant) {
  const std::string_view words[] = {"timeout", "weight", "when"};
  EXPECT_EQ(nearestWord("timout", words), "timeout");
  EXPECT_EQ(nearestWord("tasks", words), "");
  EXPECT_EQ(nearestWord("x", words), "");
  EXPECT_EQ(hintFor("wegiht", words), "; did you mean weight?");
  EXPECT_EQ(hintFor("tasks", words), "");
}

}  // namespace
}  // namespace baton
