#pragma once

#include <string_view>

#include "common/model/audit_record.h"
#include "dao/row_encoder.h"
#include "dao/sql_session.h"

// Audit records as rows, in both directions; the rules of row_encoder.h and row_decoder.h hold.
namespace baton::dao {

const BatchForm& auditForm();
Status putAudit(RowEncoder& row, const AuditRecord& record);

inline constexpr std::string_view kAuditColumns =
    "a.id,a.at,a.principal,a.remote,a.request_id,a.action,a.object,a.refused,a.detail,a.params,"
    "a.before_text,a.after_text";
AuditRecord readAudit(SqlRow& row);

}  // namespace baton::dao
