#include "ha/zk/zk_session.h"

#include <zookeeper/zookeeper.h>

#include <utility>

#include "common/base/log.h"
#include "ha/zk/zk_log.h"

namespace baton::ha {

void ZkInbox::post(Task task) {
  const std::lock_guard lock(mutex_);
  if (post_) post_(std::move(task));
}

void ZkInbox::close() {
  const std::lock_guard lock(mutex_);
  post_ = nullptr;
}

// What the client's threads hold of a session: never the session itself, or its last owner could
// be one of them and its close would wait for itself.
struct ZkSession::Link : std::enable_shared_from_this<Link> {
  std::shared_ptr<ZkInbox> inbox;
  ZkSession* session = nullptr;  // The elector's alone; null once detached.
};

// Context of one request; also the storage into which a multi writes its results.
struct ZkSession::Request {
  std::shared_ptr<Link> link;
  uint64_t id = 0;
  Done done;
  std::vector<zoo_op_result_t> results;
  std::vector<Stat> stats;
  std::vector<std::string> buffers;
};

// Entry points of the client's completion thread: they copy and post, nothing else.
struct ZkCallbacks {
  static void postReply(const void* context, ZkReply reply) {
    const auto* request = static_cast<const ZkSession::Request*>(context);
    const uint64_t id = request->id;
    const std::shared_ptr<ZkSession::Link> link = request->link;
    link->inbox->post([link, id, reply = std::move(reply)] {
      if (link->session != nullptr) link->session->answer(id, reply);
    });
  }
  static ZkReply make(int rc, const Stat* stat) {
    ZkReply reply;
    reply.rc = rc;
    if (rc != ZOK || stat == nullptr) return reply;
    reply.version = stat->version;
    reply.ephemeral_owner = stat->ephemeralOwner;
    reply.czxid = stat->czxid;
    reply.created = wallFromMicros(stat->ctime * 1000);
    return reply;
  }
  static void onVoid(int rc, const void* context) { postReply(context, make(rc, nullptr)); }
  static void onString(int rc, const char*, const void* context) {
    postReply(context, make(rc, nullptr));
  }
  static void onStat(int rc, const Stat* stat, const void* context) {
    postReply(context, make(rc, stat));
  }
  static void onData(int rc, const char* value, int length, const Stat* stat, const void* context) {
    ZkReply reply = make(rc, stat);
    if (rc == ZOK && value != nullptr && length > 0) reply.data.assign(value, length);
    postReply(context, std::move(reply));
  }
  static void onStrings(int rc, const String_vector* strings, const void* context) {
    ZkReply reply = make(rc, nullptr);
    if (rc == ZOK && strings != nullptr) {
      reply.children.assign(strings->data, strings->data + strings->count);
    }
    postReply(context, std::move(reply));
  }
  static void onAuth(int, const void*) {}  // Says nothing about the password.
  static void onWatch(zhandle_t*, int type, int, const char* path, void* context) {
    if (type == ZOO_SESSION_EVENT) return;  // Comes to every watch; the handle's own is enough.
    const auto link = static_cast<ZkSession::Link*>(context)->shared_from_this();
    link->inbox->post([link, where = std::string(path == nullptr ? "" : path)] {
      if (link->session != nullptr) link->session->events_.changed(where);
    });
  }
  static void onSession(zhandle_t*, int type, int state, const char*, void* context) {
    if (type != ZOO_SESSION_EVENT) return;
    const auto link = static_cast<ZkSession::Link*>(context)->shared_from_this();
    link->inbox->post([link, state] {
      if (link->session != nullptr) link->session->sessionEvent(state);
    });
  }
};

ZkSession::ZkSession(std::shared_ptr<ZkInbox> inbox, Options options, ZkSessionEvents events)
    : options_(std::move(options)), events_(std::move(events)), link_(std::make_shared<Link>()) {
  link_->inbox = std::move(inbox);
  link_->session = this;
}

ZkSession::~ZkSession() {
  // The contexts stay until the client has stopped its threads, which is what close waits for.
  if (handle_ != nullptr) zookeeper_close(handle_);
}

bool ZkSession::open() {
  zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
  handle_ = zookeeper_init2(options_.hosts.c_str(), &ZkCallbacks::onSession, options_.session_ms,
                            nullptr, link_.get(), ZOO_NO_LOG_CLIENTENV, &zkLogLine);
  if (handle_ == nullptr) return false;
  if (!options_.credentials.empty()) {
    zoo_add_auth(handle_, "digest", options_.credentials.data(),
                 static_cast<int>(options_.credentials.size()), &ZkCallbacks::onAuth, nullptr);
  }
  return true;
}

void ZkSession::detach() {
  link_->session = nullptr;
  // The contexts stay for the client; what they would have called may refer to its owner.
  for (auto& [id, request] : requests_) request->done = nullptr;
}

void ZkSession::sessionEvent(int state) {
  if (state == ZOO_CONNECTED_STATE) {
    // It may be gone again since the event; the next event says so.
    session_id_ = zoo_client_id(handle_)->client_id;
    return events_.up(session_id_, zoo_recv_timeout(handle_));
  }
  if (state == ZOO_EXPIRED_SESSION_STATE) return events_.expired();
  if (state == ZOO_AUTH_FAILED_STATE) return events_.refused();
  events_.down();
}

ZkSession::Request* ZkSession::begin(Done done) {
  auto request = std::make_unique<Request>();
  request->link = link_;
  request->id = next_id_++;
  request->done = std::move(done);
  Request* raw = request.get();
  requests_.emplace(raw->id, std::move(request));
  const int state = handle_ == nullptr ? ZOO_EXPIRED_SESSION_STATE : zoo_state(handle_);
  if (state == ZOO_CONNECTED_STATE) return raw;
  // A multi on a dead handle crashes the client, a request on an unconnected one would be sent
  // at a time when nobody wants it any more.
  const bool dead = state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
  ZkCallbacks::onVoid(dead ? ZINVALIDSTATE : ZCONNECTIONLOSS, raw);
  return nullptr;
}

void ZkSession::finishSend(Request* request, int rc) {
  if (rc != ZOK) ZkCallbacks::onVoid(rc, request);
}

void ZkSession::answer(uint64_t id, const ZkReply& reply) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  const Done done = std::move(found->second->done);
  requests_.erase(found);
  if (done) done(reply);
}

