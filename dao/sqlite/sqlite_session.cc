#include "dao/sqlite/sqlite_session.h"

#include <fcntl.h>

#include <limits>
#include <thread>

#include "common/base/clock.h"
#include "common/base/file_descriptor.h"
#include "dao/sqlite/sqlite_batch.h"
#include "dao/sqlite/sqlite_error.h"

namespace baton::dao {
namespace {

constexpr size_t kStatementsMax = 64;
constexpr int kBusyMs = 1'000;
constexpr int kWalTries = 80;
constexpr Millis kWalPause{25};

class SqliteRow final : public SqlRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  bool isNull(int column) override {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  int64_t integer(int column) override { return sqlite3_column_int64(statement_, column); }
  uint64_t natural(int column) override { return static_cast<uint64_t>(integer(column)); }
  std::string_view text(int column) override {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    if (bytes == nullptr) return {};
    return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* const statement_;
};

// Ends a statement's run whatever happens: an open read would keep its snapshot.
class StatementRun {
 public:
  explicit StatementRun(sqlite3_stmt* statement) : statement_(statement) {}
  ~StatementRun() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  StatementRun(const StatementRun&) = delete;
  StatementRun& operator=(const StatementRun&) = delete;

 private:
  sqlite3_stmt* const statement_;
};

// Values are borrowed until the run is over.
int bindValue(sqlite3_stmt* statement, int at, const SqlValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return sqlite3_bind_int64(statement, at, *number);
  }
  if (const auto* number = std::get_if<uint64_t>(&value)) {
    return sqlite3_bind_int64(statement, at, static_cast<int64_t>(*number));
  }
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    return sqlite3_bind_text64(statement, at, text->data() == nullptr ? "" : text->data(),
                               text->size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, at);
}

}  // namespace

Result<std::unique_ptr<SqlSession>> SqliteSession::open(const std::string& path, SessionKind kind) {
  if (kind == SessionKind::Schema) {
    const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file.valid()) {
      return Error::unavailable("can't open or create the database file {}", path);
    }
  }
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<sqlite3, SqliteCloser> db(raw);
  if (code != SQLITE_OK) return sqliteError(code, db.get(), "open " + path);
  sqlite3_extended_result_codes(db.get(), 1);
  auto session = std::make_unique<SqliteSession>(std::move(db));
  if (Status status = session->configure(kind); !status.ok()) {
    return Error(status.error()).withContext("open " + path);
  }
  return std::unique_ptr<SqlSession>(std::move(session));
}

Status SqliteSession::configure(SessionKind kind) {
  sqlite3_busy_timeout(db_.get(), kBusyMs);
  RETURN_IF_ERROR(execute("PRAGMA synchronous=FULL", {}).status());
  if (kind == SessionKind::Schema) return useWriteAheadLog();
  if (kind == SessionKind::Reader) return execute("PRAGMA query_only=1", {}).status();
  return {};
}

Status SqliteSession::useWriteAheadLog() {
  for (int round = 0;; ++round) {
    std::string mode;
    const auto take = [&mode](SqlRow& row) {
      mode = row.text(0);
      return true;
    };
    Status status = query("PRAGMA journal_mode", {}, take);
    if (status.ok() && mode == "wal") return {};
    // The switch wants the file alone, and SQLite does not wait for that.
    if (status.ok()) status = query("PRAGMA journal_mode=WAL", {}, take);
    if (status.ok() && mode == "wal") return {};
    if (round == kWalTries || (!status.ok() && status.error().code() != ErrorCode::Busy)) {
      if (!status.ok()) return status;
      return Error::make(ErrorCode::Internal, "the file refuses journal mode WAL: it is {}", mode);
    }
    std::this_thread::sleep_for(kWalPause);
  }
}

Error SqliteSession::failure(int code, std::string_view doing) {
  Error error = sqliteError(code, db_.get(), doing);
  // A file that can't be read any more is opened anew by the next user; an interrupted call has
  // lost its transaction, but the connection is sound.
  if (error.code() == ErrorCode::Unavailable && (code & 0xff) != SQLITE_INTERRUPT) broken_ = true;
  return error;
}

Result<sqlite3_stmt*> SqliteSession::prepare(std::string_view sql) {
  const std::string key(sql);
  if (const auto found = statements_.find(key); found != statements_.end()) {
    return found->second.get();
  }
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(db_.get(), key.c_str(), static_cast<int>(key.size() + 1),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return failure(code, "prepare");
  // Lists make statements of many shapes; the store must not grow with them.
  if (statements_.size() >= kStatementsMax) statements_.clear();
  return statements_.emplace(key, SqliteStatement(raw)).first->second.get();
}

Result<sqlite3_stmt*> SqliteSession::bound(std::string_view sql, const SqlValues& values) {
  ASSIGN_OR_RETURN(sqlite3_stmt* const statement, prepare(sql));
  for (size_t i = 0; i < values.size(); ++i) {
    const int code = bindValue(statement, static_cast<int>(i) + 1, values[i]);
    if (code != SQLITE_OK) return failure(code, "bind");
  }
  return statement;
}

Result<uint64_t> SqliteSession::execute(std::string_view sql, const SqlValues& values) {
  ASSIGN_OR_RETURN(sqlite3_stmt* const statement, bound(sql, values));
  const StatementRun run(statement);
  int code = SQLITE_ROW;
  while (code == SQLITE_ROW) code = sqlite3_step(statement);
  if (code != SQLITE_DONE) return failure(code, sql.substr(0, 40));
  return static_cast<uint64_t>(sqlite3_changes64(db_.get()));
}

Status SqliteSession::query(std::string_view sql, const SqlValues& values, const TakeRow& take) {
  ASSIGN_OR_RETURN(sqlite3_stmt* const statement, bound(sql, values));
  const StatementRun run(statement);
  SqliteRow row(statement);
  int code = sqlite3_step(statement);
  while (code == SQLITE_ROW) {
    if (!take(row)) return {};
    code = sqlite3_step(statement);
  }
  if (code != SQLITE_DONE) return failure(code, sql.substr(0, 40));
  return {};
}

std::unique_ptr<SqlBatch> SqliteSession::batch(const BatchForm& form) {
  return std::make_unique<SqliteBatch>(*this, form);
}

}  // namespace baton::dao
