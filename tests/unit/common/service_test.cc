#include <gtest/gtest.h>

#include "common/service/composite_service.h"

namespace baton {
namespace {

// Notes what happens to it.
class Part final : public Service {
 public:
  Part(std::string name, std::vector<std::string>& story, bool fails = false)
      : Service(std::move(name)), story_(story), fails_(fails) {}

 private:
  Status onStart() override {
    story_.push_back("start " + name());
    if (fails_) return Error::unavailable("no luck");
    return {};
  }
  void onStop() noexcept override { story_.push_back("stop " + name()); }

  std::vector<std::string>& story_;
  const bool fails_;
};

using Story = std::vector<std::string>;

TEST(CompositeServiceTest, ChildrenStartInOrderAndStopInReverse) {
  // Aim: whoever uses another part starts behind it and stops before it.
  Story story;
  Part a("a", story), b("b", story), c("c", story);
  CompositeService whole("whole");
  whole.add(a);
  whole.add(b);
  whole.add(c);
  ASSERT_TRUE(whole.start().ok());
  EXPECT_TRUE(a.started() && b.started() && c.started());
  whole.stop();
  EXPECT_EQ(story, (Story{"start a", "start b", "start c", "stop c", "stop b", "stop a"}));
  whole.stop();
  EXPECT_EQ(story.size(), 6U);
}

TEST(CompositeServiceTest, AChildThatFailsStopsThoseBeforeItAndIsNamed) {
  // Aim: a failed start leaves nothing running, and later children are never touched.
  Story story;
  Part a("a", story), b("b", story, true), c("c", story);
  CompositeService whole("whole");
  whole.add(a);
  whole.add(b);
  whole.add(c);
  const Status started = whole.start();
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message().find("b: no luck"), std::string::npos);
  EXPECT_EQ(story, (Story{"start a", "start b", "stop b", "stop a"}));
  EXPECT_FALSE(whole.started());
}

TEST(ServiceTest, AServiceIsStartedOnceAndEveryStateIsLegalToStop) {
  // Aim: stopping twice, or before the start, does no harm; a stopped service stays stopped.
  Story story;
  Part part("a", story);
  part.stop();
  EXPECT_TRUE(story.empty());
  EXPECT_EQ(part.start().error().code(), ErrorCode::Conflict);
  Part other("b", story);
  ASSERT_TRUE(other.start().ok());
  EXPECT_EQ(other.start().error().code(), ErrorCode::Conflict);
  EXPECT_EQ(story, (Story{"start b"}));
}

}  // namespace
}  // namespace baton
