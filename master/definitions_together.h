#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/model/ids.h"
#include "master/api/flow_ports.h"

namespace baton::master {

// Definitions of one kind that are stored together or not at all, as they are read one by one: each
// has the name that its path says, and no name stands twice.
class DefinitionsTogether {
 public:
  // `noun`: "flow".
  explicit DefinitionsTogether(std::string noun) : noun_(std::move(noun)) {}

  // Takes the next one in: what was found in it, and its name, empty if it can't be read. Errors:
  // InvalidArgument (it is not the one that the path names).
  Status take(const std::string& file, const std::string& path_name, const std::string& name,
              std::vector<api::DefinitionIssue> found) {
    issues_.push_back(std::move(found));
    wrong_ = wrong_ || name.empty();
    if (name.empty()) return {};
    if (!path_name.empty() && nameKey(path_name) != nameKey(name)) {
      return Error(
          ErrorCode::InvalidArgument,
          fmt::format("the definition is of {} {}, the path says {}", noun_, name, path_name),
          noun_);
    }
    const auto [it, first] = files_.emplace(nameKey(name), file);
    if (first) return {};
    wrong_ = true;
    issues_.back().push_back({file, 1, 1, noun_,
                              fmt::format("{} is the {} of {} as well", name, noun_, it->second),
                              false});
    return {};
  }

  bool wrong() const { return wrong_; }
  // By definition, in the order in which they came.
  std::vector<std::vector<api::DefinitionIssue>>& issues() { return issues_; }
  std::vector<api::DefinitionIssue> allIssues() const {
    std::vector<api::DefinitionIssue> all;
    for (const auto& found : issues_) all.insert(all.end(), found.begin(), found.end());
    return all;
  }

 private:
  const std::string noun_;
  std::map<std::string, std::string> files_;  // By key.
  std::vector<std::vector<api::DefinitionIssue>> issues_;
  bool wrong_ = false;
};

}  // namespace baton::master
