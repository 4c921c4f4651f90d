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

TEST_F(AsyncUpdaterTest, IdempotencyKeysAreForgottenAfterADay) {
  // Aim: the table does not grow for ever, also when there is a backlog; younger keys stay.
  constexpr int kOld = 2'500;
  for (int i = 0; i <= kOld; ++i) {
    IdempotencyRecord row;
    row.principal = "p";
    row.key = std::to_string(i);
    row.created_at = clock_.wallNow() - kIdempotencyKept - Seconds(1);
    if (i == kOld) row.created_at += Seconds(60);
    database_.direct().idempotency[{row.principal, row.key}] = row;
  }
  pass(Seconds(8));
  EXPECT_EQ(database_.rows().idempotency.size(), 1U);
  EXPECT_TRUE(database_.rows().idempotency.contains({"p", std::to_string(kOld)}));
}

}  // namespace
}  // namespace baton::test
