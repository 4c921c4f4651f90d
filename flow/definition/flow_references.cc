#include <algorithm>
#include <tuple>

#include "common/model/ids.h"
#include "flow/definition/reading.h"

namespace baton::flow {
namespace {

using Use = FlowReference::Use;

// What becomes of `who` while the flow or task that it names is not there.
std::string_view consequenceOf(Use use, bool one) {
  switch (use) {
    case Use::SubFlow:
      return one ? "fails until there is one" : "fail until there is one";
    case Use::Wait:
      return one ? "waits until there is one" : "wait until there is one";
    case Use::Trigger:
      break;
  }
  return "nothing begins a run until there is one";
}

}  // namespace

std::vector<FlowIssue> unmetReferences(const std::string& file, const ParsedFlow& parsed,
                                       const KnownFlows& known) {
  // By what is missing: where it is named first, and the tasks that name it.
  struct Unmet {
    const FlowReference* first = nullptr;
    std::string missing;
    std::string hint;
    std::vector<std::string> tasks;
    bool whole = false;  // There is no such flow.
  };
  std::vector<Unmet> all;
  std::map<std::tuple<Use, std::string, std::string>, size_t> places;
  for (const FlowReference& reference : parsed.references) {
    const std::string key = nameKey(reference.flow);
    std::optional<std::set<std::string>> tasks;
    if (parsed.flow && key == nameKey(parsed.flow->name)) {
      tasks.emplace();
      for (const TaskNode& task : parsed.flow->tasks) tasks->insert(task.name);
    } else if (const auto there = known.find(key); there != known.end()) {
      tasks = there->second;
      if (!tasks) continue;
    }
    if (tasks && (reference.task.empty() || tasks->contains(reference.task))) continue;
    const bool whole = !tasks;
    const auto [at, is_new] =
        places.try_emplace({reference.use, key, whole ? "" : reference.task}, all.size());
    if (is_new) {
      Unmet& unmet = all.emplace_back();
      unmet.first = &reference;
      unmet.whole = whole;
      unmet.missing = fmt::format("there is no flow {}", reference.flow);
      if (!whole) {
        const std::vector<std::string_view> names(tasks->begin(), tasks->end());
        unmet.missing = fmt::format("flow {} has no task {}", reference.flow, reference.task);
        unmet.hint = hintFor(reference.task, names);
      }
    }
    if (!reference.by.empty()) all[at->second].tasks.push_back(reference.by);
  }
  std::vector<FlowIssue> issues;
  for (const Unmet& unmet : all) {
    const FlowReference& at = *unmet.first;
    const std::string who = unmet.tasks.empty() ? std::string() : tasksText(unmet.tasks) + " ";
    issues.push_back({file, at.line, at.column, at.key,
                      fmt::format("{}: {}{}{}", unmet.missing, who,
                                  consequenceOf(at.use, unmet.tasks.size() == 1), unmet.hint),
                      true, unmet.whole ? at.flow : std::string()});
  }
  return issues;
}

}  // namespace baton::flow
