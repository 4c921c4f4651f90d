#include "dao/mysql/mysql_session.h"

#include <cppconn/exception.h>
#include <cppconn/resultset.h>
#include <mysql_connection.h>

#include <charconv>

#include "dao/mysql/mysql_batch.h"
#include "dao/mysql/mysql_connect.h"
#include "dao/mysql/mysql_error.h"

namespace baton::dao {
namespace {

class MysqlRow final : public SqlRow {
 public:
  explicit MysqlRow(sql::ResultSet& rows) : rows_(rows) {}
  bool isNull(int column) override { return rows_.isNull(index(column)); }
  int64_t integer(int column) override { return rows_.getInt64(index(column)); }
  uint64_t natural(int column) override { return rows_.getUInt64(index(column)); }
  std::string_view text(int column) override {
    const auto at = static_cast<size_t>(column);
    if (texts_.size() <= at) texts_.resize(at + 1);
    texts_[at] = rows_.getString(index(column));
    return texts_[at].asStdString();
  }

 private:
  static uint32_t index(int column) { return static_cast<uint32_t>(column) + 1; }

  sql::ResultSet& rows_;
  std::vector<sql::SQLString> texts_;
};

template <typename Number>
void appendNumber(std::string& sql, Number value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  sql.append(digits, end);
}

// Characters that change meaning in a quoted literal.
bool needsEscape(std::string_view text) {
  for (const char c : text) {
    if (c == '\'' || c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) return true;
  }
  return false;
}

}  // namespace

MysqlSession::MysqlSession(std::unique_ptr<sql::Connection> connection,
                           const DatabaseOptions& options)
    : options_(options),
      connection_(std::move(connection)),
      statement_(connection_->createStatement()),
      mysql_(dynamic_cast<sql::mysql::MySQL_Connection*>(connection_.get())) {
  CHECK(mysql_ != nullptr);
}

MysqlSession::~MysqlSession() {
  try {
    statement_.reset();
    connection_.reset();
  } catch (const sql::SQLException&) {
    // The connection is gone either way.
  }
}

Result<std::unique_ptr<SqlSession>> MysqlSession::open(const DatabaseOptions& options,
                                                       SessionKind kind) {
  const std::string doing =
      fmt::format("connect to database '{}' as '{}'", options.name, mysqlUser(options, kind));
  try {
    auto session = std::make_unique<MysqlSession>(mysqlConnect(options, kind), options);
    if (Status status = session->configure(kind); !status.ok()) {
      return Error(status.error()).withContext(doing);
    }
    return std::unique_ptr<SqlSession>(std::move(session));
  } catch (const sql::SQLException& e) {
    return mysqlError(e.getErrorCode(), e.what(), doing);
  }
}

Status MysqlSession::configure(SessionKind kind) {
  if (!options_.tls_ca.empty()) RETURN_IF_ERROR(checkTls());
  std::string set =
      "SET SESSION sql_mode='STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";
  set +=
      kind == SessionKind::Schema ? ",innodb_lock_wait_timeout=30" : ",innodb_lock_wait_timeout=1";
  RETURN_IF_ERROR(execute(set, {}).status());
  // The snapshot of a scan needs REPEATABLE READ; elsewhere it would only take gap locks.
  RETURN_IF_ERROR(execute(kind == SessionKind::Reader
                              ? "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
                              : "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                          {})
                      .status());
  if (kind == SessionKind::Writer || kind == SessionKind::Epoch) {
    // MariaDB alone knows it; elsewhere a lost host's transaction lasts until the next takeover's
    // KILL.
    const Status idle = execute("SET SESSION idle_transaction_timeout=5", {}).status();
    if (!idle.ok() && idle.error().code() == ErrorCode::Unavailable) return idle;
  }
  return query("SELECT CONNECTION_ID(),@@max_allowed_packet", {}, [this](SqlRow& row) {
    id_ = row.natural(0);
    packet_bytes_max_ = static_cast<size_t>(row.natural(1));
    return true;
  });
}

Status MysqlSession::checkTls() {
  std::string cipher;
  RETURN_IF_ERROR(query("SHOW SESSION STATUS LIKE 'Ssl_cipher'", {}, [&cipher](SqlRow& row) {
    cipher = row.text(1);
    return true;
  }));
  if (!cipher.empty()) return {};
  return Error::make(ErrorCode::PermissionDenied, "TLS is configured and the server has none");
}

Status MysqlSession::endSession(const DatabaseOptions& options, uint64_t id) {
  ASSIGN_OR_RETURN(const auto session, open(options, SessionKind::Epoch));
  const auto killed = session->execute("KILL CONNECTION ?", {id});
  // Gone already (1094): the error is not one of those that matter.
  if (killed.ok() || killed.error().code() == ErrorCode::Internal) return {};
  return killed.error();
}

void MysqlSession::interrupt() noexcept {
  try {
    (void)endSession(options_, id_);
  } catch (...) {
    // The blocked call ends by its own time limit.
  }
}

bool MysqlSession::alive() {
  if (broken_) return false;
  try {
    if (connection_->isValid()) return true;
  } catch (const sql::SQLException&) {
    // Said below.
  }
  broken_ = true;
  return false;
}

Error MysqlSession::failure(int number, std::string_view message, std::string_view doing) {
  if (isMysqlLinkLost(number)) broken_ = true;
  return mysqlError(number, message, doing);
}

void MysqlSession::appendLiteral(std::string& sql, std::string_view text) {
  sql += '\'';
  if (needsEscape(text)) {
    const sql::SQLString escaped = mysql_->escapeString(sql::SQLString(text.data(), text.size()));
    sql += escaped.asStdString();
  } else {
    sql += text;
  }
  sql += '\'';
}

std::string MysqlSession::filled(std::string_view sql, const SqlValues& values) {
  if (values.empty()) return std::string(sql);
  std::string text;
  text.reserve(sql.size() + 32 * values.size());
  size_t next = 0;
  for (const char c : sql) {
    if (c != '?') {
      text += c;
      continue;
    }
    CHECK(next < values.size());
    const SqlValue& value = values[next++];
    if (const auto* number = std::get_if<int64_t>(&value)) {
      appendNumber(text, *number);
    } else if (const auto* natural = std::get_if<uint64_t>(&value)) {
      appendNumber(text, *natural);
    } else if (const auto* words = std::get_if<std::string_view>(&value)) {
      appendLiteral(text, *words);
    } else {
      text += "NULL";
    }
  }
  CHECK(next == values.size());
  return text;
}

Result<uint64_t> MysqlSession::execute(std::string_view sql, const SqlValues& values) {
  try {
    if (statement_->execute(sql::SQLString(filled(sql, values)))) {
      // A result set that nobody asked for must not stay on the line.
      const std::unique_ptr<sql::ResultSet> drained(statement_->getResultSet());
      return uint64_t{0};
    }
    return statement_->getUpdateCount();
  } catch (const sql::SQLException& e) {
    return failure(e.getErrorCode(), e.what(), sql.substr(0, 40));
  }
}

Status MysqlSession::run(std::string_view sql, const SqlValues& values, const TakeRow& take,
                         bool stream) {
  try {
    const std::unique_ptr<sql::Statement> statement(connection_->createStatement());
    if (stream) statement->setResultSetType(sql::ResultSet::TYPE_FORWARD_ONLY);
    const std::unique_ptr<sql::ResultSet> rows(
        statement->executeQuery(sql::SQLString(filled(sql, values))));
    MysqlRow row(*rows);
    while (rows->next()) {
      if (!take(row)) break;
    }
    return {};
  } catch (const sql::SQLException& e) {
    return failure(e.getErrorCode(), e.what(), sql.substr(0, 40));
  }
}

Status MysqlSession::query(std::string_view sql, const SqlValues& values, const TakeRow& take) {
  return run(sql, values, take, false);
}

Status MysqlSession::stream(std::string_view sql, const SqlValues& values, const TakeRow& take) {
  return run(sql, values, take, true);
}

std::unique_ptr<SqlBatch> MysqlSession::batch(const BatchForm& form) {
  return std::make_unique<MysqlBatch>(*this, form);
}

}  // namespace baton::dao
