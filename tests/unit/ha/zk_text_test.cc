#include <gtest/gtest.h>

#include "ha/zk/zk_address.h"
#include "ha/zk/zk_records.h"

namespace baton::test {
namespace {

// BUG-096: the path is split off and becomes a prefix; the client never sees a chroot.
TEST(ZkAddressTest, PathBecomesThePrefix) {
  const auto address = ha::ZkAddress::parse("10.0.0.1:2181,10.0.0.2:2182/a//b/c/");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->hosts, "10.0.0.1:2181,10.0.0.2:2182");
  EXPECT_EQ(address->prefix, "/a/b/c");
  const ha::ZkPaths paths(address->prefix, "prod");
  EXPECT_TRUE(paths.root.starts_with("/a/b/c/"));
  EXPECT_TRUE(paths.root.ends_with("/prod"));
  EXPECT_EQ(paths.lock, paths.root + "/lock");
  EXPECT_EQ(paths.member("m1"), paths.root + "/masters/m1");
  // Every parent is made before its child.
  const std::vector<std::string> chain = paths.rootChain();
  ASSERT_GE(chain.size(), 4U);
  EXPECT_EQ(chain.front(), "/a");
  EXPECT_EQ(chain.back(), paths.root);
  for (size_t i = 1; i < chain.size(); ++i) EXPECT_TRUE(chain[i].starts_with(chain[i - 1] + "/"));
  EXPECT_EQ(ha::ZkAddress::parse("h:1")->prefix, "");
}

// A message names what is wrong.
TEST(ZkAddressTest, BadAddressesAreRefused) {
  for (const char* text : {"", "/a", "host", "host:", ":1", "host:0", "host:65536", "host:1x",
                           "h:1,,h:2", "h:1/a b", "h:1/..", "h:1/a/./b"}) {
    const auto address = ha::ZkAddress::parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.error().code(), ErrorCode::InvalidArgument) << text;
  }
}

// Names make every reconnect depend on a resolver.
TEST(ZkAddressTest, LiteralsAreTold) {
  EXPECT_TRUE(ha::ZkAddress::parse("127.0.0.1:1,[::1]:2")->hasOnlyLiterals());
  EXPECT_FALSE(ha::ZkAddress::parse("127.0.0.1:1,zk.example:2")->hasOnlyLiterals());
}

ha::MasterIdentity identity() {
  return {"m1", "inc", "10.0.0.1:8080", "1.0", "boot", 4711, 123456};
}

// What one master writes another reads.
TEST(ZkRecordsTest, RecordsSurviveTheRoundTrip) {
  const ha::LockRecord lock{identity(), 8, 7, "expired", "attempt-1"};
  const auto read = ha::decodeLock(ha::encodeLock(lock));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->epoch, 8U);
  EXPECT_EQ(read->prev_epoch, 7U);
  EXPECT_EQ(read->attempt, "attempt-1");
  EXPECT_EQ(read->who.start_ticks, 123456);
  EXPECT_LT(ha::encodeLock(lock).size(), 1024U);

  ha::MemberRecord member;
  member.who = identity();
  member.state = ha::FailoverState::ActiveIsolated;
  member.priority = 50;
  member.eligible = false;
  member.database_ok = false;
  const auto member_read = ha::decodeMember(ha::encodeMember(member));
  ASSERT_TRUE(member_read);
  EXPECT_EQ(member_read->state, ha::FailoverState::ActiveIsolated);
  EXPECT_EQ(member_read->priority, 50);
  EXPECT_FALSE(member_read->eligible);
  EXPECT_FALSE(member_read->database_ok);

  EXPECT_EQ(ha::decodeEpoch(ha::encodeEpoch(9, "m1", "inc", "first")), 9U);
  EXPECT_EQ(ha::decodeCluster(ha::encodeCluster("g")), "g");
}

// Foreign data are recognised as foreign, never half read.
TEST(ZkRecordsTest, ForeignDataGiveNothing) {
  for (const char* text : {"", "x", "[]", "7", "{}", R"({"epoch":"8","id":"m1"})",
                           R"({"epoch":0,"id":"m1"})", R"({"epoch":8})", "\xff\xfe"}) {
    EXPECT_FALSE(ha::decodeLock(text)) << text;
  }
  EXPECT_FALSE(ha::decodeEpoch(R"({"epoch":-1})"));
  EXPECT_FALSE(ha::decodeCluster(R"({"schema":1})"));
  EXPECT_FALSE(ha::decodeMember(R"({"prio":1})"));
}

// A newer version may write more than we know.
TEST(ZkRecordsTest, UnknownMembersAreIgnored) {
  EXPECT_TRUE(ha::decodeLock(R"({"epoch":8,"id":"m1","sentinel":8082})"));
}

}  // namespace
}  // namespace baton::test
