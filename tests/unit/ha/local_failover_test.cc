#include "ha/local/local_failover.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "common/base/random.h"
#include "tests/support/fake_epoch_store.h"
#include "tests/support/fake_service.h"

namespace baton::test {
namespace {

constexpr Millis kLimit{10'000};

class LocalFailoverTest : public testing::Test {
 protected:
  LocalFailoverTest()
      : directory_(std::filesystem::temp_directory_path() / ("baton-local-" + randomHex(6))) {
    std::filesystem::create_directory(directory_);
  }
  ~LocalFailoverTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<ha::LocalFailover> make() {
    ha::LocalFailover::Options options;
    options.node_id = "local";
    options.address = "127.0.0.1:8080";
    options.data_directory = directory_;
    return std::make_unique<ha::LocalFailover>(
        options, clock_, [this]() -> Result<std::unique_ptr<dao::EpochStore>> {
          return std::unique_ptr<dao::EpochStore>(std::make_unique<FakeEpochStore>(table_));
        });
  }
  static bool active(const ha::LocalFailover& failover) {
    return failover.stats().state == ha::FailoverState::Active && failover.permission().may_act;
  }

  SystemClock clock_;
  const std::filesystem::path directory_;
  FakeEpochTable table_;
  FakeService service_;
};

// What casts doubt on the role while it is being taken is verified behind that, and the service,
// which may have been frozen, resumed.
TEST_F(LocalFailoverTest, DoubtDuringThePromotionIsVerifiedBehindIt) {
  const auto failover = make();
  service_.duringPromote([&] { failover->onHigherEpoch(9); });
  ASSERT_TRUE(failover->start(service_).ok());
  ASSERT_TRUE(table_.await([&] { return active(*failover); }, kLimit));
  EXPECT_EQ(service_.resumes(), 1);
  EXPECT_EQ(service_.promotes(), 1);
}

TEST_F(LocalFailoverTest, ServiceFailureDuringThePromotionReloads) {
  const auto failover = make();
  service_.duringPromote([&] { failover->onServiceFailure("a row was refused", false); });
  ASSERT_TRUE(failover->start(service_).ok());
  ASSERT_TRUE(table_.await([&] { return service_.promotes() == 2 && active(*failover); }, kLimit));
  EXPECT_EQ(service_.demotes(), 1);
  EXPECT_EQ(failover->permission().epoch, 2U);
}

// A service that can't go on with what it knows is loaded anew.
TEST_F(LocalFailoverTest, ServiceThatCannotResumeIsReloaded) {
  const auto failover = make();
  ASSERT_TRUE(failover->start(service_).ok());
  ASSERT_TRUE(table_.await([&] { return active(*failover); }, kLimit));
  service_.failResume(true);
  failover->onFenced(0);
  ASSERT_TRUE(table_.await([&] { return service_.promotes() == 2 && active(*failover); }, kLimit));
  EXPECT_EQ(service_.resumes(), 1);
}

// Alone on its machine it leads at once, under a new epoch each time.
TEST_F(LocalFailoverTest, LeadsAloneAndReleasesCleanly) {
  for (uint64_t epoch = 1; epoch <= 2; ++epoch) {
    const auto failover = make();
    ASSERT_TRUE(failover->start(service_).ok());
    ASSERT_TRUE(table_.await([&] { return active(*failover); }, kLimit));
    EXPECT_EQ(failover->permission().epoch, epoch);
    EXPECT_EQ(table_.row().state, dao::EpochState::Active);
    EXPECT_EQ(failover->leader().node_id, "local");
    failover->stop();
    failover->stop();
    EXPECT_FALSE(failover->permission().may_act);
    EXPECT_EQ(failover->stats().state, ha::FailoverState::Stopped);
    EXPECT_EQ(table_.row().state, dao::EpochState::Released);
    EXPECT_EQ(service_.drains(), static_cast<int>(epoch));
    EXPECT_EQ(service_.demotes(), static_cast<int>(epoch));
  }
}

// A second process on the same data is told who holds them.
TEST_F(LocalFailoverTest, SecondProcessIsRefusedByName) {
  const auto first = make();
  ASSERT_TRUE(first->start(service_).ok());
  const auto second = make();
  const Status refused = second->start(service_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::Conflict);
  EXPECT_NE(refused.error().message().find(directory_.string()), std::string::npos);
  EXPECT_NE(refused.error().message().find(std::to_string(::getpid())), std::string::npos);
  first->stop();
  EXPECT_TRUE(second->start(service_).ok());  // Free again.
}

TEST_F(LocalFailoverTest, MissingDirectoryIsRefused) {
  // Not created silently in a wrong place.
  std::filesystem::remove_all(directory_);
  EXPECT_EQ(make()->start(service_).error().code(), ErrorCode::InvalidArgument);
}

// A doubt stops everything until the row has been read.
TEST_F(LocalFailoverTest, DoubtedEpochIsVerified) {
  const auto failover = make();
  ASSERT_TRUE(failover->start(service_).ok());
  ASSERT_TRUE(table_.await([&] { return active(*failover); }, kLimit));
  table_.failWith(ErrorCode::Unavailable);
  failover->onFenced(7);
  EXPECT_FALSE(failover->permission().may_act);
  EXPECT_TRUE(table_.awaitUses(3, kLimit));
  EXPECT_FALSE(active(*failover));
  table_.failWith(std::nullopt);
  EXPECT_TRUE(table_.await([&] { return active(*failover); }, kLimit));
  EXPECT_EQ(service_.resumes(), 1);
  EXPECT_EQ(service_.demotes(), 0);
}

// Somebody moved the row behind our back: the role ends and is taken anew under a higher epoch.
TEST_F(LocalFailoverTest, MovedRowEndsTheRole) {
  const auto failover = make();
  ASSERT_TRUE(failover->start(service_).ok());
  ASSERT_TRUE(table_.await([&] { return active(*failover); }, kLimit));
  table_.stealRow(50);
  ASSERT_TRUE(table_.await([&] { return failover->permission().epoch == 51; }, kLimit));
  EXPECT_EQ(service_.demotes(), 1);
}

// The service asks for a reload and gets one.
TEST_F(LocalFailoverTest, ServiceFailureReloads) {
  const auto failover = make();
  ASSERT_TRUE(failover->start(service_).ok());
  ASSERT_TRUE(table_.await([&] { return active(*failover); }, kLimit));
  failover->onServiceFailure("test", false);
  ASSERT_TRUE(
      table_.await([&] { return active(*failover) && failover->permission().epoch == 2; }, kLimit));
  EXPECT_EQ(service_.promotes(), 2);
}

// What fails term after term does so at a bearable rate.
TEST_F(LocalFailoverTest, RepeatedFailureHoldsOff) {
  const auto failover = make();
  ASSERT_TRUE(failover->start(service_).ok());
  ASSERT_TRUE(table_.await([&] { return active(*failover); }, kLimit));
  const BootTime failed_at = clock_.bootNow();
  failover->onServiceFailure("a row was refused", true);
  ASSERT_TRUE(
      table_.await([&] { return active(*failover) && failover->permission().epoch == 2; }, kLimit));
  EXPECT_GE(clock_.bootNow() - failed_at, Millis(2000));
  EXPECT_TRUE(failover->stats().alarm.empty());
}

// Asked for, the role is given up in order and taken anew.
TEST_F(LocalFailoverTest, HandOverDrainsAndReloads) {
  const auto failover = make();
  failover->handOver("nobody leads yet");
  ASSERT_TRUE(failover->start(service_).ok());
  ASSERT_TRUE(table_.await([&] { return active(*failover); }, kLimit));
  EXPECT_EQ(failover->permission().epoch, 1U);
  failover->handOver("test");
  ASSERT_TRUE(
      table_.await([&] { return active(*failover) && failover->permission().epoch == 2; }, kLimit));
  EXPECT_EQ(service_.drains(), 1);
  EXPECT_EQ(service_.promotes(), 2);
}

}  // namespace
}  // namespace baton::test
