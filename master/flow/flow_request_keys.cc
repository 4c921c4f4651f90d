// Requests about flows that come with an Idempotency-Key: what was answered the first time.
#include "master/flow/flow_commands.h"

namespace baton::master {
namespace {

constexpr size_t kKeptChangesBytesMax = 64 * 1'024;

Error usedForAnother(const std::string& key) {
  return Error::conflict("Idempotency-Key {} was used for another kind of request", key);
}

// The stored answer to a request with a key: what it made. Its rows are read for a repetition.
std::string madeText(uint64_t id) { return dumpJson({{"made", std::to_string(id)}}); }

Result<uint64_t> readAnswer(const std::string& text, const std::string& key) {
  const auto json = parseJson(text);
  if (json.ok() && json->is_object() && json->contains("made") && (*json)["made"].is_string()) {
    if (const auto id = parseTaskId((*json)["made"].get<std::string>())) return *id;
  }
  return usedForAnother(key);
}

// The same of definitions. What is told of their changes may be long and is no part of the promise.
std::string appliedText(const api::FlowsApplied& applied) {
  Json flows = Json::array();
  size_t bytes = 0;
  for (const api::FlowApplied& one : applied.flows) {
    Json changes = Json::array();
    for (const std::string& change : one.changes) {
      if ((bytes += change.size()) <= kKeptChangesBytesMax) changes.push_back(change);
    }
    flows.push_back({{"flow", one.flow.record.name},
                     {"version", one.flow.record.version},
                     {"online", one.flow.record.online},
                     {"created", one.created},
                     {"changed", one.changed},
                     {"changes", std::move(changes)}});
  }
  return dumpJson({{"applied", std::move(flows)}});
}

Result<api::FlowsApplied> readApplied(const std::string& text, const std::string& key) {
  api::FlowsApplied applied;
  const auto json = parseJson(text);
  if (!json.ok() || !json->is_object() || !json->contains("applied")) {
    return usedForAnother(key);
  }
  for (const Json& one : (*json)["applied"]) {
    api::FlowApplied& flow = applied.flows.emplace_back();
    flow.flow.record.name = flow.flow.version.flow = one.value("flow", "");
    flow.flow.record.version = one.value("version", 0U);
    flow.flow.record.online = one.value("online", false);
    flow.created = one.value("created", false);
    flow.changed = one.value("changed", false);
    flow.changes = one.value("changes", std::vector<std::string>());
    flow.replayed = true;
  }
  return applied;
}

}  // namespace

template <typename View>
void FlowCommands::answerAgain(Operation& operation, const std::string& first,
                               const std::string& key, const api::Callback<View>& done) {
  const auto id = readAnswer(first, key);
  operation.then([this, id, done] { id.ok() ? replay(*id, done) : done(id.error()); });
}

// What was applied, as it was told then; the rest of the view is that of now.
void FlowCommands::answerAgain(Operation& operation, const std::string& first,
                               const std::string& key,
                               const api::Callback<api::FlowsApplied>& done) {
  auto applied = readApplied(first, key);
  if (applied.ok()) {
    for (api::FlowApplied& one : applied->flows) {
      const uint32_t version = one.flow.record.version;
      const bool online = one.flow.record.online;
      if (const LiveFlow* flow = find(one.flow.record.name)) one.flow = viewOf(*flow);
      one.flow.record.version = one.flow.version.version = version;
      one.flow.record.online = online;
    }
  }
  operation.then([done, applied = std::move(applied)] { done(applied); });
}

// The event as it is stored, and whether it was new then.
void FlowCommands::answerAgain(Operation& operation, const std::string& first,
                               const std::string& key, const api::Callback<api::EventSent>& done) {
  const auto json = parseJson(first);
  if (!json.ok() || !json->is_object() || !json->contains("event")) {
    return operation.then([done, key] { done(usedForAnother(key)); });
  }
  operation.then([this, done, name = json->value("event", ""), event_key = json->value("key", ""),
                  known = json->value("known", false)] {
    reads_.submit([done, name, event_key, known](dao::Reader& reader) {
      auto row = reader.event(name, event_key);
      if (!row.ok()) return done(row.error());
      if (!row->has_value()) return done(Error::notFound("event {} {} is gone", name, event_key));
      done(api::EventSent{std::move(**row), known, true});
    });
  });
}

template <typename View>
void FlowCommands::onceByKey(const api::Request& request,
                             std::function<void(const LookedUp&)> decide,
                             api::Callback<View> done) {
  if (request.idempotency_key.empty()) return decide({context_.clock.bootNow()});
  reads_.submit([this, request, decide = std::move(decide), done](dao::Reader& reader) {
    const BootTime at = context_.clock.bootNow();
    const auto stored = reader.idempotency(request.principal, request.idempotency_key);
    if (!stored.ok()) return done(stored.error());
    auto first = stored->has_value()
                     ? answerOf(**stored, request.request_hash, context_.clock.wallNow())
                     : Result<std::optional<std::string>>(std::optional<std::string>());
    const bool queued = context_.dispatcher.tryPost([this, request, decide, done, at, first] {
      const auto known =
          !first.ok() || first->has_value()
              ? first
              : recent_keys_.find(request.principal, request.idempotency_key, request.request_hash);
      if (!known.ok()) return done(known.error());
      if (!known->has_value()) return decide({at});
      // Behind what was decided before: the rows may be on their way.
      Operation operation;
      answerAgain(operation, **known, request.idempotency_key, done);
      context_.writer.submit(std::move(operation));
    });
    if (!queued) done(Error(ErrorCode::Overloaded, "the event queue is full"));
  });
}

void FlowCommands::replay(uint64_t id, const api::Callback<api::MadeRun>& done) {
  reads_.submit([id, done](dao::Reader& reader) {
    auto row = reader.run(id);
    if (!row.ok()) return done(row.error());
    if (!row->has_value()) return done(Error::notFound("there is no run {}", id));
    done(api::MadeRun{.run = std::move(**row), .replayed = true});
  });
}

void FlowCommands::replay(uint64_t id, const api::Callback<api::BackfillView>& done) {
  reads_.submit([id, done](dao::Reader& reader) {
    dao::RunFilter filter;
    filter.backfill = id;
    const auto page = reader.runs(filter, 0, kBackfillMax);
    if (!page.ok()) return done(page.error());
    api::BackfillView view;
    view.id = id;
    view.replayed = true;
    // Their numbers rise in the order in which they run.
    for (auto run = page->items.rbegin(); run != page->items.rend(); ++run) {
      view.plan_times.push_back(run->plan_time);
      view.runs.push_back(run->state.id);
    }
    done(std::move(view));
  });
}

void FlowCommands::keep(Operation& operation, const api::Request& request, std::string answer) {
  recent_keys_.keep(operation, {request.principal, request.idempotency_key, request.request_hash,
                                std::move(answer), context_.clock.wallNow()});
}

void FlowCommands::keepMade(Operation& operation, const api::Request& request, uint64_t id) {
  if (!request.idempotency_key.empty()) keep(operation, request, madeText(id));
}

void FlowCommands::sendEvent(const api::EventSend& event, api::Callback<api::EventSent> done) {
  onceByKey<api::EventSent>(
      event.request,
      [this, event, done](const LookedUp& looked_up) {
        if (const Status fresh = recent_keys_.checkFresh(looked_up.at); !fresh.ok()) {
          return done(fresh.error());
        }
        events_.send(event, [this, request = event.request, done](Result<api::EventSent> sent) {
          if (!sent.ok() || request.idempotency_key.empty()) return done(std::move(sent));
          keepSent(request, *sent, done);
        });
      },
      done);
}

void FlowCommands::keepSent(const api::Request& request, const api::EventSent& sent,
                            const api::Callback<api::EventSent>& done) {
  // The key may have been used while the event was looked up and stored.
  const auto known =
      recent_keys_.find(request.principal, request.idempotency_key, request.request_hash);
  if (!known.ok()) return done(known.error());
  Operation operation;
  if (known->has_value()) {
    answerAgain(operation, **known, request.idempotency_key, done);
  } else {
    keep(operation, request,
         dumpJson({{"event", sent.event.name}, {"key", sent.event.key}, {"known", sent.known}}));
    operation.then([done, sent] { done(sent); });
  }
  context_.writer.submit(std::move(operation));
}

void FlowCommands::keepApplied(Operation& operation, const api::Request& request,
                               const api::FlowsApplied& applied) {
  if (!request.idempotency_key.empty()) keep(operation, request, appliedText(applied));
}

template void FlowCommands::onceByKey(const api::Request& request,
                                      std::function<void(const LookedUp&)> decide,
                                      api::Callback<api::MadeRun> done);
template void FlowCommands::onceByKey(const api::Request& request,
                                      std::function<void(const LookedUp&)> decide,
                                      api::Callback<api::BackfillView> done);
template void FlowCommands::onceByKey(const api::Request& request,
                                      std::function<void(const LookedUp&)> decide,
                                      api::Callback<api::FlowsApplied> done);

}  // namespace baton::master
