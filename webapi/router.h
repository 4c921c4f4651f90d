#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "webapi/call.h"
#include "webapi/route_spec.h"

namespace baton::webapi {

// Finds the route of a request. Filled before the server starts, read by any thread after that.
class Router {
 public:
  using Handler = std::function<void(const Call&)>;

  // The table outlives this. Where two patterns of a method fit a path, the one that names what
  // the other leaves open wins ("/tasks/bulk" before "/tasks/{id}"). A word that is no address of
  // that method stays a parameter: GET reads a flow that is called "validate".
  explicit Router(std::span<const RouteSpec> specs);

  // Names the handler of a route; each has exactly one.
  void bind(std::string_view operation, Handler handler);
  // Operations that nobody has bound.
  std::vector<std::string_view> unbound() const;

  struct Match {
    const RouteSpec* spec = nullptr;  // nullptr: nothing fits.
    const Handler* handler = nullptr;
    PathParams params;
    std::string allow;  // Without a route: methods that the path knows; empty: no such path.
  };
  // `path` is decoded and has no query. HEAD is served as GET.
  Match match(std::string_view method, std::string_view path) const;

 private:
  struct Entry {
    const RouteSpec* spec;
    std::vector<std::string_view> segments;
    Handler handler;
  };

  std::vector<Entry> entries_;
};

}  // namespace baton::webapi
