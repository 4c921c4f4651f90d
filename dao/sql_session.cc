#include "dao/sql_session.h"

namespace baton::dao {

std::string rowLabel(std::string_view noun, const RowKey& key) {
  if (!key.name.empty()) return fmt::format("{} {}", noun, key.name);
  if (key.number != 0) return fmt::format("{} {}/{}", noun, key.id, key.number);
  return fmt::format("{} {}", noun, key.id);
}

}  // namespace baton::dao
