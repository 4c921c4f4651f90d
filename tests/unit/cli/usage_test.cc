#include <gtest/gtest.h>

#include <sstream>

#include "cli/exit_code.h"
#include "tests/unit/cli/fake_cluster.h"

namespace baton::cli {
namespace {

// All programs there are, none of which does anything.
Programs allPrograms() {
  Programs programs;
  programs.master = [](const conf::MasterConfig&) { return 0; };
  programs.worker = [](const conf::WorkerConfig&) { return 0; };
  programs.standalone = [](const conf::StandaloneConfig&) { return 0; };
  programs.cluster_init = [](const conf::MasterConfig&, const InitOptions&) { return 0; };
  programs.bench = [](const std::vector<std::string>&) { return 0; };
  return programs;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// The words of an example as a shell reads them; what goes into a file or another program, or comes
// out of a file, is left out.
std::vector<std::string> shellWords(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool any = false;
  char quote = 0;
  for (const char c : line + " ") {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      any = true;
    } else if (c == ' ') {
      if (word == ">" || word == "<" || word == "|") break;
      if (any || !word.empty()) words.push_back(word);
      word.clear();
      any = false;
    } else {
      word += c;
    }
  }
  return words;
}

// The lines of the last paragraph, if it has examples.
std::vector<std::string> examplesIn(const std::string& help) {
  std::vector<std::string> lines;
  std::istringstream in(help);
  bool examples = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "Example:" || line == "Examples:") {
      examples = true;
      lines.clear();
    } else if (examples) {
      lines.push_back(line);
    }
  }
  return lines;
}

// Whoever asks a verb for help must find examples of it at the end, each of which the verb takes.
TEST(UsageTest, EveryVerbsHelpEndsWithExamplesThatWork) {
  FakeCluster cluster;
  const Programs programs = allPrograms();
  const auto verbs = allVerbs(programs);
  EXPECT_GT(verbs.size(), 60U);
  for (const std::vector<std::string>& verb : verbs) {
    SCOPED_TRACE(joined(verb));
    if (verb == std::vector<std::string>{"bench"}) continue;  // Reads its arguments itself.
    std::vector<std::string> line = verb;
    line.emplace_back("--help");
    EXPECT_EQ(cluster.run(line, "", programs), 0);
    EXPECT_EQ(cluster.err.str(), "");
    const auto examples = examplesIn(cluster.out.str());
    EXPECT_FALSE(examples.empty()) << cluster.out.str();
    for (const std::string& example : examples) {
      EXPECT_TRUE((example + " ").starts_with("  baton " + joined(verb) + " ")) << example;
      std::vector<std::string> words = shellWords(example);
      words.erase(words.begin());
      EXPECT_NE(cluster.run(words, "", programs), kExitUsage) << example << cluster.err.str();
    }
  }
}

// Help is written for people: none of the parser's own words, no line that a terminal breaks.
TEST(UsageTest, HelpReadsLikeAManual) {
  FakeCluster cluster;
  const Programs programs = allPrograms();
  auto all = allVerbs(programs);
  for (const char* noun : {"task", "flow", "run", "event", "missed", "audit", "schedule",
                           "calendar", "param", "host", "group", "limit", "cluster", "config"}) {
    all.push_back({noun});
  }
  all.push_back({});
  for (std::vector<std::string>& words : all) {
    SCOPED_TRACE(joined(words));
    if (words == std::vector<std::string>{"bench"}) continue;
    words.emplace_back("--help");
    EXPECT_EQ(cluster.run(words, "", programs), 0);
    const std::string help = cluster.out.str();
    for (const char* artefact : {"(1x)", "(2x)", "TEXT ...", "REQUIRED", "UINT", " INT",
                                 "SUBCOMMAND", "Positionals", "Excludes", "Needs:"}) {
      EXPECT_EQ(help.find(artefact), std::string::npos) << artefact << "\n" << help;
    }
    std::istringstream in(help);
    for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), 110U) << line;
  }
  EXPECT_EQ(cluster.run({"flow", "diff", "--help"}), 0);
  EXPECT_NE(cluster.out.str().find("usage: baton flow diff [OPTIONS] FILE [NEW]\n"),
            std::string::npos)
      << cluster.out.str();
  EXPECT_EQ(cluster.run({"task", "submit", "--help"}), 0);
  EXPECT_NE(cluster.out.str().find("\n  --hold                      Don't start"),
            std::string::npos)
      << cluster.out.str();
  EXPECT_NE(cluster.out.str().find("usage: baton task submit [OPTIONS] -- PROGRAM ARGS...\n"),
            std::string::npos);
}