namespace {

// With credentials everything belongs to their owner alone.
const ACL_vector* zkAcl(const std::string& credentials) {
  return credentials.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
}

}  // namespace

void ZkSession::createNode(const std::string& path, const std::string& data, bool ephemeral,
                           Done done) {
  Request* request = begin(std::move(done));
  if (request == nullptr) return;
  finishSend(request,
             zoo_acreate(handle_, path.c_str(), data.data(), static_cast<int>(data.size()),
                         zkAcl(options_.credentials), ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT,
                         &ZkCallbacks::onString, request));
}

void ZkSession::exists(const std::string& path, bool watch, Done done) {
  Request* request = begin(std::move(done));
  if (request == nullptr) return;
  // The same function and context for every watch: the client keeps one entry a path.
  finishSend(request, zoo_awexists(handle_, path.c_str(), watch ? &ZkCallbacks::onWatch : nullptr,
                                   watch ? link_.get() : nullptr, &ZkCallbacks::onStat, request));
}

void ZkSession::get(const std::string& path, Done done) {
  Request* request = begin(std::move(done));
  if (request == nullptr) return;
  finishSend(request, zoo_aget(handle_, path.c_str(), 0, &ZkCallbacks::onData, request));
}

void ZkSession::set(const std::string& path, const std::string& data, Done done) {
  Request* request = begin(std::move(done));
  if (request == nullptr) return;
  finishSend(request, zoo_aset(handle_, path.c_str(), data.data(), static_cast<int>(data.size()),
                               -1, &ZkCallbacks::onStat, request));
}

void ZkSession::children(const std::string& path, bool watch, Done done) {
  Request* request = begin(std::move(done));
  if (request == nullptr) return;
  finishSend(request,
             zoo_awget_children(handle_, path.c_str(), watch ? &ZkCallbacks::onWatch : nullptr,
                                watch ? link_.get() : nullptr, &ZkCallbacks::onStrings, request));
}

void ZkSession::sync(const std::string& path, Done done) {
  Request* request = begin(std::move(done));
  if (request == nullptr) return;
  finishSend(request, zoo_async(handle_, path.c_str(), &ZkCallbacks::onString, request));
}

void ZkSession::multi(const std::vector<ZkOp>& ops, Done done) {
  Request* request = begin(std::move(done));
  if (request == nullptr) return;
  std::vector<zoo_op_t> list(ops.size());
  request->results.assign(ops.size(), zoo_op_result_t{});
  request->stats.assign(ops.size(), Stat{});
  request->buffers.assign(ops.size(), std::string(512, '\0'));
  for (size_t i = 0; i < ops.size(); ++i) {
    const ZkOp& op = ops[i];
    const int length = static_cast<int>(op.data.size());
    switch (op.kind) {
      case ZkOp::Kind::Create:
        zoo_create_op_init(
            &list[i], op.path.c_str(), op.data.data(), length, zkAcl(options_.credentials),
            op.ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT, request->buffers[i].data(),
            static_cast<int>(request->buffers[i].size()));
        break;
      case ZkOp::Kind::Set:
        zoo_set_op_init(&list[i], op.path.c_str(), op.data.data(), length, op.version,
                        &request->stats[i]);
        break;
      case ZkOp::Kind::Check:
        zoo_check_op_init(&list[i], op.path.c_str(), op.version);
        break;
      case ZkOp::Kind::Delete:
        zoo_delete_op_init(&list[i], op.path.c_str(), op.version);
        break;
    }
  }
  finishSend(request, zoo_amulti(handle_, static_cast<int>(list.size()), list.data(),
                                 request->results.data(), &ZkCallbacks::onVoid, request));
}

}  // namespace baton::ha
