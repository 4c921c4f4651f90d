#include "tests/simulation/election/sim_zookeeper.h"
#include "tests/support/chance.h"

#include <algorithm>

namespace baton::test {

using ha::CoordCode;

uint64_t SimZookeeper::change(const std::function<void(Data&, uint64_t)>& edit) {
  auto data = std::make_shared<Data>(*commits_.back());
  const uint64_t index = commits_.size();
  edit(*data, index);
  commits_.push_back(std::move(data));
  for (const auto& listener : listeners_) listener(index);
  return index;
}

int64_t SimZookeeper::openSession(std::function<bool()> heard_now) {
  const int64_t id = next_session_++;
  sessions_[id] = {true, world_.now(), std::move(heard_now)};
  return id;
}

bool SimZookeeper::sessionAlive(int64_t id) const {
  const auto found = sessions_.find(id);
  return found != sessions_.end() && found->second.alive;
}

void SimZookeeper::endSession(int64_t id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || !found->second.alive) return;
  found->second.alive = false;
  change([id](Data& data, uint64_t index) {
    if (data.lock && data.lock->owner_session == id) {
      data.lock.reset();
      data.lock_changed = index;
    }
    if (std::erase_if(data.members, [id](const auto& m) { return m.second.first == id; }) > 0) {
      data.members_changed = index;
    }
  });
}

void SimZookeeper::expireSilentSessions() {
  std::vector<int64_t> silent;
  for (auto& [id, session] : sessions_) {
    if (!session.alive) continue;
    // A new leader gives every session its full timeout again.
    if (!up || session.heard_now()) session.heard = world_.now();
    if (world_.now() - session.heard > Millis(kSessionMs)) silent.push_back(id);
  }
  for (const int64_t id : silent) endSession(id);
}

SimCoordinator::SimCoordinator(SimWorld& world, SimZookeeper& zookeeper, std::string node,
                               std::function<void(ha::Event)> sink, std::function<bool()> running)
    : world_(world),
      zookeeper_(zookeeper),
      node_(std::move(node)),
      sink_(std::move(sink)),
      running_(std::move(running)) {
  zookeeper_.listen([this](uint64_t index) {
    if (dead_ || !connected_) return;
    world_.after(lag_, [this, index, connection = connection_] {
      if (connection == connection_ && connected_) applied(index);
    });
  });
}

void SimCoordinator::open(uint64_t generation) {
  generation_ = generation;
  open_ = true;
  session_ = 0;
  applied_ = 0;
  view_watch_ = members_watch_ = false;
  world_.after(world_.between(1000, 50'000), [this, generation] {
    if (open_ && generation_ == generation) tryConnect();
  });
}

