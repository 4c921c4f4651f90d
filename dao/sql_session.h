#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/status.h"

namespace baton::dao {

// A bound value; text is borrowed for the length of the call.
using SqlValue = std::variant<std::nullptr_t, int64_t, uint64_t, std::string_view>;
using SqlValues = std::vector<SqlValue>;

// The current row of a query; columns count from 0. NULL reads as 0 or as empty text.
class SqlRow {
 public:
  virtual ~SqlRow() = default;
  virtual bool isNull(int column) = 0;
  virtual int64_t integer(int column) = 0;
  virtual uint64_t natural(int column) = 0;
  virtual std::string_view text(int column) = 0;  // Valid until the next row.
};

// What a batch of rows does to its table. The first `keys` columns are the primary key.
struct BatchForm {
  enum class Kind : uint8_t {
    Insert,  // New rows. One that exists with the same epoch and batch_id stays as it is; one of
             // another batch, or another row with the same unique key, is Corrupt.
    Upsert,  // Inserts or overwrites, found by primary key alone.
    Update,  // Rows that exist; one that does not is Corrupt.
    Ignore,  // New rows; those that exist stay as they are.
  };
  Kind kind = Kind::Upsert;
  std::string_view noun;  // Of a row, for errors: "task".
  std::string_view table;
  std::vector<std::string_view> columns;
  size_t keys = 1;
  std::string_view born_column = {};  // Kind Update: a text column that no real row has empty.
};

// Names a row in errors: "task 12", "attempt 12/3", "runner a:1".
struct RowKey {
  uint64_t id = 0;
  int64_t number = 0;
  std::string_view name = {};
};
std::string rowLabel(std::string_view noun, const RowKey& key);

// Many rows for one BatchForm: values column by column, endRow() after each row, finish() last.
// Errors: those of FencedTxn; Corrupt names the row.
class SqlBatch {
 public:
  virtual ~SqlBatch() = default;
  virtual SqlBatch& integer(int64_t value) = 0;
  virtual SqlBatch& natural(uint64_t value) = 0;
  virtual SqlBatch& text(std::string_view value) = 0;
  virtual SqlBatch& null() = 0;
  virtual Status endRow(const RowKey& key) = 0;
  virtual Status finish() = 0;
};

// One connection. One thread at a time, except interrupt(). Statements are constants of this
// module with `?` for values; no text from outside ever becomes part of one in another way.
// Errors: Unavailable (link lost: broken() is true from then on), Busy, StorageFull, Corrupt,
// PermissionDenied, Internal.
class SqlSession {
 public:
  // Gives each row; false ends the query early (which is a success).
  using TakeRow = std::function<bool(SqlRow&)>;

  virtual ~SqlSession() = default;
  // Returns the number of rows affected.
  virtual Result<uint64_t> execute(std::string_view sql, const SqlValues& values = {}) = 0;
  virtual Status query(std::string_view sql, const SqlValues& values, const TakeRow& take) = 0;
  // The same without holding the whole result in memory; no other call until it has returned.
  virtual Status stream(std::string_view sql, const SqlValues& values, const TakeRow& take) = 0;
  virtual std::unique_ptr<SqlBatch> batch(const BatchForm& form) = 0;

  virtual bool broken() const = 0;
  virtual bool alive() = 0;         // Asks the server.
  virtual uint64_t id() const = 0;  // As the server knows it; 0: none.
  virtual void interrupt() noexcept {}
  // Most bytes of SQL text that one row may have.
  virtual size_t rowBytesMax() const { return SIZE_MAX; }
};

enum class SessionKind : uint8_t { Writer, Reader, Epoch, Schema };

// How the two kinds of database differ.
class SqlBackend {
 public:
  virtual ~SqlBackend() = default;
  virtual Result<std::unique_ptr<SqlSession>> connect(SessionKind kind) = 0;

  virtual std::string_view beginWrite() const = 0;  // Starts a transaction that will write.
  virtual std::string_view beginSnapshot() const = 0;
  // Behind a table's name: read its rows by the primary key and not by an index.
  virtual std::string_view inKeyOrder() const = 0;
  // Joins two tables so that the first is read first.
  virtual std::string_view joinInOrder() const = 0;
  virtual std::string_view shareLock() const = 0;  // Suffixes of SELECT.
  virtual std::string_view writeLock() const = 0;
  virtual std::string_view writeLockNoWait() const = 0;

  // Serialises schema changes of several programs.
  virtual Status lockSchema(SqlSession& session) = 0;
  virtual Status unlockSchema(SqlSession& session) = 0;
  virtual Result<bool> hasTable(SqlSession& session, std::string_view table) = 0;
  virtual std::span<const std::string_view> migration(uint32_t version) const = 0;

  // Ends all other sessions of the read-write user.
  virtual Status endOtherWriters(SqlSession& mine) = 0;
  // Ends a session by its id, over a connection of its own; one that is gone is a success.
  virtual Status endSession(uint64_t id) = 0;
  virtual Result<std::vector<std::string>> durabilityWarnings() = 0;
};

}  // namespace baton::dao
