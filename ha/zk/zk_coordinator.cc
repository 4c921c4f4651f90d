#include "ha/zk/zk_coordinator.h"

#include <zookeeper/zookeeper.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/log.h"
#include "ha/zk/zk_records.h"

namespace baton::ha {

// A join under way. `left` counts the answers of pipelined requests that are still missing.
struct ZkCoordinator::JoinWork {
  uint64_t generation;
  uint64_t id;
  JoinRequest request;
  size_t left = 0;
  CoordCode worst = CoordCode::Ok;
  bool own_exists = false;
};

struct MembersWork {
  uint64_t generation;
  uint64_t id;
  size_t left = 0;
  CoordCode worst = CoordCode::Ok;
  std::vector<MemberRecord> members;
};

namespace {

// A view under way; the answers come in the order of the requests, the lock's last.
struct ViewWork {
  uint64_t generation;
  uint64_t id;
  CoordCode worst = CoordCode::Ok;
  ElectionView view;
};

}  // namespace

Result<std::unique_ptr<ZkCoordinator>> ZkCoordinator::create(
    const Options& options, std::function<void(std::function<void()>)> post,
    std::function<void(Event)> sink) {
  ASSIGN_OR_RETURN(const ZkAddress address, ZkAddress::parse(options.hosts));
  RETURN_IF_ERROR(checkNodeName("cluster.name", options.cluster));
  RETURN_IF_ERROR(checkNodeName("node.id", options.node_id));
  if (!address.hasOnlyLiterals()) {
    logWarn("zookeeper_hosts_by_name", field("hosts", address.hosts),
            field("advice", "IP literals make reconnecting independent of the resolver"));
  }
  return std::unique_ptr<ZkCoordinator>(
      new ZkCoordinator(options, address, std::move(post), std::move(sink)));
}

ZkCoordinator::ZkCoordinator(const Options& options, const ZkAddress& address,
                             std::function<void(std::function<void()>)> post,
                             std::function<void(Event)> sink)
    : options_(options),
      address_(address),
      paths_(address.prefix, options.cluster),
      sink_(std::move(sink)),
      inbox_(std::make_shared<ZkInbox>(std::move(post))),
      reaper_(std::make_unique<ZkReaper>()) {}

ZkCoordinator::~ZkCoordinator() {
  inbox_->close();
  close();
}

void ZkCoordinator::open(uint64_t generation) {
  close();
  generation_ = generation;
  ZkSessionEvents events;
  events.up = [this, generation](int64_t id, int64_t timeout_ms) {
    sink_(SessionUp{generation, id, timeout_ms});
  };
  events.down = [this, generation] { sink_(SessionDown{generation}); };
  events.expired = [this, generation] { sink_(SessionExpired{generation}); };
  events.refused = [this, generation] { sink_(SessionRefused{generation}); };
  events.changed = [this](const std::string& path) { changed(path); };
  ZkSession::Options session_options;
  session_options.hosts = address_.hosts;
  session_options.session_ms = options_.session_ms;
  session_options.credentials = options_.credentials;
  session_ = std::make_unique<ZkSession>(inbox_, std::move(session_options), std::move(events));
  if (session_->open()) return;
  const std::string why = std::strerror(errno);
  inbox_->post([this, generation, why] { sink_(SessionFailed{generation, why}); });
}

void ZkCoordinator::close() {
  if (!session_) return;
  session_->detach();
  reaper_->bury(std::move(session_));
  session_.reset();
}

void ZkCoordinator::changed(const std::string& path) {
  if (path == paths_.masters) {
    sink_(MembersChanged{generation_});
  } else {
    sink_(ViewChanged{generation_});
  }
}

CoordCode ZkCoordinator::codeOf(int rc) {
  switch (rc) {
    case ZOK:
      return CoordCode::Ok;
    case ZNONODE:
      return CoordCode::Absent;
    case ZNODEEXISTS:
      return CoordCode::Exists;
    case ZBADVERSION:
      return CoordCode::BadVersion;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONMOVED:
      return CoordCode::Ambiguous;
    case ZSESSIONEXPIRED:
    case ZINVALIDSTATE:
    case ZMARSHALLINGERROR:
    case ZCLOSING:
      return CoordCode::SessionDead;
    case ZNOAUTH:
    case ZAUTHFAILED:
    case ZINVALIDACL:
      return CoordCode::Refused;
    default:
      return CoordCode::Failed;
  }
}

void ZkCoordinator::join(uint64_t id, const JoinRequest& request) {
  if (!session_) return;
  auto work = std::make_shared<JoinWork>();
  work->generation = generation_;
  work->id = id;
  work->request = request;
  joinReadCluster(work);
}

void ZkCoordinator::finishJoin(const JoinWork& work, CoordCode code, const std::string& guid) {
  sink_(JoinReply{work.generation, work.id, code, guid});
}

void ZkCoordinator::joinReadCluster(const std::shared_ptr<JoinWork>& work) {
  session_->get(paths_.cluster, [this, work](const ZkReply& reply) {
    if (reply.rc == ZNONODE) {
      if (work->request.create_guid.empty()) return finishJoin(*work, CoordCode::Absent, {});
      return joinCreateRoot(work);
    }
    if (reply.rc != ZOK) return finishJoin(*work, codeOf(reply.rc), {});
    const std::optional<std::string> guid = decodeCluster(reply.data);
    const std::string& expected = work->request.expected_guid;
    if (!guid || (!expected.empty() && *guid != expected)) {
      return finishJoin(*work, CoordCode::Mismatch, guid.value_or("(unreadable)"));
    }
    joinCreateNodes(work, *guid);
  });
}

void ZkCoordinator::joinCreateRoot(const std::shared_ptr<JoinWork>& work) {
  for (const std::string& path : paths_.rootChain()) {
    // Refused or existing parents show in the answer to the last request.
    session_->createNode(path, {}, false, [](const ZkReply&) {});
  }
  const std::string data = encodeCluster(work->request.create_guid);
  session_->createNode(paths_.cluster, data, false, [this, work](const ZkReply& reply) {
    if (reply.rc != ZOK && reply.rc != ZNODEEXISTS) {
      return finishJoin(*work, codeOf(reply.rc), work->request.create_guid);
    }
    work->request.create_guid.clear();  // Read back: another master may have been quicker.
    joinReadCluster(work);
  });
}

void ZkCoordinator::joinCreateNodes(const std::shared_ptr<JoinWork>& work,
                                    const std::string& guid) {
  const auto add = [&](const std::string& path, const std::string& data, bool own) {
    ++work->left;
    session_->createNode(path, data, own, [this, work, guid, own](const ZkReply& reply) {
      if (reply.rc == ZNODEEXISTS) {
        if (own) work->own_exists = true;
      } else if (reply.rc != ZOK && work->worst == CoordCode::Ok) {
        work->worst = codeOf(reply.rc);
      }
      if (--work->left > 0) return;
      if (work->worst == CoordCode::Ok && work->own_exists) return joinOwnNodeExists(work, guid);
      finishJoin(*work, work->worst, guid);
    });
  };
  work->left = 1;  // Kept until all are sent.
  add(paths_.masters, {}, false);
  add(paths_.control, {}, false);
  add(paths_.epoch, encodeEpoch(work->request.epoch, {}, {}, "created"), false);
  if (work->request.self) {
    add(paths_.member(options_.node_id), encodeMember(*work->request.self), true);
  }
  --work->left;  // Answers come by the inbox, never inside the calls above.
}

void ZkCoordinator::joinOwnNodeExists(const std::shared_ptr<JoinWork>& work,
                                      const std::string& guid) {
  const std::string path = paths_.member(options_.node_id);
  session_->exists(path, false, [this, work, guid](const ZkReply& reply) {
    if (reply.rc == ZNONODE) return finishJoin(*work, CoordCode::Failed, guid);
    if (reply.rc != ZOK) return finishJoin(*work, codeOf(reply.rc), guid);
    const bool mine = reply.ephemeral_owner == session_->sessionId();
    finishJoin(*work, mine ? CoordCode::Ok : CoordCode::Exists, guid);
  });
}

void ZkCoordinator::readView(uint64_t id, bool sync) {
  if (!session_) return;
  auto work = std::make_shared<ViewWork>();
  work->generation = generation_;
  work->id = id;
  const auto note = [work](int rc) {
    if (rc == ZOK || work->worst != CoordCode::Ok) return;
    work->worst = codeOf(rc);
  };
  if (sync) session_->sync(paths_.root, [note](const ZkReply& reply) { note(reply.rc); });
  session_->get(paths_.epoch, [work, note](const ZkReply& reply) {
    note(reply.rc);
    work->view.epoch = decodeEpoch(reply.data).value_or(0);
    work->view.epoch_version = reply.version;
  });
  session_->exists(paths_.pause, true, [work, note](const ZkReply& reply) {
    work->view.paused = reply.rc == ZOK;
    if (reply.rc != ZNONODE) note(reply.rc);
  });
  // Arms the watch on a lock that is absent, too; the data come with the next request.
  session_->exists(paths_.lock, true, [note](const ZkReply& reply) {
    if (reply.rc != ZNONODE) note(reply.rc);
  });
  session_->get(paths_.lock, [this, work, note](const ZkReply& reply) {
    if (reply.rc != ZNONODE) note(reply.rc);
    if (reply.rc == ZOK) {
      LockView lock;
      lock.owner_session = reply.ephemeral_owner;
      lock.czxid = reply.czxid;
      lock.since = reply.created;
      const std::optional<LockRecord> record = decodeLock(reply.data);
      lock.parsed = record.has_value();
      if (record) lock.record = *record;
      work->view.lock = std::move(lock);
    }
    sink_(ViewReply{work->generation, work->id, work->worst, std::move(work->view)});
  });
}

void ZkCoordinator::acquire(uint64_t id, const AcquireRequest& request) {
  if (!session_) return;
  const LockRecord& lock = request.lock;
  const std::string epoch =
      encodeEpoch(lock.epoch, lock.who.node_id, lock.who.incarnation, lock.reason);
  const std::vector<ZkOp> ops{
      {ZkOp::Kind::Set, paths_.epoch, epoch, request.epoch_version, false},
      {ZkOp::Kind::Create, paths_.lock, encodeLock(lock), -1, true},
  };
  session_->multi(ops, [this, generation = generation_, id](const ZkReply& reply) {
    sink_(AcquireReply{generation, id, codeOf(reply.rc)});
  });
}

void ZkCoordinator::renew(uint64_t id, const MemberRecord& self) {
  if (!session_) return;
  session_->set(paths_.member(options_.node_id), encodeMember(self),
                [this, generation = generation_, id](const ZkReply& reply) {
                  sink_(RenewReply{generation, id, codeOf(reply.rc)});
                });
}

void ZkCoordinator::release(uint64_t id, int32_t epoch_version) {
  if (!session_) return;
  const std::vector<ZkOp> ops{
      {ZkOp::Kind::Check, paths_.epoch, {}, epoch_version, false},
      {ZkOp::Kind::Delete, paths_.lock, {}, -1, false},
  };
  session_->multi(ops, [this, generation = generation_, id](const ZkReply& reply) {
    // Without a lock there is nothing left to give back.
    sink_(ReleaseReply{generation, id, reply.rc == ZNONODE ? CoordCode::Ok : codeOf(reply.rc)});
  });
}

void ZkCoordinator::readMembers(uint64_t id) {
  if (!session_) return;
  auto work = std::make_shared<MembersWork>();
  work->generation = generation_;
  work->id = id;
  session_->children(paths_.masters, true, [this, work](const ZkReply& reply) {
    if (reply.rc != ZOK || reply.children.empty() || !session_) {
      sink_(MembersReply{work->generation, work->id, codeOf(reply.rc), {}});
      return;
    }
    work->left = reply.children.size();
    for (const std::string& name : reply.children) readMember(work, name);
  });
}

void ZkCoordinator::readMember(const std::shared_ptr<MembersWork>& work, const std::string& name) {
  session_->get(paths_.member(name), [this, work](const ZkReply& reply) {
    if (reply.rc == ZOK) {
      if (std::optional<MemberRecord> member = decodeMember(reply.data)) {
        member->czxid = reply.czxid;
        work->members.push_back(std::move(*member));
      }
    } else if (reply.rc != ZNONODE && work->worst == CoordCode::Ok) {
      work->worst = codeOf(reply.rc);
    }
    if (--work->left > 0) return;
    sink_(MembersReply{work->generation, work->id, work->worst, std::move(work->members)});
  });
}

}  // namespace baton::ha
