#include "common/model/limit_records.h"

namespace baton {

std::string_view toString(LimitKind kind) {
  switch (kind) {
    case LimitKind::Cluster:
      return "cluster";
    case LimitKind::Group:
      return "group";
    case LimitKind::Flow:
      return "flow";
    case LimitKind::User:
      return "user";
    case LimitKind::Host:
      return "host";
    case LimitKind::Window:
      return "window";
  }
  return "";
}

}  // namespace baton
