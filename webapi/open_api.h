#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/json.h"
#include "webapi/route_spec.h"

namespace baton::webapi {

// The OpenAPI 3.1 document of these routes.
Json openApiDocument(std::span<const RouteSpec> specs, const std::string& version);

// components/schemas, written by hand.
Json openApiSchemas();
// Those of flows, schedules, runs and events: JSON text of one object.
std::string_view openApiFlowSchemas();
std::string_view openApiActivitySchemas();

}  // namespace baton::webapi
