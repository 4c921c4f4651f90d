#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "flow/definition/flow_parser.h"

namespace baton::cli {

struct FlowFileOptions {
  std::vector<std::string> files;           // "-": standard input.
  std::vector<std::string> project_params;  // Names of those that the project has.
  std::string output;                       // Word of a format.
};

// Exit codes of `flow diff` beside 0.
inline constexpr int kExitDiffers = 1;
inline constexpr int kExitDiffFailed = 255;

// The text of a definition; "-" is standard input, 1 MB of it as of a file. Errors: as
// conf::readConfigFile.
Result<std::string> readDefinition(Surroundings& surroundings, const std::string& file);
// The file as people read it.
std::string shownFile(const std::string& file);
void printIssues(std::ostream& out, const std::vector<flow::FlowIssue>& issues);
void printChanges(std::ostream& out, Format format, const std::vector<std::string>& changes);

// Checks definitions of flows without a master and tells everything that is wrong with them.
// Returns 0, 2 (something is wrong) or 3 (no such file).
int flowValidate(Surroundings& surroundings, const FlowFileOptions& options);

// Says in words what differs between two definitions (files[0] and files[1]). Returns 0 (nothing),
// 1 (something) or 255 (one can't be read or is wrong).
int flowDiff(Surroundings& surroundings, const FlowFileOptions& options);

}  // namespace baton::cli
