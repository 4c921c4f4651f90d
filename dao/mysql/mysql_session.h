#pragma once

#include <cppconn/connection.h>
#include <cppconn/statement.h>

#include <memory>
#include <string>

#include "dao/database.h"
#include "dao/sql_session.h"

namespace sql::mysql {
class MySQL_Connection;
}

namespace baton::dao {

// One connection through MySQL Connector/C++. Transactions are ended by SQL text alone: the
// connector's commit(), rollback() and setAutoCommit() hide failures, so they are never called.
class MysqlSession final : public SqlSession {
 public:
  // Connects, checks TLS where it was asked for, and sets the session's variables.
  static Result<std::unique_ptr<SqlSession>> open(const DatabaseOptions& options, SessionKind kind);
  // Ends the connection with this id over a new one of the same user.
  static Status endSession(const DatabaseOptions& options, uint64_t id);

  MysqlSession(std::unique_ptr<sql::Connection> connection, const DatabaseOptions& options);
  ~MysqlSession() override;

  Result<uint64_t> execute(std::string_view sql, const SqlValues& values) override;
  Status query(std::string_view sql, const SqlValues& values, const TakeRow& take) override;
  Status stream(std::string_view sql, const SqlValues& values, const TakeRow& take) override;
  std::unique_ptr<SqlBatch> batch(const BatchForm& form) override;
  bool broken() const override { return broken_; }
  bool alive() override;
  uint64_t id() const override { return id_; }
  // Ends the connection from outside: a call that is blocked in it fails with Unavailable.
  void interrupt() noexcept override;

  // Appends a text as a quoted literal.
  void appendLiteral(std::string& sql, std::string_view text);
  // Upper bound of one statement: a quarter of the server's max_allowed_packet.
  size_t statementBytesMax() const { return packet_bytes_max_ / 4; }
  // A single row may be larger than that, but not than this.
  size_t rowBytesMax() const override { return packet_bytes_max_ - 1'024; }

 private:
  Status configure(SessionKind kind);
  Status checkTls();
  // The statement's text with the values in place of its question marks.
  std::string filled(std::string_view sql, const SqlValues& values);
  Status run(std::string_view sql, const SqlValues& values, const TakeRow& take, bool stream);
  Error failure(int number, std::string_view message, std::string_view doing);

  const DatabaseOptions options_;
  std::unique_ptr<sql::Connection> connection_;
  std::unique_ptr<sql::Statement> statement_;
  sql::mysql::MySQL_Connection* mysql_ = nullptr;  // connection_ as what it is.
  uint64_t id_ = 0;
  size_t packet_bytes_max_ = 1'048'576;
  bool broken_ = false;
};

}  // namespace baton::dao
