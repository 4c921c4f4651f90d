#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "common/base/json.h"
#include "common/base/random.h"
#include "ha/zk/zk_address.h"
#include "tests/integration/ha/ha_fixture.h"
#include "tests/integration/ha/raw_client.h"
#include "tests/support/tcp_proxy.h"

namespace baton::test {

ZookeeperServer& sharedZookeeper() {
  static ZookeeperServer server(BATON_SOURCE_DIR "/scripts/private_zookeeper.sh");
  return server;
}

namespace {

constexpr Millis kSession{2000};
constexpr Millis kLong{15'000};

// The server makes a session's password from its id (SessionTracker's constant and Java's
// generator), so that a test can speak for a session it did not open.
clientid_t sessionOf(int64_t id) {
  clientid_t session{};
  session.client_id = id;
  constexpr uint64_t kMask = (uint64_t{1} << 48) - 1;
  uint64_t seed = ((static_cast<uint64_t>(id) ^ 0xB3415C00ULL) ^ 0x5DEECE66DULL) & kMask;
  for (size_t i = 0; i < 16;) {
    seed = (seed * 0x5DEECE66DULL + 0xB) & kMask;
    auto bits = static_cast<int32_t>(seed >> 16);
    for (int n = 0; n < 4; ++n, bits >>= 8) session.passwd[i++] = static_cast<char>(bits);
  }
  return session;
}

bool oneLeads(const TestMaster& a, const TestMaster& b) {
  return (a.active() && b.standby()) || (a.standby() && b.active());
}

class ZkFailoverTest : public testing::Test {
 protected:
  std::string hosts() const { return sharedZookeeper().connect(); }
  // A cluster of the run's own.
  const std::string& cluster() const { return cluster_; }
  std::string root() const { return ha::ZkPaths({}, cluster()).root; }
  void init(const std::string& where = {}) {
    const Status status = initTestCluster(where.empty() ? hosts() : where, table_, cluster());
    ASSERT_TRUE(status.ok()) << status.text();
  }
  std::unique_ptr<TestMaster> master(const std::string& node, const std::string& where = {}) {
    auto made =
        std::make_unique<TestMaster>(node, where.empty() ? hosts() : where, table_, cluster());
    EXPECT_TRUE(made->started.ok()) << made->started.text();
    return made;
  }
  // m1 leads, m2 stands by.
  void makePair(const std::string& where = {}) {
    m1_ = master("m1", where);
    ASSERT_TRUE(eventually([&] { return m1_->active(); }, kLong)) << m1_->failover->stats().alarm;
    m2_ = master("m2");
    ASSERT_TRUE(eventually([&] { return m2_->standby(); }, kLong));
  }

  const std::string cluster_ = "it-" + randomHex(6);
  FakeEpochTable table_;
  std::unique_ptr<TestMaster> m1_, m2_;
};

// The first master leads under epoch 1, the second stands by and knows the leader.
TEST_F(ZkFailoverTest, FirstMasterLeadsAndSecondStandsBy) {
  init();
  makePair();
  EXPECT_EQ(m1_->epoch(), 1U);
  EXPECT_TRUE(m1_->mayAct());
  EXPECT_FALSE(m2_->mayAct());
  EXPECT_TRUE(eventually([&] { return m2_->failover->leader().known; }, kLong));
  EXPECT_EQ(m2_->failover->leader().node_id, "m1");
  EXPECT_EQ(m2_->failover->leader().address, "m1:8080");
  EXPECT_TRUE(eventually([&] { return m1_->failover->members().size() == 2; }, kLong));
  EXPECT_EQ(m1_->failover->stats().negotiated_session_ms, kSession.count());
  EXPECT_EQ(table_.row().state, dao::EpochState::Active);
  EXPECT_EQ(m2_->service.promotes(), 0);
  RawClient raw(hosts());
  EXPECT_LT(raw.get(root() + "/lock").size(), 1024U);
  const Result<Json> lock = parseJson(raw.get(root() + "/lock"));
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(lock->at("id"), "m1");
  EXPECT_EQ(lock->at("epoch"), 1);
  EXPECT_EQ(lock->at("reason"), "first");
  EXPECT_EQ(lock->at("pid"), ::getpid());
}

// A clean stop drains, ends the role and gives the lock back: no session timeout is waited for.
TEST_F(ZkFailoverTest, CleanStopHandsTheRoleOverAtOnce) {
  init();
  makePair();
  const auto begin = std::chrono::steady_clock::now();
  m1_->failover->stop();
  ASSERT_TRUE(eventually([&] { return m2_->active(); }, kLong));
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took, kSession / 2);
  EXPECT_EQ(m1_->service.drains(), 1);
  EXPECT_EQ(m1_->service.demotes(), 1);
  EXPECT_EQ(m1_->state(), ha::FailoverState::Stopped);
  EXPECT_FALSE(m1_->mayAct());
  EXPECT_EQ(m2_->epoch(), 2U);
  m1_->failover->stop();  // Any number of times.
  EXPECT_EQ(m1_->service.demotes(), 1);
}

// A session that the server ends costs the role; the other takes over under a higher epoch.
TEST_F(ZkFailoverTest, ExpiredSessionHandsTheRoleOver) {
  init();
  makePair();
  RawClient raw(hosts());
  const int64_t session = raw.owner(root() + "/lock");
  // The victim comes back at once and takes its session along: whoever closes first wins.
  ASSERT_TRUE(eventually(
      [&] {
        { RawClient thief(hosts(), sessionOf(session)); }
        return raw.owner(root() + "/lock") != session;
      },
      kLong));
  ASSERT_TRUE(eventually([&] { return m2_->active() && m1_->standby(); }, kLong))
      << ha::toString(m1_->state()) << " " << ha::toString(m2_->state());
  EXPECT_EQ(m2_->epoch(), 2U);
  EXPECT_GE(m1_->failover->stats().freezes, 1U);
  EXPECT_EQ(m1_->service.demotes(), 1);
}

// A deleted lock means "another master, now": the leader steps down and the other takes over.
TEST_F(ZkFailoverTest, DeletedLockHandsTheRoleOver) {
  init();
  makePair();
  ASSERT_TRUE(eventually([&] { return m1_->failover->members().size() == 2; }, kLong));
  RawClient raw(hosts());
  ASSERT_EQ(raw.remove(root() + "/lock"), ZOK);
  ASSERT_TRUE(eventually([&] { return m2_->active() && m1_->standby(); }, kLong));
  EXPECT_EQ(m2_->epoch(), 2U);
}

// Automatic failover is off while an operator's node says so.
TEST_F(ZkFailoverTest, PauseKeepsStandbysFromContending) {
  init();
  makePair();
  RawClient raw(hosts());
  ASSERT_EQ(raw.create(root() + "/control/pause", "{}"), ZOK);
  m1_->failover->stop();
  EXPECT_FALSE(eventually([&] { return !m2_->standby(); }, Millis(1000)));
  ASSERT_EQ(raw.remove(root() + "/control/pause"), ZOK);
  EXPECT_TRUE(eventually([&] { return m2_->active(); }, kLong));
}

// BUG-076: without ZooKeeper the leader goes on under its epoch row; afterwards one leads.
TEST_F(ZkFailoverTest, LeaderOutlivesTheEnsemble) {
  ZookeeperServer own(BATON_SOURCE_DIR "/scripts/private_zookeeper.sh");
  init(own.connect());
  m1_ = master("m1", own.connect());
  ASSERT_TRUE(eventually([&] { return m1_->active(); }, kLong));
  m2_ = master("m2", own.connect());
  ASSERT_TRUE(eventually([&] { return m2_->standby(); }, kLong));
  own.stopMember(1);
  ASSERT_TRUE(eventually([&] { return m1_->state() == ha::FailoverState::ActiveIsolated; }, kLong));
  EXPECT_TRUE(m1_->mayAct());
  EXPECT_NE(m1_->failover->stats().alarm, "");
  // Longer than the session lasts.
  EXPECT_FALSE(eventually([&] { return !m1_->mayAct() || m2_->mayAct(); }, kSession * 2));
  own.startMember(1);
  ASSERT_TRUE(eventually([&] { return oneLeads(*m1_, *m2_); }, kSession + Millis(5000)))
      << ha::toString(m1_->state()) << " " << ha::toString(m2_->state());
  const TestMaster& leader = m1_->active() ? *m1_ : *m2_;
  EXPECT_EQ(leader.epoch(), table_.row().epoch);
}

// BUG-091: a rolling restart of the ensemble changes no role, and the watches still work after it.
TEST_F(ZkFailoverTest, RollingRestartChangesNoRoleAndKeepsTheWatches) {
  ZookeeperServer own(BATON_SOURCE_DIR "/scripts/private_zookeeper.sh", 3);
  init(own.connect());
  m1_ = master("m1", own.connect());
  ASSERT_TRUE(eventually([&] { return m1_->active(); }, kLong));
  m2_ = master("m2", own.connect());
  ASSERT_TRUE(eventually([&] { return m2_->standby(); }, kLong));
  for (int member = 1; member <= 3; ++member) {
    own.stopMember(member);
    own.startMember(member);
    ASSERT_TRUE(eventually(
        [&] {
          return m1_->active() && m1_->failover->stats().session_state == "connected" &&
                 m2_->failover->stats().session_state == "connected";
        },
        kLong))
        << member;
  }
  EXPECT_EQ(m1_->service.demotes(), 0);
  EXPECT_EQ(m1_->epoch(), 1U);
  RawClient raw(own.connect());
  ASSERT_EQ(raw.remove(root() + "/lock"), ZOK);
  EXPECT_TRUE(eventually([&] { return m2_->active(); }, kSession + Millis(2000)));
}

// BUG-073: short cuts of the leader's link, same session: it leads again each time, and nobody
// else ever does.
TEST_F(ZkFailoverTest, ShortCutsChangeNothing) {
  TcpProxy proxy(sharedZookeeper().port());
  init();
  makePair(proxy.address());
  for (int i = 0; i < 20; ++i) {
    proxy.cut();
    EXPECT_FALSE(eventually([&] { return m2_->mayAct(); }, kSession / 6));
    proxy.heal();
    ASSERT_TRUE(eventually(
        [&] { return m1_->active() && m1_->failover->stats().session_state == "connected"; },
        kSession))
        << i;
  }
  EXPECT_EQ(m1_->epoch(), 1U);
  EXPECT_EQ(m1_->service.demotes(), 0);
}

// A silent link ends the session: the other takes over, and the old leader notices by the row
// while it still cannot know from ZooKeeper.
TEST_F(ZkFailoverTest, SilencedLeaderIsSuperseded) {
  TcpProxy proxy(sharedZookeeper().port());
  init();
  makePair(proxy.address());
  proxy.silence();
  ASSERT_TRUE(eventually([&] { return m2_->active(); }, kLong));
  EXPECT_TRUE(eventually([&] { return !m1_->mayAct(); }, Millis(1500)));
  proxy.heal();
  EXPECT_TRUE(eventually([&] { return m1_->standby(); }, kLong));
  EXPECT_EQ(m2_->epoch(), 2U);
}

// A committed acquire whose answer is lost: the lock is read back as ours instead of being
// taken for lost or asked for again.
TEST_F(ZkFailoverTest, LostAnswerToAcquireIsReadBack) {
  TcpProxy proxy(sharedZookeeper().port());
  init();
  m2_ = master("m2");
  ASSERT_TRUE(eventually([&] { return m2_->active(); }, kLong));
  m1_ = master("m1", proxy.address());
  ASSERT_TRUE(eventually([&] { return m1_->standby(); }, kLong));
  // m1 learns that the lock is gone, but never that its own request succeeded. The delay of the
  // client's bytes leaves time to begin swallowing in between.
  table_.failWith(ErrorCode::Unavailable);  // Keeps it in CONTENDING until then.
  m2_->failover->stop();
  EXPECT_TRUE(eventually(
      [&] {
        return m1_->state() == ha::FailoverState::Contending ||
               !m1_->failover->stats().alarm.empty();
      },
      kLong));
  proxy.swallowReplies();
  table_.failWith(std::nullopt);
  RawClient raw(hosts());
  ASSERT_TRUE(eventually([&] { return raw.exists(root() + "/lock"); }, kLong));
  ASSERT_TRUE(eventually([&] { return m1_->state() == ha::FailoverState::Verifying; }, kLong));
  const std::string lock = raw.get(root() + "/lock");
  proxy.cut();
  proxy.heal();
  ASSERT_TRUE(eventually([&] { return m1_->active(); }, kLong)) << ha::toString(m1_->state());
  EXPECT_EQ(raw.get(root() + "/lock"), lock);  // The same attempt.
  EXPECT_EQ(m1_->epoch(), 2U);
}

// BUG-074: a database that hangs at the takeover delays it; the master stays a candidate.
TEST_F(ZkFailoverTest, DatabaseOutageAtTheTakeoverIsSurvived) {
  init();
  makePair();
  m2_->service.failPromote(true);
  m1_->failover->stop();
  ASSERT_TRUE(eventually([&] { return m2_->service.promotes() == 1 && m2_->standby(); }, kLong));
  RawClient raw(hosts());
  EXPECT_TRUE(eventually([&] { return !raw.exists(root() + "/lock"); }, kLong));
  table_.failWith(ErrorCode::Unavailable);
  EXPECT_FALSE(eventually([&] { return m2_->mayAct(); }, Millis(3000)));
  m2_->service.failPromote(false);
  table_.failWith(std::nullopt);
  EXPECT_TRUE(eventually([&] { return m2_->active(); }, Millis(10'000)));
}

// BUG-096: the path of the connect string becomes the first part of the root, with all parents.
TEST_F(ZkFailoverTest, NestedRootIsCreatedAndUsedAgain) {
  const std::string where = hosts() + "/deep/er/path";
  const ha::ZkPaths paths("/deep/er/path", cluster());
  for (int round = 0; round < 2; ++round) {
    init(where);
    m1_ = master("m1", where);
    ASSERT_TRUE(eventually([&] { return m1_->active(); }, kLong)) << m1_->failover->stats().alarm;
    RawClient raw(hosts());
    EXPECT_NE(raw.owner(paths.lock), 0);
    m1_.reset();
    EXPECT_FALSE(raw.exists(paths.lock));
    // The member's node goes with the session, which is closed behind the stop.
    EXPECT_TRUE(eventually([&] { return raw.count(paths.masters) == 1; }, kLong));
  }
  EXPECT_EQ(table_.row().epoch, 2U);
}

// The wrong database behind the right ensemble: never contend, say what is wrong.
TEST_F(ZkFailoverTest, ForeignClusterIsRefused) {
  init();
  FakeEpochTable other("guid-2");
  TestMaster stranger("m9", hosts(), other, cluster());
  ASSERT_TRUE(
      eventually([&] { return stranger.state() == ha::FailoverState::FatalConfig; }, kLong));
  EXPECT_NE(stranger.failover->stats().alarm.find("guid-1"), std::string::npos);
  EXPECT_NE(stranger.failover->stats().alarm.find("guid-2"), std::string::npos);
  EXPECT_EQ(other.row().epoch, 0U);
  EXPECT_EQ(initTestCluster(hosts(), other, cluster()).error().code(), ErrorCode::Conflict);
}

// An empty ensemble with a database that has had leaders: refused until somebody adopts it.
TEST_F(ZkFailoverTest, WipedEnsembleNeedsAdopting) {
  dao::EpochRow row;
  row.epoch = 41;
  table_.setRow(row);
  EXPECT_EQ(initTestCluster(hosts(), table_, cluster()).error().code(), ErrorCode::Conflict);
  {
    const auto refused = master("m1");
    ASSERT_TRUE(
        eventually([&] { return refused->state() == ha::FailoverState::FatalConfig; }, kLong));
    EXPECT_NE(refused->failover->stats().alarm.find("--adopt"), std::string::npos);
  }
  ASSERT_TRUE(initTestCluster(hosts(), table_, cluster(), /*adopt=*/true).ok());
  m1_ = master("m1");
  ASSERT_TRUE(eventually([&] { return m1_->active(); }, kLong));
  EXPECT_EQ(m1_->epoch(), 42U);
}

// What may change only with all masters stopped must see every master, whatever it is doing.
TEST_F(ZkFailoverTest, RunningMastersAreSeen) {
  init();
  const auto demandStopped = [this] {
    return initTestCluster(hosts(), table_, cluster(), false, {}, /*demand_stopped=*/true);
  };
  EXPECT_TRUE(demandStopped().ok());
  m1_ = master("m1");
  ASSERT_TRUE(eventually([&] { return m1_->active(); }, kLong));
  EXPECT_EQ(demandStopped().error().code(), ErrorCode::Conflict);
  {
    const auto standby = master("m2");
    ASSERT_TRUE(eventually([&] { return standby->standby(); }, kLong));
    m1_.reset();
    ASSERT_TRUE(eventually([&] { return standby->active(); }, kLong));
    EXPECT_NE(demandStopped().text().find("m2"), std::string::npos);
  }
  // The end of a session is not waited for.
  EXPECT_TRUE(eventually([&] { return demandStopped().ok(); }, kLong));
}

// With digest credentials the nodes are the owner's alone; a wrong password is a configuration
// fault, not a hot loop.
TEST_F(ZkFailoverTest, WrongCredentialsAreFatal) {
  ASSERT_TRUE(initTestCluster(hosts(), table_, cluster(), false, "baton:right").ok());
  TestMaster good("m1", hosts(), table_, cluster(), "baton:right");
  ASSERT_TRUE(eventually([&] { return good.active(); }, kLong));
  TestMaster bad("m2", hosts(), table_, cluster(), "baton:wrong");
  ASSERT_TRUE(eventually([&] { return bad.state() == ha::FailoverState::FatalConfig; }, kLong));
  RawClient anybody(hosts());
  EXPECT_EQ(anybody.remove(root() + "/lock"), ZNOAUTH);
  EXPECT_TRUE(good.active());
}

// Whoever names another epoch makes the leader stop until the row has proven it right.
TEST_F(ZkFailoverTest, DoubtedEpochIsVerified) {
  init();
  makePair();
  m1_->failover->onHigherEpoch(1);  // Not higher.
  EXPECT_EQ(m1_->failover->stats().freezes, 0U);
  m1_->failover->onHigherEpoch(7);
  ASSERT_TRUE(eventually([&] { return m1_->service.resumes() == 1 && m1_->active(); }, kLong));
  EXPECT_TRUE(eventually([&] { return m1_->mayAct(); }, kLong));
  EXPECT_EQ(m1_->service.demotes(), 0);
  table_.stealRow(9);
  m1_->failover->onFenced(9);
  EXPECT_FALSE(m1_->mayAct());  // At once.
  ASSERT_TRUE(eventually([&] { return m1_->service.demotes() == 1; }, kLong));
  ASSERT_TRUE(eventually([&] { return oneLeads(*m1_, *m2_); }, kLong));
  EXPECT_EQ((m1_->active() ? m1_ : m2_)->epoch(), 10U);
}

TEST_F(ZkFailoverTest, DoubtDuringThePromotionIsVerifiedBehindIt) {
  init();
  ha::ZkFailover* failover = nullptr;
  TestMaster early(
      "m1", hosts(), table_, cluster(), {}, [&] { failover->onHigherEpoch(9); }, &failover);
  ASSERT_TRUE(eventually([&] { return early.active() && early.mayAct(); }, kLong));
  EXPECT_EQ(early.service.resumes(), 1);
  EXPECT_EQ(early.service.demotes(), 0);
}

// A service that can't go on with what it knows is loaded anew, here or elsewhere.
TEST_F(ZkFailoverTest, ServiceThatCannotResumeIsDemoted) {
  init();
  makePair();
  m1_->service.failResume(true);
  m1_->failover->onFenced(0);
  ASSERT_TRUE(eventually([&] { return m1_->service.demotes() == 1; }, kLong));
  ASSERT_TRUE(eventually([&] { return oneLeads(*m1_, *m2_); }, kLong));
  EXPECT_EQ((m1_->active() ? m1_ : m2_)->epoch(), 2U);
}

size_t entriesOf(const char* directory) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

// BUG-092, BUG-093: cuts and their reconnects leave no descriptor, thread or node behind.
TEST_F(ZkFailoverTest, CutsLeaveNothingBehind) {
  TcpProxy proxy(sharedZookeeper().port());
  init();
  RawClient raw(hosts());
  const size_t files = entriesOf("/proc/self/fd");
  const size_t threads = entriesOf("/proc/self/task");
  makePair(proxy.address());
  const int nodes = raw.count(root());
  for (int i = 0; i < 200; ++i) {
    proxy.cut();
    ASSERT_TRUE(
        eventually([&] { return m1_->failover->stats().session_state != "connected"; }, kSession));
    proxy.heal();
    ASSERT_TRUE(
        eventually([&] { return m1_->failover->stats().session_state == "connected"; }, kLong));
  }
  ASSERT_TRUE(eventually([&] { return m1_->active() && m2_->standby(); }, kLong));
  EXPECT_EQ(raw.count(root()), nodes);
  m1_.reset();
  m2_.reset();
  proxy.cut();
  EXPECT_TRUE(eventually([&] { return entriesOf("/proc/self/task") <= threads; }, kLong));
  EXPECT_TRUE(eventually([&] { return entriesOf("/proc/self/fd") <= files; }, kLong))
      << entriesOf("/proc/self/fd") << " of " << files;
}

// No ensemble at the start: wait for it, for as long as it takes.
TEST_F(ZkFailoverTest, StartsBeforeTheEnsemble) {
  TcpProxy proxy(sharedZookeeper().port());
  proxy.cut();
  init();
  m1_ = master("m1", proxy.address());
  const auto beyond_connecting = [&] {
    return m1_->state() != ha::FailoverState::Init && m1_->state() != ha::FailoverState::Connecting;
  };
  EXPECT_FALSE(eventually(beyond_connecting, Millis(1000)));
  proxy.heal();
  EXPECT_TRUE(eventually([&] { return m1_->active(); }, kLong));
}

}  // namespace
}  // namespace baton::test
