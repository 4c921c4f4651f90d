// The lists of flows, runs, missed instants and events.
#include <algorithm>

#include "master/flow_ports.h"

namespace baton::master {
namespace {

// A list by what only definitions say looks at so many flows at a time, and for so long.
constexpr uint32_t kFlowsAtOnce = 500;
constexpr Micros kDefinitionLookMax = Seconds(5);

dao::RunFilter filterOfRuns(const api::RunListQuery& query) {
  dao::RunFilter filter;
  filter.flow = nameKey(query.flow);
  filter.statuses = query.statuses;
  filter.triggers = query.triggers;
  filter.backfill = query.backfill;
  filter.plan_from = query.plan_from;
  filter.plan_before = query.plan_before;
  filter.late = query.late;
  filter.reasons = query.reasons;
  filter.text = query.text;
  filter.principal = query.principal;
  filter.created_from = query.created_from;
  filter.created_before = query.created_before;
  return filter;
}

bool isDefinedSo(const flow::FlowSpec& spec, const api::FlowListQuery& query) {
  return (query.owner.empty() || spec.owner == query.owner) &&
         (query.tag.empty() ||
          std::find(spec.tags.begin(), spec.tags.end(), query.tag) != spec.tags.end());
}

}  // namespace

// ----------------------------------------------------------------------------------- flows

struct FlowPorts::FlowPage {
  std::vector<api::FlowView> items;
  // Of each; null: it can't be read any more.
  std::vector<std::shared_ptr<const FlowVersion>> newest;
  bool looked = false;  // At the definitions: the dispatcher answered in time.
  bool more = false;
};

Result<FlowPorts::FlowPage> FlowPorts::flowPage(ActiveTerm& term, const dao::FlowFilter& filter,
                                                const std::string& after, uint32_t limit) {
  ASSIGN_OR_RETURN(auto rows, readers_.with([&](dao::Reader& reader) {
    return reader.flows(filter, after, limit);
  }));
  FlowPage page;
  page.more = rows.more;
  std::vector<std::string> keys;
  for (dao::FlowRow& row : rows.items) {
    api::FlowView& view = page.items.emplace_back();
    view.record = std::move(row.record);
    if (row.version) view.version = std::move(*row.version);
    keys.push_back(view.record.key());
  }
  page.newest.resize(keys.size());
  auto versions = term.findNewestVersions(keys);
  page.looked = versions.has_value();
  if (versions) page.newest = std::move(*versions);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (page.newest[i] != nullptr) describeBy(page.newest[i]->spec, page.items[i]);
  }
  return page;
}

Result<api::ListOf<api::FlowView>> FlowPorts::flows(const api::FlowListQuery& query) {
  ASSIGN_OR_RETURN(const auto term, master_.activeTerm());
  const dao::FlowFilter filter{.online = query.online, .text = query.text};
  if (!query.owner.empty() || !query.tag.empty()) return flowsByDefinition(*term, filter, query);
  ASSIGN_OR_RETURN(FlowPage page, flowPage(*term, filter, query.after, query.limit));
  api::ListOf<api::FlowView> list{.items = std::move(page.items), .more = page.more};
  if (query.total) {
    ASSIGN_OR_RETURN(list.total,
                     readers_.with([&](dao::Reader& reader) { return reader.countFlows(filter); }));
  }
  return list;
}

Result<api::ListOf<api::FlowView>> FlowPorts::flowsByDefinition(ActiveTerm& term,
                                                                const dao::FlowFilter& filter,
                                                                const api::FlowListQuery& query) {
  const BootTime until = clock_.bootNow() + kDefinitionLookMax;
  api::ListOf<api::FlowView> list;
  uint64_t total = 0;
  std::string after = query.total ? std::string() : query.after;
  while (true) {
    ASSIGN_OR_RETURN(FlowPage page, flowPage(term, filter, after, kFlowsAtOnce));
    if (!page.looked) {
      return Error(ErrorCode::DeadlineExceeded, "the dispatcher did not answer in time");
    }
    for (size_t i = 0; i < page.items.size(); ++i) {
      if (page.newest[i] == nullptr || !isDefinedSo(page.newest[i]->spec, query)) continue;
      ++total;
      if (page.items[i].record.key() <= query.after) continue;
      list.more = list.items.size() == query.limit;
      if (!list.more) list.items.push_back(std::move(page.items[i]));
    }
    if (!page.more || page.items.empty() || (list.more && !query.total)) break;
    after = page.items.back().record.key();
    if (clock_.bootNow() > until) {
      return Error(ErrorCode::Overloaded,
                   "definitions are still to be read since the takeover; repeat in a moment");
    }
  }
  if (query.total) list.total = total;
  return list;
}

// ----------------------------------------------------------------------------------- runs

Result<api::ListOf<api::RunView>> FlowPorts::runs(const api::RunListQuery& query) {
  ASSIGN_OR_RETURN(const auto term, master_.activeTerm());
  const dao::RunFilter filter = filterOfRuns(query);
  ASSIGN_OR_RETURN(auto page, readers_.with([&](dao::Reader& reader) {
    return reader.runs(filter, query.before, query.limit);
  }));
  api::ListOf<api::RunView> list;
  list.more = page.more;
  std::vector<api::RunView*> views;
  list.items.reserve(page.items.size());
  for (RunRecord& record : page.items) {
    views.push_back(&list.items.emplace_back(api::RunView{std::move(record), {}}));
  }
  if (query.total) {
    ASSIGN_OR_RETURN(list.total,
                     readers_.with([&](dao::Reader& reader) { return reader.countRuns(filter); }));
  }
  explainWaiting(*term, std::move(views));
  return list;
}

Result<api::ListOf<MissedRecord>> FlowPorts::missed(const api::MissedListQuery& query) {
  RETURN_IF_ERROR(master_.activeTerm().status());
  const dao::MissedFilter filter{.flow = nameKey(query.flow),
                                 .text = query.text,
                                 .reasons = query.reasons,
                                 .plan_from = query.plan_from,
                                 .plan_before = query.plan_before};
  ASSIGN_OR_RETURN(auto page, readers_.with([&](dao::Reader& reader) {
    return reader.missed(filter, query.before, query.before_key, query.limit);
  }));
  api::ListOf<MissedRecord> list{.items = std::move(page.items), .more = page.more};
  if (query.total) {
    ASSIGN_OR_RETURN(
        list.total, readers_.with([&](dao::Reader& reader) { return reader.countMissed(filter); }));
  }
  return list;
}

// ----------------------------------------------------------------------------------- events

Result<api::ListOf<EventRecord>> FlowPorts::events(const api::EventListQuery& query) {
  RETURN_IF_ERROR(master_.activeTerm().status());
  const dao::EventFilter filter{.name = query.name,
                                .text = query.text,
                                .key = query.key,
                                .happened_from = query.happened_from,
                                .happened_before = query.happened_before};
  ASSIGN_OR_RETURN(auto page, readers_.with([&](dao::Reader& reader) {
    return reader.events(filter, query.before, query.limit);
  }));
  api::ListOf<EventRecord> list{.items = std::move(page.items), .more = page.more};
  if (query.total) {
    ASSIGN_OR_RETURN(
        list.total, readers_.with([&](dao::Reader& reader) { return reader.countEvents(filter); }));
  }
  return list;
}

}  // namespace baton::master
