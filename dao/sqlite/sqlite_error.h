#pragma once

#include <sqlite3.h>

#include <string_view>

#include "common/base/status.h"

namespace baton::dao {

// The error of a result code. `db` may be null; its message is added.
Error sqliteError(int code, sqlite3* db, std::string_view doing);

}  // namespace baton::dao
