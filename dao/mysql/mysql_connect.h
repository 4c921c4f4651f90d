#pragma once

#include <cppconn/connection.h>

#include <memory>

#include "dao/database.h"
#include "dao/sql_session.h"

namespace baton::dao {

// Opens a connection for a kind of session: its user, its time limits, TLS, no silent reconnect.
// Throws sql::SQLException.
std::unique_ptr<sql::Connection> mysqlConnect(const DatabaseOptions& options, SessionKind kind);

// The user that a kind of session logs in as.
const std::string& mysqlUser(const DatabaseOptions& options, SessionKind kind);

}  // namespace baton::dao
