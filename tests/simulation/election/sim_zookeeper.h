#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ha/coordinator.h"
#include "ha/election_event.h"
#include "tests/simulation/election/sim_world.h"

namespace baton::test {

// A simulated ensemble: one history of commits; every client is connected to a follower that
// applies it with a lag of its own. Sessions expire on the server's side. One thread.
class SimZookeeper {
 public:
  static constexpr int64_t kSessionMs = 3000;

  struct Data {
    bool cluster = false;
    std::string guid;
    uint64_t epoch = 0;
    int32_t epoch_version = -1;  // -1: absent.
    std::optional<ha::LockView> lock;
    std::map<std::string, std::pair<int64_t, ha::MemberRecord>> members;  // With their session.
    uint64_t lock_changed = 0;  // Commit that changed the lock last.
    uint64_t members_changed = 0;
  };
  struct Session {
    bool alive = true;
    BootTime heard{};
    std::function<bool()> heard_now;  // Is its client connected and running?
  };

  explicit SimZookeeper(SimWorld& world) : world_(world) {
    commits_.push_back(std::make_shared<Data>());
  }

  const Data& data() const { return *commits_.back(); }
  std::shared_ptr<const Data> commit(uint64_t index) const { return commits_[index]; }
  uint64_t lastCommit() const { return commits_.size() - 1; }
  // Changes the data; listeners are the followers.
  uint64_t change(const std::function<void(Data&, uint64_t)>& edit);
  void listen(std::function<void(uint64_t)> listener) { listeners_.push_back(std::move(listener)); }

  int64_t openSession(std::function<bool()> heard_now);
  bool sessionAlive(int64_t id) const;
  void endSession(int64_t id);
  void expireSilentSessions();
  // What the lock was granted for: (epoch, node).
  const std::set<std::pair<uint64_t, std::string>>& grants() const { return grants_; }
  void noteGrant(uint64_t epoch, const std::string& node) { grants_.emplace(epoch, node); }

  bool up = true;  // Has a quorum.

 private:
  SimWorld& world_;
  std::vector<std::shared_ptr<Data>> commits_;
  std::vector<std::function<void(uint64_t)>> listeners_;
  std::map<int64_t, Session> sessions_;
  int64_t next_session_ = 100;
  std::set<std::pair<uint64_t, std::string>> grants_;
};

// The client of one simulated master: a Coordinator over SimZookeeper with cuts, delays, lost
// replies and a lagging follower.
class SimCoordinator final : public ha::Coordinator {
 public:
  SimCoordinator(SimWorld& world, SimZookeeper& zookeeper, std::string node,
                 std::function<void(ha::Event)> sink, std::function<bool()> running);

  void open(uint64_t generation) override;
  void close() override;
  void join(uint64_t id, const ha::JoinRequest& request) override;
  void readView(uint64_t id, bool sync) override;
  void acquire(uint64_t id, const ha::AcquireRequest& request) override;
  void renew(uint64_t id, const ha::MemberRecord& self) override;
  void release(uint64_t id, int32_t epoch_version) override;
  void readMembers(uint64_t id) override;

  // Faults.
  void cut();
  void heal();
  // The server closes the connection of a session that has ended.
  void noticeExpiry();
  bool linkUp() const { return link_up_; }
  int64_t session() const { return session_; }
  void kill();  // The process is gone: no more events, the session is left to expire.

 private:
  // Runs at the server; a set *commit is what the follower must have applied before it answers.
  // The result runs when it does (reads read then) and gives the answer.
  using Apply = std::function<std::function<ha::Event()>(uint64_t* commit)>;
  void request(bool write, const std::function<ha::Event(ha::CoordCode)>& failed, Apply apply);
  void tryConnect();
  void applied(uint64_t index);
  void deliver(std::function<void()> action, Micros delay);
  void tell(ha::Event event) { sink_(std::move(event)); }
  const SimZookeeper::Data& replica() const { return *zookeeper_.commit(applied_); }
  void dropLink(Micros notice_max);

  struct InFlight {
    std::function<ha::Event(ha::CoordCode)> failed;
    bool answered = false;
  };

  SimWorld& world_;
  SimZookeeper& zookeeper_;
  const std::string node_;
  const std::function<void(ha::Event)> sink_;
  const std::function<bool()> running_;
  uint64_t generation_ = 0;
  uint64_t connection_ = 0;  // Number of the connection; what belongs to an older one is lost.
  bool open_ = false;
  bool link_up_ = true;
  bool connected_ = false;    // As the server sees it.
  bool believes_up_ = false;  // As the client does.
  bool dead_ = false;
  int64_t session_ = 0;
  uint64_t applied_ = 0;
  Micros lag_{0};
  BootTime last_delivery_{};
  BootTime last_arrival_{};
  uint64_t last_wait_ = 0;  // Answers keep the order of the requests.
  bool view_watch_ = false;
  bool members_watch_ = false;
  std::vector<std::shared_ptr<InFlight>> in_flight_;
  std::vector<std::pair<uint64_t, std::function<void()>>> on_applied_;
};

}  // namespace baton::test
