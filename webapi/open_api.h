#pragma once

#include <span>
#include <string>

#include "common/base/json.h"
#include "webapi/route_spec.h"

namespace baton::webapi {

// The OpenAPI 3.1 document of these routes.
Json openApiDocument(std::span<const RouteSpec> specs, const std::string& version);

// components/schemas, written by hand.
Json openApiSchemas();

}  // namespace baton::webapi
