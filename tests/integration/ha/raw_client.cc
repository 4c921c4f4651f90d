#include "tests/integration/ha/raw_client.h"

#include <array>
#include <chrono>

#include "tests/integration/ha/ha_fixture.h"

namespace baton::test {

namespace {

zhandle_t* openHandle(const std::string& hosts, const clientid_t* session) {
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  zhandle_t* handle = zookeeper_init(hosts.c_str(), nullptr, 4000, session, nullptr, 0);
  CHECK(handle != nullptr);
  // Without a pause: who takes a session over has milliseconds before its owner is back.
  const auto end = std::chrono::steady_clock::now() + Seconds(10);
  while (zoo_state(handle) != ZOO_CONNECTED_STATE && std::chrono::steady_clock::now() < end) {
  }
  return handle;
}

}  // namespace

RawClient::RawClient(const std::string& hosts) : handle_(openHandle(hosts, nullptr)) {}
RawClient::RawClient(const std::string& hosts, const clientid_t& session)
    : handle_(openHandle(hosts, &session)) {}
RawClient::~RawClient() { zookeeper_close(handle_); }

std::string RawClient::get(const std::string& path) {
  std::array<char, 4096> buffer;
  int length = static_cast<int>(buffer.size());
  if (zoo_get(handle_, path.c_str(), 0, buffer.data(), &length, nullptr) != ZOK) return {};
  return std::string(buffer.data(), length > 0 ? static_cast<size_t>(length) : 0);
}

bool RawClient::exists(const std::string& path) {
  return zoo_exists(handle_, path.c_str(), 0, nullptr) == ZOK;
}

int RawClient::remove(const std::string& path) { return zoo_delete(handle_, path.c_str(), -1); }

int RawClient::create(const std::string& path, const std::string& data) {
  return zoo_create(handle_, path.c_str(), data.data(), static_cast<int>(data.size()),
                    &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0);
}

int64_t RawClient::owner(const std::string& path) {
  Stat stat{};
  return zoo_exists(handle_, path.c_str(), 0, &stat) == ZOK ? stat.ephemeralOwner : 0;
}

int RawClient::count(const std::string& path) {
  String_vector children{};
  if (zoo_get_children(handle_, path.c_str(), 0, &children) != ZOK) return 0;
  int total = 1;
  for (int i = 0; i < children.count; ++i) total += count(path + "/" + children.data[i]);
  deallocate_String_vector(&children);
  return total;
}

}  // namespace baton::test
