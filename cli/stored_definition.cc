#include "cli/stored_definition.h"

#include "cli/exit_code.h"

namespace baton::cli {

int showStored(Session& session, const std::string& target,
               const std::function<Facts(const Json&)>& facts) {
  webapi::ApiRequest request;
  request.target = target;
  if (session.format() == Format::Yaml) request.accept = "application/yaml";
  const auto reply = session.api().call(request);
  if (!reply.ok()) return session.fail(reply.error());
  if (session.format() == Format::Yaml) {
    session.out() << reply->body;
    if (!reply->body.ends_with('\n')) session.out() << "\n";
    return kExitOk;
  }
  const auto stored = reply->json();
  if (!stored.ok()) return session.fail(stored.error());
  if (session.format() == Format::Json) {
    session.printObject(*stored);
  } else {
    printFacts(session.out(), facts(*stored));
  }
  return kExitOk;
}

AppliedTogether applyTogether(Session& session, webapi::ApiRequest request,
                              const std::function<bool()>& told) {
  request.method = "POST";
  request.timeout = Millis(60'000);
  const auto reply = session.api().call(request);
  if (!reply.ok()) {
    if (told()) return {nothingApplied(session, kExitUsage)};
    const int failed = session.fail(reply.error());
    // Otherwise the answer may have been lost, and not the request.
    const bool refused = failed == kExitUsage || failed == kExitRefused;
    return {refused ? nothingApplied(session, failed) : failed};
  }
  auto answer = reply->json();
  if (!answer.ok()) return {session.fail(answer.error())};
  const auto items = answer->find("items");
  if (items == answer->end() || !items->is_array()) {
    return {session.fail(Error::internal("the master's answer has no items"))};
  }
  return {kExitOk, std::move(*items)};
}

std::string otherKind(std::string_view text, std::string_view wanted) {
  const std::string_view other = wanted == "flow" ? "calendar" : "flow";
  const auto has_key = [text](std::string_view key) {
    const std::string line = fmt::format("{}:", key);
    return text.starts_with(line) || text.find("\n" + line) != text.npos;
  };
  if (has_key(wanted) || !has_key(other)) return {};
  return fmt::format("is a {0}; baton {0} apply stores it", other);
}

int nothingApplied(Session& session, int code) {
  session.err() << "baton: nothing was applied\n";
  return code;
}

// Of a flow that is gone: the flows that name it.
void warnOfNamers(Session& session, const Json& deleted) {
  const auto namers = deleted.find("named_by");
  if (namers == deleted.end() || !namers->is_array() || namers->empty()) return;
  constexpr size_t kShown = 5;
  std::string names;
  for (size_t i = 0; i < namers->size() && i < kShown; ++i) {
    names += (i == 0 ? "" : ", ") + (*namers)[i].get<std::string>();
  }
  if (namers->size() > kShown) names += fmt::format(" and {} more", namers->size() - kShown);
  session.err() << printable(fmt::format(
                       "baton: warning: flow {} is named by {}: what runs it fails, what waits for "
                       "it waits, and nothing begins with its end, until there is one again",
                       memberText(deleted, "name"), names))
                << "\n";
}

int deleteStored(Session& session, const std::string& path, const std::string& noun,
                 const std::string& name, const std::string& consequence, bool yes) {
  if (!yes && !session.terminal()) {
    // What is not there needs no answer.
    const auto stored = session.api().get(path);
    if (!stored.ok() && stored.error().code() == ErrorCode::NotFound) {
      return session.fail(stored.error());
    }
    return session.fail(
        Error::invalidArgument("nobody can be asked whether {} {} is to be deleted; -y says yes",
                               noun, truncateUtf8(name, 80)));
  }
  if (!yes) {
    session.err() << fmt::format("Delete {} {}{}? [y/N] ", noun, printable(name), consequence)
                  << std::flush;
    std::string answer;
    std::getline(session.in(), answer);
    if (answer != "y" && answer != "Y" && answer != "yes") {
      session.err() << "baton: not deleted\n";
      return kExitFailure;
    }
  }
  auto deleted = session.api().remove(path);
  if (!deleted.ok()) return session.fail(deleted.error());
  if (deleted->is_null()) *deleted = {{"name", name}};
  session.printLine(printable(fmt::format("{} {} deleted", noun, memberText(*deleted, "name"))),
                    *deleted);
  warnOfNamers(session, *deleted);
  return kExitOk;
}

}  // namespace baton::cli
