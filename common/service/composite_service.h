#pragma once

#include <vector>

#include "common/service/service.h"

namespace baton {

// A service made of others: starts them in the order in which they were added and stops them in
// reverse. A child that fails to start stops those before it. Children outlive this.
class CompositeService : public Service {
 public:
  using Service::Service;

  // Before start only.
  void add(Service& child) { children_.push_back(&child); }

 protected:
  Status onStart() override;
  void onStop() noexcept override;

 private:
  std::vector<Service*> children_;
};

}  // namespace baton
