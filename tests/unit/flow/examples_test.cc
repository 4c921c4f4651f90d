#include <dirent.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/unit/flow/flow_texts.h"

namespace baton::flow {
namespace {

struct Example {
  std::string name;
  std::string text;
};

std::vector<Example> examples() {
  const std::string folder = BATON_SOURCE_DIR "/docs/examples";
  std::vector<Example> found;
  DIR* open = ::opendir(folder.c_str());
  EXPECT_NE(open, nullptr) << folder;
  while (const dirent* entry = open == nullptr ? nullptr : ::readdir(open)) {
    const std::string name = entry->d_name;
    if (!name.ends_with(".yaml")) continue;
    std::stringstream text;
    text << std::ifstream(folder + "/" + name).rdbuf();
    found.push_back({name, text.str()});
  }
  if (open != nullptr) ::closedir(open);
  std::sort(found.begin(), found.end(),
            [](const Example& a, const Example& b) { return a.name < b.name; });
  return found;
}

// The examples of the documentation must be well, and come back the same from their canonical text.
TEST(FlowExamplesTest, AreWellAndComeBackTheSame) {
  EXPECT_EQ(examples().size(), 6U);
  for (const Example& example : examples()) {
    EXPECT_EQ(issuesOf(example.text), "") << example.name;
    const std::string canonical = canonicalText(flowOf(example.text));
    EXPECT_EQ(canonicalText(flowOf(canonical)), canonical) << example.name;
  }
}

std::string flowsPage() {
  std::stringstream text;
  text << std::ifstream(BATON_SOURCE_DIR "/docs/flows.md").rdbuf();
  return text.str();
}

// The example in the text of the documentation must be well too.
TEST(FlowExamplesTest, ExampleInTheTextIsWell) {
  const std::string page = flowsPage();
  const size_t begin = page.find("```yaml\n");
  ASSERT_NE(begin, page.npos);
  const size_t end = page.find("```", begin + 8);
  EXPECT_EQ(issuesOf(page.substr(begin + 8, end - begin - 8)), "");
}

// Every key that the readers know must stand in the reference. They tell their keys when asked for
// one that they do not know.
TEST(FlowExamplesTest, ReferenceHasEveryKey) {
  const std::string page = flowsPage();
  const std::string unknown = "nonsensical: x";
  size_t keys = 0;
  for (const std::string& text :
       {withTask(kRun, unknown + "\n"), withTask(kRun + unknown), withTask("script: x\n" + unknown),
        withTask("kind: k\n" + unknown), withTask("event: {name: x, " + unknown + "}\n"),
        withTask("http: {url: http://x, " + unknown + "}\n"),
        withTask(kRun + "retry: {" + unknown + "}\n"),
        withTask(kRun + "callback: {url: http://x, " + unknown + "}\n"),
        withTask(kRun, "schedule: {cron: '* * * * *', timezone: UTC, " + unknown + "}\n"),
        withTask(kRun, "schedule: {every: 1h, misfire: {" + unknown + "}}\n"),
        withTask(kRun, "defaults: {" + unknown + "}\n"),
        withTask(kRun, "overlap: {policy: skip, " + unknown + "}\n")}) {
    std::string issues = issuesOf(text);
    const size_t known = issues.find("; known are ");
    ASSERT_NE(known, issues.npos) << text << issues;
    std::string word;
    for (const char c : issues.substr(known + 12) + " ") {
      if (c == '_' || (c >= 'a' && c <= 'z')) {
        word += c;
        continue;
      }
      if (!word.empty() && word != "or") {
        const bool stands =
            page.find("`" + word + "`") != page.npos || page.find("." + word + "`") != page.npos ||
            page.find("`" + word + ":") != page.npos || page.find("`" + word + ".") != page.npos ||
            page.find("{" + word + ":") != page.npos || page.find(", " + word + ":") != page.npos;
        EXPECT_TRUE(stands) << word;
        ++keys;
      }
      word.clear();
    }
  }
  EXPECT_GT(keys, 100U);
}

// Pieces that mean something to the readers, to be put anywhere.
const std::vector<std::string>& pieces() {
  static const std::vector<std::string> kPieces{"\n",       " ",
                                                "  ",       "\t",
                                                ": ",       "- ",
                                                "{",        "}",
                                                "[",        "]",
                                                ",",        "\"",
                                                "'",        "#",
                                                "&a ",      "*a",
                                                "!!x ",     "<<: ",
                                                "? ",       "|",
                                                ">",        "---\n",
                                                "null",     "~",
                                                "010",      "1e9",
                                                "${",       "$[",
                                                "${a.b}",   "%",
                                                "needs",    "tasks",
                                                "when: ",   "retry: {max: ",
                                                "\xc3\xa4", "\xff",
                                                "\x04",     "\\",
                                                "@",        "`",
                                                "flow",     "${plan_time:%Y,-1d}",
                                                "cron: ",   "99999999999999999999",
                                                "-1",       "timeout: 1h\n"};
  return kPieces;
}

std::string mutated(std::string text, std::mt19937& random) {
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % (bound + 1)); };
  for (size_t i = 1 + below(random() % 3); i > 0; --i) {
    const size_t at = below(text.size());
    const size_t length = std::min(below(below(1) == 0 ? 3 : 60), text.size() - at);
    switch (below(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, pieces()[below(pieces().size() - 1)]);
        break;
      case 2:
        text.insert(below(text.size()), text.substr(at, length));
        break;
      case 3:
        if (at < text.size())
          text[at] = static_cast<char>(below(9) == 0 ? random() : 32 + below(94));
        break;
      default:
        text.replace(at, length, pieces()[below(pieces().size() - 1)]);
    }
  }
  return text;
}

