// Events from outside: the side of EventDesk that takes them in.
#include <algorithm>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/model/event_rules.h"
#include "common/model/task_rules.h"
#include "flow/definition/placeholder.h"
#include "master/flow/event_desk.h"
#include "master/state/audit.h"

namespace baton::master {
namespace {

constexpr size_t kEventNameMax = 128;
constexpr size_t kEventDataBytesMax = 64 * 1024;
// The runs that an event begins are made with it, in one transaction.
constexpr size_t kBegunBytesMax = 64 * 1024 * 1024;
constexpr size_t kEventsUnderWayMax = 10'000;

bool isEventName(std::string_view name) {
  return !name.empty() && name.size() <= kEventNameMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return c == '.' || isValidName({&c, 1});
         });
}

// The data become parameters and outputs, and have their names.
Status checkEventData(const std::map<std::string, std::string>& data) {
  if (data.size() > kMembersMax) {
    return Error::make(ErrorCode::TooLarge, "data has {} members, at most {} are taken",
                       data.size(), kMembersMax)
        .withField("data");
  }
  for (const auto& [name, value] : data) {
    const std::string shown = truncateUtf8(name, 80);
    if (const std::string_view wrong = wrongVariableName(name); !wrong.empty()) {
      return Error::invalidArgument("data.{}: {}", shown, wrong).withField("data." + shown);
    }
    if (flow::isBuiltInName(name)) {
      return Error::invalidArgument("data.{}: is a name that baton fills in itself", shown)
          .withField("data." + shown);
    }
  }
  return {};
}

Status checkEvent(const api::EventSend& event) {
  if (!isEventName(event.name)) {
    return Error::invalidArgument("name is \"{}\", expected 1 to {} of A-Z a-z 0-9 . _ -",
                                  truncateUtf8(event.name, 140), kEventNameMax)
        .withField("name");
  }
  if (!isEventKey(event.key)) {
    return Error::invalidArgument("key {}", eventKeyFault(event.key)).withField("key");
  }
  return checkEventData(event.data);
}

}  // namespace

void EventDesk::send(api::EventSend event, api::Callback<api::EventSent> done) {
  if (!open_) return done(Error(ErrorCode::NotActive, "this master does not take events yet"));
  if (const Status right = checkEvent(event); !right.ok()) return done(right.error());
  const size_t bytes = event.data.empty() ? 0 : dumpJson(Json(event.data)).size();
  if (bytes > kEventDataBytesMax) {
    return done(Error::make(ErrorCode::TooLarge, "data has {} bytes as JSON, at most {} are taken",
                            bytes, kEventDataBytesMax)
                    .withField("data"));
  }
  const auto begins = triggered_.find(firedByEvent(event.name));
  const size_t runs = begins == triggered_.end() ? 0 : begins->second.size();
  if (bytes * runs > kBegunBytesMax) {
    return done(
        Error::make(ErrorCode::TooLarge,
                    "data has {} bytes, and {} flows begin with this event, each with them; at "
                    "most {} MB in all are taken",
                    bytes, runs, kBegunBytesMax / (1024 * 1024))
            .withField("data"));
  }
  if (const Status accepts = context_.writer.acceptance(); !accepts.ok()) {
    return done(accepts.error());
  }
  const EventKey key{event.name, event.key};
  if (!sending_.contains(key) && sending_.size() >= kEventsUnderWayMax) {
    return done(Error::make(ErrorCode::Overloaded, "{} events are being stored; repeat in a moment",
                            sending_.size()));
  }
  const auto [it, inserted] = sending_.try_emplace(key);
  it->second.asked.push_back(std::move(done));
  if (!inserted) return;
  it->second.event = std::move(event);
  reads_.submit([this, key](dao::Reader& reader) {
    auto found = reader.event(key.first, key.second);
    context_.dispatcher.post([this, key, found = std::move(found)] { onSentLookedUp(key, found); });
  });
}

void EventDesk::onSentLookedUp(const EventKey& key, Result<std::optional<EventRecord>> found) {
  if (!open_) {
    return answerSent(key, Error(ErrorCode::NotActive, "this master does not lead any more"), {});
  }
  if (!found.ok()) return answerSent(key, found.error(), false);
  if (*found) return answerSent(key, **found, true);
  store(key, sending_.at(key));
}

void EventDesk::store(const EventKey& key, const Sending& sending) {
  const api::EventSend& event = sending.event;
  const WallTime now = context_.clock.wallNow();
  EventRecord record;
  Operation operation;
  record.id = event_ids_.take(operation);
  record.name = event.name;
  record.key = event.key;
  if (!event.data.empty()) record.data = dumpJson(Json(event.data));
  record.happened_at = event.happened_at.value_or(now);
  record.principal = event.request.principal;
  record.created_at = now;

  operation.changes.events.push_back(record);
  Audit audit(event.request, now, "event.send", record.name);
  audit.setParams({{"key", record.key}, {"data", auditNames(event.data)}});
  audit.setAfter({{"event_id", std::to_string(record.id)}});
  audit.putInto(operation, Status());
  fire(operation, firedByEvent(record.name), fmt::format("event:{}", record.id), record.happened_at,
       flow::ParamMap(event.data.begin(), event.data.end()));
  operation.then([this, key, record] {
    context_.dispatcher.post([this, key, record] {
      answerSent(key, record, false);
      lookAgain(Kind::Key, record.name, record.key, record.happened_at);
      lookAgain(Kind::HappenedAt, record.name, {}, record.happened_at);
    });
  });
  context_.writer.submit(std::move(operation));
  const auto post = [this](std::function<void()> call) {
    context_.dispatcher.post(std::move(call));
  };
  if (auto refill = event_ids_.refill(post)) context_.writer.submit(std::move(*refill));
}

void EventDesk::answerSent(const EventKey& key, const Result<EventRecord>& event, bool known) {
  auto node = sending_.extract(key);
  if (node.empty()) return;
  for (const auto& done : node.mapped().asked) {
    if (event.ok()) {
      done(api::EventSent{*event, known});
    } else {
      done(event.error());
    }
    known = true;  // To the others it is a repeat.
  }
}

}  // namespace baton::master
