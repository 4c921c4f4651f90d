#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "flow/definition/flow_parser.h"

namespace baton::flow {

inline std::string issuesOf(const std::string& text, const FlowSurroundings& surroundings = {}) {
  std::string out;
  for (const FlowIssue& issue : parseFlow("f.yaml", text, surroundings).issues) {
    out += issue.text() + "\n";
  }
  return out;
}

inline FlowSpec flowOf(const std::string& text) {
  ParsedFlow parsed = parseFlow("f.yaml", text);
  EXPECT_TRUE(parsed.flow.has_value()) << text << "\n" << issuesOf(text);
  return parsed.flow ? *parsed.flow : FlowSpec{};
}

// A flow of one task with the given lines in it and, before `tasks`, in the flow.
inline std::string withTask(const std::string& lines, const std::string& flow_lines = {}) {
  std::string indented;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    indented += "    " + lines.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return "flow: f\n" + flow_lines + "tasks:\n  up: {noop: true}\n  t:\n" + indented;
}
inline const std::string kRun = "command: [x]\n";

struct IssueCase {
  std::string text;
  std::string said;
};

inline void expectIssues(const std::vector<IssueCase>& cases) {
  for (const IssueCase& c : cases) {
    const std::string issues = issuesOf(c.text);
    EXPECT_NE(issues.find(c.said), std::string::npos) << c.text << "\n" << issues;
    const ParsedFlow parsed = parseFlow("f.yaml", c.text);
    EXPECT_EQ(parsed.flow.has_value(), c.said.find("warning: ") != std::string::npos) << c.text;
  }
}

}  // namespace baton::flow
