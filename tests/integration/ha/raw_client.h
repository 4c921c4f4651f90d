#pragma once

#include <zookeeper/zookeeper.h>

#include <cstdint>
#include <string>

namespace baton::test {

// The hand of an operator or saboteur in ZooKeeper: plain synchronous calls. One thread.
class RawClient {
 public:
  explicit RawClient(const std::string& hosts);
  // Takes over the session of another client, as only its password allows; closing this one then
  // ends that session.
  RawClient(const std::string& hosts, const clientid_t& session);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return zoo_state(handle_) == ZOO_CONNECTED_STATE; }
  std::string get(const std::string& path);
  bool exists(const std::string& path);
  int remove(const std::string& path);
  int create(const std::string& path, const std::string& data);
  // Owner of an ephemeral node, 0 if there is none.
  int64_t owner(const std::string& path);
  // Number of nodes below and with the path.
  int count(const std::string& path);

 private:
  zhandle_t* handle_;
};

}  // namespace baton::test
