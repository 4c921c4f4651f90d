#include "webapi/open_api.h"

#include <cctype>

#include "net/http_message.h"

namespace baton::webapi {
namespace {

Json schemaRef(std::string_view name) {
  return {{"$ref", fmt::format("#/components/schemas/{}", name)}};
}

Json schemaText(std::string_view text) {
  Result<Json> parsed = parseJson(text);
  CHECK(parsed.ok());
  return std::move(*parsed);
}

Json pathParameters(std::string_view pattern) {
  Json parameters = Json::array();
  for (size_t open = pattern.find('{'); open != pattern.npos; open = pattern.find('{', open + 1)) {
    const size_t close = pattern.find('}', open);
    parameters.push_back({{"name", pattern.substr(open + 1, close - open - 1)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}}}});
  }
  return parameters;
}

Json parametersOf(const RouteSpec& spec) {
  Json parameters = pathParameters(spec.pattern);
  for (const QueryParam& query : spec.query) {
    Json schema = schemaText(query.schema);
    if (query.repeatable) schema = {{"type", "array"}, {"items", std::move(schema)}};
    Json parameter = {{"name", query.name},
                      {"in", "query"},
                      {"required", false},
                      {"description", query.doc},
                      {"schema", std::move(schema)}};
    parameters.push_back(std::move(parameter));
  }
  if (spec.idempotency_key) {
    parameters.push_back({{"name", "Idempotency-Key"},
                          {"in", "header"},
                          {"required", false},
                          {"description", "A repeat within 24 hours gets the first answer."},
                          {"schema", {{"type", "string"}, {"minLength", 1}, {"maxLength", 128}}}});
  }
  const auto header = [&](const char* name, const char* doc) {
    parameters.push_back({{"name", name},
                          {"in", "header"},
                          {"required", false},
                          {"description", doc},
                          {"schema", {{"type", "string"}}}});
  };
  if (spec.preconditions) {
    header("If-Match", "Only if this is the newest version: \"vN\", as ETag says it.");
    header("If-None-Match", "\"*\": only if there is none yet.");
  }
  return parameters;
}

Json securityOf(Access access) {
  Json security = Json::array();
  const auto add = [&](const char* scheme) {
    Json one = Json::object();
    one[scheme] = Json::array();
    security.push_back(std::move(one));
  };
  if (access == Access::Client || access == Access::Any) add("clientToken");
  if (access == Access::Worker || access == Access::Any) add("workerToken");
  return security;
}

Json answersOf(const RouteSpec& spec) {
  Json schema =
      spec.answer_schema.empty() ? Json{{"type", "string"}} : schemaRef(spec.answer_schema);
  Json content = Json::object();
  content[std::string(spec.answer_type)] = {{"schema", std::move(schema)}};
  if (spec.yaml_answer) content["application/yaml"] = {{"schema", {{"type", "string"}}}};
  Json answers = Json::object();
  for (const int status : {spec.ok_status, spec.other_ok_status}) {
    if (status == 0) continue;
    answers[std::to_string(status)] = {{"description", net::reasonPhrase(status)},
                                       {"content", content}};
  }
  answers["default"] = {{"$ref", "#/components/responses/Problem"}};
  return answers;
}

Json operationOf(const RouteSpec& spec) {
  Json operation = {{"operationId", spec.operation},       {"summary", spec.summary},
                    {"tags", Json::array({spec.tag})},     {"parameters", parametersOf(spec)},
                    {"security", securityOf(spec.access)}, {"responses", answersOf(spec)}};
  if (spec.body != BodyRule::None) {
    Json content = {{"application/json", {{"schema", schemaRef(spec.body_schema)}}}};
    if (spec.yaml_body) content["application/yaml"] = content["application/json"];
    operation["requestBody"] = {{"required", spec.body == BodyRule::Required},
                                {"content", std::move(content)}};
  }
  return operation;
}

}  // namespace

Json openApiDocument(std::span<const RouteSpec> specs, const std::string& version) {
  Json paths = Json::object();
  for (const RouteSpec& spec : specs) {
    std::string method(spec.method);
    for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    paths[std::string(spec.pattern)][method] = operationOf(spec);
  }
  const Json bearer = {{"type", "http"}, {"scheme", "bearer"}};
  const Json refusal = {
      {"description", "Not done; 503 carries Retry-After."},
      {"content", {{"application/problem+json", {{"schema", schemaRef("Problem")}}}}}};
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "baton"},
            {"version", version},
            {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", openApiSchemas()},
            {"responses", {{"Problem", refusal}}},
            {"securitySchemes", {{"clientToken", bearer}, {"workerToken", bearer}}}}}};
}

}  // namespace baton::webapi
