#pragma once

#include <cstdint>
#include <string>

namespace baton::test {

// A private ZooKeeper of the test's own, by scripts/private_zookeeper.sh; ends with the object.
// One thread.
class ZookeeperServer {
 public:
  // Starts and waits until all members serve. `members` is 1 or 3. `script` is the path of
  // private_zookeeper.sh. Ends the process if that fails: the test cannot mean anything then.
  explicit ZookeeperServer(const std::string& script, int members = 1);
  ~ZookeeperServer();
  ZookeeperServer(const ZookeeperServer&) = delete;
  ZookeeperServer& operator=(const ZookeeperServer&) = delete;

  const std::string& connect() const { return connect_; }  // "127.0.0.1:1234[,…]".
  uint16_t port(int member = 1) const;
  // Signal KILL ends a member; STOP and CONT halt and continue it.
  void stopMember(int member, const std::string& signal = "KILL");
  void startMember(int member);

 private:
  void run(const std::string& arguments) const;

  const std::string script_;
  std::string directory_;
  std::string connect_;
};

}  // namespace baton::test
