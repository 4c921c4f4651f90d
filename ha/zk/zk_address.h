#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace baton::ha {

// Where the ensemble and, in it, this cluster is. The client's own chroot is not used (it is
// faulty together with transactions): the path becomes the first part of every node's path.
struct ZkAddress {
  std::string hosts;   // "10.0.0.1:2181,10.0.0.2:2181", as the client wants it.
  std::string prefix;  // "" or "/a/b".

  // "host:port[,host:port…][/a/b]". Errors: InvalidArgument.
  static Result<ZkAddress> parse(const std::string& text);
  // True if every host is an IP literal, so that no reconnect depends on a resolver.
  bool hasOnlyLiterals() const;
};

// Full paths of the cluster's nodes.
struct ZkPaths {
  ZkPaths(const std::string& prefix, const std::string& cluster);

  std::string root;  // <prefix>/<cluster>; without a prefix /baton/<cluster>
  std::string cluster, epoch, lock, masters, control, pause;
  std::string member(const std::string& node_id) const { return masters + "/" + node_id; }
  // The root and its parents, outermost first.
  std::vector<std::string> rootChain() const;
};

// A name that can be one part of a path: 1 to 64 of letters, digits, '-', '_', '.', not dots alone.
Status checkNodeName(const std::string& what, const std::string& name);

}  // namespace baton::ha