void SimCoordinator::close() {
  if (!open_) return;
  open_ = false;
  if (session_ != 0 && link_up_ && zookeeper_.up && !dead_) {
    world_.after(world_.between(500, 20'000),
                 [this, session = session_] { zookeeper_.endSession(session); });
  }
  in_flight_.clear();
  connected_ = believes_up_ = false;
  ++connection_;
}

void SimCoordinator::kill() {
  dead_ = true;
  open_ = connected_ = false;
  ++connection_;
}

void SimCoordinator::tryConnect() {
  if (!open_ || connected_ || dead_) return;
  if (!link_up_ || !zookeeper_.up || !running_()) {
    world_.after(world_.between(50'000, 300'000), [this, generation = generation_] {
      if (open_ && generation_ == generation) tryConnect();
    });
    return;
  }
  if (session_ != 0 && !zookeeper_.sessionAlive(session_)) {
    return deliver([this, g = generation_] { tell(ha::SessionExpired{g}); },
                   world_.between(500, 5000));
  }
  ++connection_;
  connected_ = true;
  last_delivery_ = last_arrival_ = world_.now();
  last_wait_ = 0;
  lag_ = test::chance(world_.random, 0.3) ? world_.between(0, 400'000) : world_.between(0, 5000);
  if (session_ == 0) {
    session_ = zookeeper_.openSession(
        [this, g = generation_] { return !dead_ && g == generation_ && connected_ && running_(); });
  }
  // The follower may be behind, but never behind what this session has seen.
  const uint64_t behind = static_cast<uint64_t>(world_.random.between(0, 3));
  const uint64_t last = zookeeper_.lastCommit();
  const uint64_t seen = applied_;
  applied_ = std::max(seen, last > behind && lag_ > Millis(10) ? last - behind : last);
  for (uint64_t index = applied_ + 1; index <= last; ++index) {
    world_.after(lag_, [this, index, connection = connection_] {
      if (connection == connection_ && connected_) applied(index);
    });
  }
  deliver(
      [this, g = generation_] {
        believes_up_ = true;
        tell(ha::SessionUp{g, session_, SimZookeeper::kSessionMs});
      },
      world_.between(500, 5000));
  // The client renews its watches and learns of what it missed.
  if (view_watch_ && replica().lock_changed > seen) {
    view_watch_ = false;
    deliver([this, g = generation_] { tell(ha::ViewChanged{g}); }, Micros(100));
  }
  if (members_watch_ && replica().members_changed > seen) {
    members_watch_ = false;
    deliver([this, g = generation_] { tell(ha::MembersChanged{g}); }, Micros(100));
  }
}

void SimCoordinator::applied(uint64_t index) {
  applied_ = std::max(applied_, index);
  if (view_watch_ && replica().lock_changed == index) {
    view_watch_ = false;
    deliver([this, g = generation_] { tell(ha::ViewChanged{g}); }, world_.between(200, 3000));
  }
  if (members_watch_ && replica().members_changed == index) {
    members_watch_ = false;
    deliver([this, g = generation_] { tell(ha::MembersChanged{g}); }, world_.between(200, 3000));
  }
  std::vector<std::function<void()>> ready;
  std::erase_if(on_applied_, [&](auto& waiting) {
    if (waiting.first > applied_) return false;
    ready.push_back(std::move(waiting.second));
    return true;
  });
  for (const auto& action : ready) action();
}

// Downstream is first in, first out; what a cut catches is lost.
void SimCoordinator::deliver(std::function<void()> action, Micros delay) {
  last_delivery_ = std::max(last_delivery_ + Micros(1), world_.now() + delay);
  world_.after(
      last_delivery_ - world_.now(),
      [this, connection = connection_, generation = generation_, action = std::move(action)] {
        if (connection == connection_ && generation == generation_ && open_) action();
      });
}

void SimCoordinator::cut() {
  if (!link_up_) return;
  link_up_ = false;
  dropLink(Micros(SimZookeeper::kSessionMs * 667));  // A silent server is noticed after 2/3 T.
}

// Requests that had left are lost or still arrive; their answers never do.
void SimCoordinator::noticeExpiry() {
  if (connected_ && !zookeeper_.sessionAlive(session_)) dropLink(Millis(5));
}

void SimCoordinator::dropLink(Micros notice_max) {
  if (!connected_) return;
  connected_ = false;
  ++connection_;
  on_applied_.clear();
  world_.after(world_.between(1000, notice_max.count()),
               [this, generation = generation_, connection = connection_] {
                 if (!open_ || generation != generation_ || connection != connection_) return;
                 believes_up_ = false;
                 const auto lost = std::exchange(in_flight_, {});
                 for (const auto& request : lost) {
                   if (!request->answered) tell(request->failed(CoordCode::Ambiguous));
                 }
                 tell(ha::SessionDown{generation});
                 tryConnect();
               });
}

void SimCoordinator::heal() { link_up_ = true; }

void SimCoordinator::request(bool write, const std::function<ha::Event(CoordCode)>& failed,
                             Apply apply) {
  auto flight = std::make_shared<InFlight>();
  flight->failed = failed;
  if (!believes_up_) {
    world_.after(Micros(1), [this, failed, generation = generation_] {
      if (open_ && generation == generation_) tell(failed(CoordCode::Ambiguous));
    });
    return;
  }
  in_flight_.push_back(flight);
  std::erase_if(in_flight_, [](const auto& f) { return f->answered; });
  if (!connected_) return;  // Swallowed by a link that is cut but not yet noticed.
  last_arrival_ = std::max(last_arrival_ + Micros(1), world_.now() + world_.between(200, 5000));
  const bool survives_cut = test::chance(world_.random, 0.5);
  world_.after(last_arrival_ - world_.now(),
               [this, flight, apply = std::move(apply), write, survives_cut,
                connection = connection_, session = session_] {
                 const bool whole = connection == connection_ && connected_ && zookeeper_.up;
                 if (!whole && !(write && survives_cut && zookeeper_.up && session == session_))
                   return;
                 if (!zookeeper_.sessionAlive(session)) return;
                 uint64_t commit = 0;
                 const std::function<ha::Event()> release = apply(&commit);
                 if (!whole) return;  // Done, but the answer is lost.
                 auto reply = [this, flight, release] {
                   deliver(
                       [this, flight, event = release()] {
                         flight->answered = true;
                         tell(event);
                       },
                       world_.between(200, 5000));
                 };
                 last_wait_ = std::max(last_wait_, commit);
                 if (last_wait_ > applied_) {
                   on_applied_.emplace_back(last_wait_, std::move(reply));
                 } else {
                   reply();
                 }
               });
}

void SimCoordinator::join(uint64_t id, const ha::JoinRequest& request_in) {
  const uint64_t g = generation_;
  request(
      true,
      [g, id](CoordCode code) -> ha::Event {
        return ha::JoinReply{g, id, code, {}};
      },
      [this, g, id, request = request_in,
       session = session_](uint64_t* commit) -> std::function<ha::Event()> {
        CoordCode code = CoordCode::Ok;
        std::string guid;
        const SimZookeeper::Data& data = zookeeper_.data();
        const auto member = data.members.find(node_);
        if (!data.cluster && request.create_guid.empty()) {
          code = CoordCode::Absent;
        } else if (data.cluster && !request.expected_guid.empty() &&
                   request.expected_guid != data.guid) {
          code = CoordCode::Mismatch;
          guid = data.guid;
        } else {
          guid = data.cluster ? data.guid : request.create_guid;
          if (member != data.members.end() && member->second.first != session) {
            code = CoordCode::Exists;
          } else {
            *commit = zookeeper_.change([&](SimZookeeper::Data& d, uint64_t index) {
              d.cluster = true;
              d.guid = guid;
              if (d.epoch_version < 0) {
                d.epoch_version = 0;
                d.epoch = request.epoch;
              }
              ha::MemberRecord self = *request.self;
              self.czxid = static_cast<int64_t>(index);
              d.members[node_] = {session, self};
              d.members_changed = index;
            });
          }
        }
        return [g, id, code, guid]() -> ha::Event { return ha::JoinReply{g, id, code, guid}; };
      });
}

void SimCoordinator::readView(uint64_t id, bool sync) {
  const uint64_t g = generation_;
  request(
      false,
      [g, id](CoordCode code) -> ha::Event {
        return ha::ViewReply{g, id, code, {}};
      },
      [this, g, id, sync](uint64_t* commit) -> std::function<ha::Event()> {
        if (sync) *commit = zookeeper_.lastCommit();
        return [this, g, id]() -> ha::Event {
          view_watch_ = true;
          ha::ElectionView view;
          view.epoch = replica().epoch;
          view.epoch_version = replica().epoch_version;
          view.lock = replica().lock;
          return ha::ViewReply{g, id, CoordCode::Ok, view};
        };
      });
}

void SimCoordinator::acquire(uint64_t id, const ha::AcquireRequest& request_in) {
  const uint64_t g = generation_;
  request(
      true,
      [g, id](CoordCode code) -> ha::Event {
        return ha::AcquireReply{g, id, code};
      },
      [this, g, id, request = request_in,
       session = session_](uint64_t* commit) -> std::function<ha::Event()> {
        CoordCode code = CoordCode::Ok;
        const SimZookeeper::Data& data = zookeeper_.data();
        if (data.epoch_version != request.epoch_version) {
          code = CoordCode::BadVersion;
        } else if (data.lock) {
          code = CoordCode::Exists;
        } else {
          zookeeper_.noteGrant(request.lock.epoch, node_);
          *commit = zookeeper_.change([&](SimZookeeper::Data& d, uint64_t index) {
            d.epoch = request.lock.epoch;
            ++d.epoch_version;
            ha::LockView lock;
            lock.owner_session = session;
            lock.czxid = static_cast<int64_t>(index);
            lock.record = request.lock;
            d.lock = lock;
            d.lock_changed = index;
          });
        }
        return [g, id, code]() -> ha::Event { return ha::AcquireReply{g, id, code}; };
      });
}

void SimCoordinator::renew(uint64_t id, const ha::MemberRecord& self) {
  const uint64_t g = generation_;
  request(
      true,
      [g, id](CoordCode code) -> ha::Event {
        return ha::RenewReply{g, id, code};
      },
      [this, g, id, self](uint64_t* commit) -> std::function<ha::Event()> {
        CoordCode code = CoordCode::Ok;
        if (!zookeeper_.data().members.contains(node_)) {
          code = CoordCode::Absent;
        } else {
          *commit = zookeeper_.change([&](SimZookeeper::Data& d, uint64_t) {
            auto& member = d.members[node_].second;
            const int64_t czxid = member.czxid;
            member = self;
            member.czxid = czxid;
          });
        }
        return [g, id, code]() -> ha::Event { return ha::RenewReply{g, id, code}; };
      });
}

void SimCoordinator::release(uint64_t id, int32_t epoch_version) {
  const uint64_t g = generation_;
  request(
      true,
      [g, id](CoordCode code) -> ha::Event {
        return ha::ReleaseReply{g, id, code};
      },
      [this, g, id, epoch_version](uint64_t* commit) -> std::function<ha::Event()> {
        CoordCode code = CoordCode::Ok;
        if (zookeeper_.data().epoch_version != epoch_version) {
          code = CoordCode::BadVersion;
        } else if (zookeeper_.data().lock) {
          *commit = zookeeper_.change([](SimZookeeper::Data& d, uint64_t index) {
            d.lock.reset();
            d.lock_changed = index;
          });
        }
        return [g, id, code]() -> ha::Event { return ha::ReleaseReply{g, id, code}; };
      });
}

void SimCoordinator::readMembers(uint64_t id) {
  const uint64_t g = generation_;
  request(
      false,
      [g, id](CoordCode code) -> ha::Event {
        return ha::MembersReply{g, id, code, {}};
      },
      [this, g, id](uint64_t*) -> std::function<ha::Event()> {
        return [this, g, id]() -> ha::Event {
          members_watch_ = true;
          std::vector<ha::MemberRecord> members;
          for (const auto& [name, m] : replica().members) members.push_back(m.second);
          return ha::MembersReply{g, id, CoordCode::Ok, members};
        };
      });
}

}  // namespace baton::test
