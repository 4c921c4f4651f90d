#include "master/state/async_updater.h"

#include "tests/unit/master/master_fixture.h"

namespace baton::test {
namespace {

using R = RunnerStatus;

class AsyncUpdaterTest : public MasterTest {
 protected:
  void SetUp() override { begin(); }
};

TEST_F(AsyncUpdaterTest, EveryRunnersLastBeatIsWrittenHoweverManyThereAre) {
  // Aim: a turn is bounded, and whom it leaves out comes next, though the others beat again.
  constexpr size_t kRunners = 2'500;
  const auto beatAll = [&] {
    for (size_t i = 0; i < kRunners; ++i) {
      rig_->dispatcher.post([this, request = beat(R::Idle, "w:" + std::to_string(i))] {
        rig_->heartbeats.handle(request, [](const auto&) {});
      });
    }
    settle();
  };
  beatAll();
  clock_.advance(Seconds(1));
  const WallTime since = clock_.wallNow();
  beatAll();
  for (int i = 0; i < 12; ++i) {
    clock_.advance(Millis(500));
    settle();
  }
  size_t written = 0;
  for (const auto& [id, row] : database_.rows().runners) written += row.last_seen >= since ? 1 : 0;
  EXPECT_EQ(written, kRunners);
}

}  // namespace
}  // namespace baton::test
