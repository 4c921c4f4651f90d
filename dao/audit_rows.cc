#include "dao/audit_rows.h"

#include "dao/conditions.h"
#include "dao/row_decoder.h"
#include "dao/sql_reader.h"

namespace baton::dao {
namespace {

constexpr size_t kAuditNameCharsMax = 128;
constexpr size_t kAuditObjectCharsMax = 255;
constexpr size_t kAuditWordCharsMax = 64;

QueryPart makeAuditQuery(const AuditFilter& filter, uint64_t before) {
  QueryPart query{.sql = " FROM audit a", .values = {}};
  Conditions where(query);
  if (before != 0) where.add("a.id<?", before);
  if (!filter.principal.empty()) where.add("a.principal=?", std::string_view(filter.principal));
  if (!filter.action.empty()) where.add("a.action=?", std::string_view(filter.action));
  if (!filter.kind.empty()) {
    where.add("a.action>=?", query.keep(filter.kind + '.'));
    where.add("a.action<?", query.keep(filter.kind + '/'));  // The character behind the dot.
  }
  if (!filter.object.empty()) where.add("a.object=?", std::string_view(filter.object));
  if (!filter.request_id.empty()) where.add("a.request_id=?", std::string_view(filter.request_id));
  if (filter.refused) where.add("a.refused=?", int64_t{*filter.refused});
  where.addTimes("a.at", filter.from, filter.until);
  return query;
}

}  // namespace

const BatchForm& auditForm() {
  static const BatchForm form{
      .kind = BatchForm::Kind::Insert,
      .noun = "audit row of",
      .table = "audit",
      .columns = {"id", "at", "principal", "remote", "request_id", "action", "object", "refused",
                  "epoch", "batch_id", "detail", "params", "before_text", "after_text"}};
  return form;
}

Status putAudit(RowEncoder& row, const AuditRecord& r) {
  row.null().time(r.at).name("principal", r.principal, kAuditNameCharsMax);
  row.name("remote", r.remote, kAuditWordCharsMax);
  row.name("request_id", r.request_id, kAuditWordCharsMax);
  row.name("action", r.action, kAuditWordCharsMax);
  row.name("object", r.object, kAuditObjectCharsMax).number(r.refused).mark().prose(r.detail);
  row.document("params", r.params, kTextBytesMax).document("before", r.before, kTextBytesMax);
  row.document("after", r.after, kTextBytesMax);
  return row.endRow({.name = r.action});
}

AuditRecord readAudit(SqlRow& row) {
  AuditRecord out;
  out.id = row.natural(0);
  out.at = readTime(row, 1);
  out.principal = row.text(2);
  out.remote = row.text(3);
  out.request_id = row.text(4);
  out.action = row.text(5);
  out.object = row.text(6);
  out.refused = row.integer(7) != 0;
  out.detail = row.text(8);
  out.params = row.text(9);
  out.before = row.text(10);
  out.after = row.text(11);
  return out;
}

Result<PageOf<AuditRecord>> SqlReader::audit(const AuditFilter& filter, uint64_t before,
                                             uint32_t limit) {
  QueryPart query = makeAuditQuery(filter, before);
  query.values.push_back(int64_t{limit} + 1);
  PageOf<AuditRecord> page;
  RETURN_IF_ERROR(
      collect(fmt::format("SELECT {}{} ORDER BY a.id DESC LIMIT ?", kAuditColumns, query.sql),
              query.values, [&](SqlRow& row) -> Status {
                page.more = page.items.size() == limit;
                if (!page.more) page.items.push_back(readAudit(row));
                return {};
              }));
  return page;
}

Result<uint64_t> SqlReader::countAudit(const AuditFilter& filter) {
  return countRows(makeAuditQuery(filter, 0));
}

}  // namespace baton::dao
