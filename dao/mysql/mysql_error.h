#pragma once

#include <string_view>

#include "common/base/status.h"

namespace baton::dao {

// What a server's or client library's error number means; `message` decides where a number is
// used for several things.
ErrorCode mysqlErrorCode(int number, std::string_view message);

// True if the connection is of no use after this error.
bool isMysqlLinkLost(int number);

Error mysqlError(int number, std::string_view message, std::string_view doing);

}  // namespace baton::dao
