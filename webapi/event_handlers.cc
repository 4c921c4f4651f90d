#include "webapi/event_handlers.h"

#include "webapi/flow_json.h"
#include "webapi/flow_requests.h"
#include "webapi/list_cursor.h"
#include "webapi/request_key.h"

namespace baton::webapi {
namespace {

using master::api::EventSent;

}  // namespace

void EventHandlers::bindTo(Router& router) {
  router.bind("sendEvent", [this](const Call& call) { send(call); });
  router.bind("listEvents", [this](const Call& call) { list(call); });
}

void EventHandlers::send(const Call& call) {
  auto event = readEventSend(call);
  if (!event.ok()) return call.fail(event.error());
  events_.send(std::move(*event), [call](Result<EventSent> sent) {
    if (!sent.ok()) return call.fail(sent.error());
    auto json = eventToJson(sent->event);
    if (!json.ok()) return call.fail(json.error());
    (*json)["known"] = sent->known;
    net::HttpResponse response = net::HttpResponse::json(sent->known ? 200 : 201, dumpJson(*json));
    markReplayed(response, sent->replayed);
    call.reply(std::move(response));
  });
}

void EventHandlers::list(const Call& call) {
  const auto query = readEventListQuery(call.request());
  if (!query.ok()) return call.fail(query.error());
  const auto view = events_.events(*query);
  if (!view.ok()) return call.fail(view.error());
  call.finish(listToJson(*view, eventToJson,
                         [](const EventRecord& event) { return eventCursorAfter(event.id); }));
}

}  // namespace baton::webapi
