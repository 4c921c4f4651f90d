#include "webapi/param_handlers.h"

#include "webapi/body_reader.h"
#include "webapi/definition_answers.h"
#include "webapi/flow_json.h"
#include "webapi/flow_requests.h"
#include "webapi/list_cursor.h"
#include "webapi/query_reader.h"
#include "webapi/request_key.h"
#include "webapi/task_json.h"

namespace baton::webapi {
namespace {

using master::api::ParamIsSet;
using master::api::ParamSet;

Json paramToJson(const ParamRecord& param) {
  return {{"name", param.name},
          {"version", param.version},
          {"value", param.value},
          {"author", textOrNull(param.author)},
          {"updated_at", timeToJson(param.updated_at)}};
}

Result<ParamSet> readParamSet(const Call& call) {
  ParamSet set;
  set.name = call.pathParam("name");
  RETURN_IF_ERROR(QueryReader(call.request()).finish());
  RETURN_IF_ERROR(readPreconditions(call.request(), set.if_version));
  ASSIGN_OR_RETURN(const Json json, readObjectBody(call.request()));
  JsonReader reader(json);
  require(reader, "value");
  reader.string("value", set.value);
  RETURN_IF_ERROR(reader.finish());
  set.request = requesterOf(call);
  return set;
}

}  // namespace

void ParamHandlers::bindTo(Router& router) {
  router.bind("listParams", [this](const Call& call) { list(call); });
  router.bind("getParam", [this](const Call& call) { get(call); });
  router.bind("setParam", [this](const Call& call) { set(call); });
  router.bind("deleteParam", [this](const Call& call) { remove(call); });
}

void ParamHandlers::list(const Call& call) {
  if (const Status read = QueryReader(call.request()).finish(); !read.ok()) {
    return call.fail(read.error());
  }
  const auto params = params_.params();
  if (!params.ok()) return call.fail(params.error());
  Json items = Json::array();
  for (const ParamRecord& param : *params) items.push_back(paramToJson(param));
  call.replyJson(pageToJson(std::move(items), ""));
}

void ParamHandlers::get(const Call& call) {
  const auto param = params_.param(call.pathParam("name"));
  if (!param.ok()) return call.fail(param.error());
  net::HttpResponse response = net::HttpResponse::json(200, dumpJson(paramToJson(*param)));
  response.headers.add("ETag", etagOf(param->version));
  call.reply(std::move(response));
}

void ParamHandlers::set(const Call& call) {
  auto set = readParamSet(call);
  if (!set.ok()) return call.fail(set.error());
  params_.set(std::move(*set), [call](Result<ParamIsSet> is_set) {
    if (!is_set.ok()) return failDefinition(call, is_set.error());
    Json json = paramToJson(is_set->param);
    json["created"] = is_set->created;
    json["changed"] = is_set->changed;
    net::HttpResponse response =
        net::HttpResponse::json(is_set->created ? 201 : 200, dumpJson(json));
    if (is_set->created) {
      response.headers.add("Location", fmt::format("/api/v1/params/{}", is_set->param.name));
    }
    response.headers.add("ETag", etagOf(is_set->param.version));
    call.reply(std::move(response));
  });
}

void ParamHandlers::remove(const Call& call) {
  params_.remove(call.pathParam("name"), requesterOf(call), [call](Result<ParamRecord> param) {
    if (!param.ok()) return call.fail(param.error());
    call.replyJson(paramToJson(*param));
  });
}

}  // namespace baton::webapi
