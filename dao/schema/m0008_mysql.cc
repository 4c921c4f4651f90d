#include <array>

#include "dao/schema/migrations.h"

// Lists of runs by when they were made, and of events by when they happened, as those of tasks.
namespace baton::dao {
namespace {

constexpr std::array<std::string_view, 2> kMysqlMigration8{
    "CREATE INDEX IF NOT EXISTS run_created ON run (created_at)",
    "CREATE INDEX IF NOT EXISTS event_happened ON event (happened_at)",
};

}  // namespace

std::span<const std::string_view> mysqlMigration8() { return kMysqlMigration8; }

}  // namespace baton::dao
