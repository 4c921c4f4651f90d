#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "common/base/file_descriptor.h"
#include "common/base/named_thread.h"

namespace baton::dao {

// A TCP proxy before the database server that cuts a connection at its next COMMIT.
class CuttingProxy {
 public:
  enum class Cut : uint8_t {
    None,
    LoseReply,    // The server commits; the client never hears of it.
    LoseRequest,  // The client's link is gone, the server does not know: the transaction stays
                  // open.
  };
  explicit CuttingProxy(int server_port);
  ~CuttingProxy() { thread_.requestStopAndJoin(); }

  int port() const { return port_; }
  void cutNextCommit(Cut cut) { cut_ = cut; }
  bool hasCut() const { return has_cut_; }

 private:
  struct Link {
    FileDescriptor client;
    FileDescriptor server;
    bool closing = false;  // After the server's next bytes.
  };
  void run(const std::stop_token& stop);
  void acceptOne();
  // False: the link is over.
  bool fromClient(Link& link);
  bool fromServer(Link& link);

  const int server_port_;
  int port_ = 0;
  FileDescriptor listener_;
  std::vector<Link> links_;
  std::vector<FileDescriptor> orphans_;  // Server ends that nobody closes.
  std::atomic<Cut> cut_{Cut::None};
  std::atomic<bool> has_cut_{false};
  NamedThread thread_;
};

}  // namespace baton::dao
