#include "master/flow/flow_version.h"

#include "flow/definition/flow_parser.h"

namespace baton::master {
namespace {

NeedKind needKindOf(flow::NeedOn on) {
  switch (on) {
    case flow::NeedOn::Failure:
      return NeedKind::Failure;
    case flow::NeedOn::Done:
      return NeedKind::Done;
    case flow::NeedOn::Success:
      break;
  }
  return NeedKind::Success;
}

}  // namespace

std::optional<NodeIndex> FlowVersion::find(std::string_view task) const {
  const auto it = nodes.find(std::string(task));
  if (it == nodes.end()) return std::nullopt;
  return it->second;
}

std::shared_ptr<FlowVersion> makeFlowVersion(uint32_t number, flow::FlowSpec spec) {
  auto version = std::make_shared<FlowVersion>();
  version->number = number;
  const std::string& zone = spec.timezone;
  auto loaded = TimeZone::load(zone);
  CHECK(loaded.ok());
  version->zone = *loaded;
  for (NodeIndex i = 0; i < spec.tasks.size(); ++i) version->nodes[spec.tasks[i].name] = i;
  std::vector<FlowGraph::Node> graph(spec.tasks.size());
  version->when.resize(spec.tasks.size());
  for (NodeIndex i = 0; i < spec.tasks.size(); ++i) {
    const flow::TaskNode& task = spec.tasks[i];
    graph[i].disabled = task.disabled;
    if (task.kind == "flow") version->parts.insert(nameKey(task.flow));
    if (task.kind == "event" && nameKey(task.event.source.flow) == nameKey(spec.name)) {
      version->self_waits.insert(i);
    }
    for (const auto& [upstream, on] : task.needs) {
      graph[i].needs.push_back({version->nodes.at(upstream), needKindOf(on)});
    }
    if (task.when.empty()) continue;
    auto condition = flow::Condition::parse(task.when);
    CHECK(condition.ok());
    version->when[i] = std::move(*condition);
  }
  version->graph = std::make_shared<const FlowGraph>(std::move(graph));
  version->spec = std::move(spec);
  return version;
}

Result<std::shared_ptr<const FlowVersion>> readFlowVersion(const std::string& flow, uint32_t number,
                                                           std::string_view text) {
  flow::ParsedFlow parsed = flow::parseFlow(flow, text, {.stored = true});
  if (!parsed.flow) {
    std::string first = "no reason";
    for (const flow::FlowIssue& issue : parsed.issues) {
      if (issue.warning) continue;
      first = issue.text();
      break;
    }
    return Error::make(ErrorCode::Corrupt, "version {} of flow {} can't be read any more: {}",
                       number, flow, first);
  }
  return std::shared_ptr<const FlowVersion>(makeFlowVersion(number, std::move(*parsed.flow)));
}

}  // namespace baton::master
