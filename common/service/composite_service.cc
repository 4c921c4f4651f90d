#include "common/service/composite_service.h"

namespace baton {

Status CompositeService::onStart() {
  for (Service* child : children_) RETURN_IF_ERROR(child->start());
  return {};
}

void CompositeService::onStop() noexcept {
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) (*child)->stop();
}

}  // namespace baton
