#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/clock.h"

struct _zhandle;

namespace baton::ha {

// Carries work from the client's threads to the elector. Shared by everything that such a thread
// can still touch; closing it makes later posts vanish. Any thread.
class ZkInbox {
 public:
  using Task = std::function<void()>;
  explicit ZkInbox(std::function<void(Task)> post) : post_(std::move(post)) {}
  void post(Task task);
  void close();

 private:
  std::mutex mutex_;
  std::function<void(Task)> post_;  // Empty when closed.
};

// Answer to one request. `rc` is the client's code (ZOO_ERRORS).
struct ZkReply {
  int rc = 0;
  std::string data;
  std::vector<std::string> children;
  int32_t version = 0;
  int64_t ephemeral_owner = 0;
  int64_t czxid = 0;
  WallTime created{};
};

// One operation of a multi.
struct ZkOp {
  enum class Kind : uint8_t { Create, Set, Check, Delete };
  Kind kind = Kind::Check;
  std::string path;
  std::string data;
  int version = -1;
  bool ephemeral = false;
};

// What a session tells about itself and its watches; called on the elector thread.
struct ZkSessionEvents {
  std::function<void(int64_t session_id, int64_t timeout_ms)> up;
  std::function<void()> down;
  std::function<void()> expired;
  std::function<void()> refused;
  std::function<void(const std::string& path)> changed;  // A watch fired.
};

// One handle of the C client under the rules that keep it safe: asynchronous calls only, from one
// thread; contexts owned here, never freed before zookeeper_close has returned or the request was
// answered; nothing sent unless the handle is connected right now; closed by a ZkReaper.
// Thread: the elector's only, but for the destructor.
class ZkSession {
 public:
  struct Options {
    std::string hosts;
    int session_ms = 3000;
    std::string credentials;  // "user:password" of the digest scheme; empty: none.
  };
  using Done = std::function<void(const ZkReply&)>;

  ZkSession(std::shared_ptr<ZkInbox> inbox, Options options, ZkSessionEvents events);
  // Closes the handle, which may block for seconds: a reaper's business.
  ~ZkSession();

  // False: the client could not make a handle (errno says why).
  bool open();
  // No event and no answer comes after this.
  void detach();

  void createNode(const std::string& path, const std::string& data, bool ephemeral, Done done);
  void exists(const std::string& path, bool watch, Done done);
  void get(const std::string& path, Done done);
  void set(const std::string& path, const std::string& data, Done done);
  void children(const std::string& path, bool watch, Done done);
  void sync(const std::string& path, Done done);
  void multi(const std::vector<ZkOp>& ops, Done done);
  int64_t sessionId() const { return session_id_; }

  // Used by the client's callbacks.
  struct Request;
  struct Link;

 private:
  // Registers a request; nullptr (and an answer posted) if the handle is not connected.
  Request* begin(Done done);
  // Answers a request that the client refused at once.
  void finishSend(Request* request, int rc);
  void answer(uint64_t id, const ZkReply& reply);
  void sessionEvent(int state);
  friend struct ZkCallbacks;

  const Options options_;
  ZkSessionEvents events_;
  _zhandle* handle_ = nullptr;
  const std::shared_ptr<Link> link_;  // Context of the watches.
  int64_t session_id_ = 0;
  uint64_t next_id_ = 1;
  std::unordered_map<uint64_t, std::unique_ptr<Request>> requests_;
};

}  // namespace baton::ha
