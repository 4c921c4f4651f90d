#include "webapi/open_api.h"

namespace baton::webapi {
namespace {

constexpr std::string_view kActivitySchemas = R"json({
"Audit": {"type": "object", "properties": {
  "id": {"type": "string"},
  "at": {"$ref": "#/components/schemas/Time"},
  "principal": {"type": ["string", "null"], "description": "Who asked."},
  "remote": {"type": ["string", "null"], "description": "From which address."},
  "request_id": {"type": ["string", "null"]},
  "action": {"type": "string", "examples": ["task.stop", "flow.apply"]},
  "object": {"type": "string", "description": "Id or name of what it is about."},
  "outcome": {"enum": ["done", "refused"]},
  "detail": {"type": ["string", "null"], "description": "Refused: why."},
  "params": {"type": ["object", "null"],
    "description": "What was asked beside the action; parameters and data by name alone."},
  "before": {"type": ["object", "null"], "description": "The object as it was."},
  "after": {"type": ["object", "null"]}}}
})json";

}  // namespace

std::string_view openApiActivitySchemas() { return kActivitySchemas; }

}  // namespace baton::webapi