// Whatever happens to a file, it is read or refused with a place, and what is read comes back the
// same; nothing crashes. BATON_SIM_SEED repeats one run.
TEST(FlowExamplesTest, RandomChangesAreReadOrRefused) {
  const char* chosen = std::getenv("BATON_SIM_SEED");
  const unsigned seed = chosen != nullptr ? static_cast<unsigned>(std::atoi(chosen)) : 20'261'130;
  const int rounds = std::getenv("BATON_LONG") != nullptr ? 500'000 : 4'000;
  std::mt19937 random(seed);
  std::vector<Example> texts = examples();
  for (const Example& example : examples()) {
    texts.push_back({example.name + " (JSON)", canonicalText(flowOf(example.text))});
  }
  size_t read = 0;
  size_t refused = 0;
  for (int round = 0; round < rounds; ++round) {
    const Example& example = texts[random() % texts.size()];
    const std::string text = mutated(example.text, random);
    const ParsedFlow parsed = parseFlow(example.name, text);
    bool wrong = false;
    for (const FlowIssue& issue : parsed.issues) {
      wrong = wrong || !issue.warning;
      EXPECT_FALSE(issue.message.empty());
      EXPECT_TRUE(issue.line > 0 && issue.column > 0) << "seed " << seed << "\n"
                                                      << issue.text() << "\n"
                                                      << text;
    }
    ASSERT_EQ(parsed.flow.has_value(), !wrong) << "seed " << seed << "\n" << text;
    ++(wrong ? refused : read);
    if (!parsed.flow) continue;
    const std::string canonical = canonicalText(*parsed.flow);
    const ParsedFlow again = parseFlow("canonical", canonical);
    ASSERT_TRUE(again.flow.has_value()) << "seed " << seed << "\n"
                                        << again.issues.front().text() << "\n"
                                        << text << canonical;
    ASSERT_EQ(canonicalText(*again.flow), canonical) << "seed " << seed << "\n" << text;
  }
  EXPECT_GT(read, 400U);
  EXPECT_GT(refused, 400U);
}

}  // namespace
}  // namespace baton::flow