// A mistake must be named with its value, and with what was probably meant or is known.
TEST(UsageTest, WhatIsWrongIsNamed) {
  FakeCluster cluster;
  const std::pair<std::vector<std::string>, std::string> mistakes[] = {
      {{}, "a command is missing; commands: task, flow, run, "},
      {{"flwo"}, "unknown command \"flwo\" of baton; did you mean flow? commands: task, flow, "},
      {{"-o", "json", "nothing"}, "unknown command \"nothing\" of baton; commands: task, "},
      {{"flow"}, "a verb of baton flow is missing; verbs: validate, diff, "},
      {{"flow", "vaildate"},
       "unknown verb \"vaildate\" of baton flow; did you mean validate? verbs: validate, diff, "},
      {{"flow", "foo", "--help"}, "unknown verb \"foo\" of baton flow; verbs: validate, "},
      {{"-n5", "flow", "foo"}, "unknown verb \"foo\" of baton flow"},
      {{"flow", "list", "--onlin"},
       "unknown option \"--onlin\" of baton flow list; did you mean --online?"},
      {{"flow", "list", "--colour=red"},
       "unknown option \"--colour\" of baton flow list; options: --text, --owner, "},
      {{"task", "get", "--nothing"}, "unknown option \"--nothing\" of baton task get; options: "},
      {{"task", "get", "--masers", "a:1", "4"}, "did you mean --masters?"},
      {{"task", "get"}, "ID: is missing"},
      {{"task", "get", "1", "2"}, "\"2\" is one word more than baton task get takes"},
      {{"flow", "diff", "a", "b", "c"}, "\"c\" is one word more than baton flow diff takes"},
      {{"task", "list", "-n"}, "--limit: needs a value"},
      {{"flow", "list", "--online=foo"}, "--online: takes no value"},
      {{"schedule", "preview", "--timezone", "UTC"}, "--cron: is missing"},
      {{"host", "whitelist", "maybe"}, "WORD: is \"maybe\", expected on or off"},
      {{"limit", "set", "group", "g", "3"}, "KIND: is \"group\", expected flow, user or host"},
      {{"limit", "delete", "group", "g"}, "KIND: is \"group\", expected flow, user or host"},
      {{"flow", "backfill", "f", "--at", "x", "--parallel", "0"},
       "--parallel: is \"0\", expected a whole number from 1 to 100"},
      {{"flow", "backfill", "f", "--at", "x", "--parallel", "99999999999999999999"},
       "expected a whole number from 1 to 100"},
      {{"calendar", "import", "c", "f", "--from", "1"},
       "--from: is \"1\", expected a whole number from 1970 to 2199"},
      {{"task", "list", "--group", ""}, "--group: is empty; give it a value, or leave it out"},
      {{"task", "list", "--flow="}, "--flow: needs a value"},
      {{"task", "list", "--flow=", "5"}, "--flow: is empty"},
      {{"cluster", "status", "--", "x"},
       "baton cluster status has no use for what stands behind --"},
      {{"task", "get", "--", "-x", "y"}, "\"y\" is one word more than baton task get takes"},
  };
  for (const auto& [words, said] : mistakes) {
    EXPECT_EQ(cluster.run(words), kExitUsage) << joined(words);
    const std::string err = cluster.err.str();
    EXPECT_TRUE(err.starts_with("baton: ")) << err;
    EXPECT_NE(err.find(said), std::string::npos) << joined(words) << ": " << err;
    EXPECT_EQ(cluster.out.str(), "");
  }
  EXPECT_EQ(cluster.run({"task", "get"}), kExitUsage);
  EXPECT_EQ(cluster.err.str(),
            "baton: ID: is missing\nusage: baton task get [OPTIONS] ID; --help tells more\n");
  EXPECT_TRUE(cluster.requests().empty());
}

// What looks like a verb is a name where a name is expected, and options may stand anywhere.
TEST(UsageTest, NamesMayBeWordsOfTheCommandLine) {
  FakeCluster cluster;
  cluster.on("GET /api/v1/flows/list", R"({"name":"list"})");
  EXPECT_EQ(cluster.run({"--no-header", "flow", "-ojson", "get", "--patience=1s", "list"}), 0)
      << cluster.err.str();
  EXPECT_EQ(cluster.out.str(), "{\n  \"name\": \"list\"\n}\n");
}

// Behind "--" nothing is an option, whatever it looks like.
TEST(UsageTest, WordsBehindDashesAreNoOptions) {
  FakeCluster cluster;
  cluster.on("GET /api/v1/flows/-x", R"({"name":"-x"})");
  EXPECT_EQ(cluster.run({"flow", "get", "-o", "json", "--", "-x"}), 0) << cluster.err.str();
  EXPECT_EQ(cluster.out.str(), "{\n  \"name\": \"-x\"\n}\n");
}

// An error about a field must read "FIELD: what is wrong", once, whoever found it.
TEST(UsageTest, ErrorsNameTheirField) {
  FakeCluster cluster;
  cluster.on("POST /api/v1/flows/f/trigger",
             {{400, "", "",
               R"({"status":400,"code":"invalid_argument","field":"plan_time",)"
               R"("detail":"plan_time: is \"x\", expected a time"})"}});
  EXPECT_EQ(cluster.run({"flow", "trigger", "f", "--plan-time", "x"}), kExitUsage);
  EXPECT_EQ(cluster.err.str(), "baton: plan_time: is \"x\", expected a time\n");
}

}  // namespace
}  // namespace baton::cli
