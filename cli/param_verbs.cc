#include "cli/param_verbs.h"

#include "cli/exit_code.h"
#include "cli/flow_verbs.h"
#include "cli/stored_definition.h"

namespace baton::cli {
namespace {

constexpr size_t kValueBytesShown = 60;  // In a list.

std::string paramPath(const std::string& name) {
  return "/api/v1/params/" + webapi::pathSegment(name);
}

std::string shortValue(const Json& param) {
  return truncateUtf8(memberText(param, "value"), kValueBytesShown);
}

Facts paramFacts(const Json& param) {
  std::string version = memberText(param, "version");
  const std::string author = memberText(param, "author");
  if (!author.empty()) version += " by " + author;
  return {{"parameter", memberText(param, "name")},
          {"value", memberText(param, "value")},
          {"version", version + " at " + memberText(param, "updated_at")}};
}

}  // namespace

int paramList(Session& session) {
  const auto answer = session.api().get("/api/v1/params");
  if (!answer.ok()) return session.fail(answer.error());
  if (!answer->is_object() || !answer->contains("items")) {
    return session.fail(Error::make(ErrorCode::Corrupt, "the master's answer is no list"));
  }
  session.printRows({memberColumn("NAME", "name"),
                     memberColumn("VERSION", "version"),
                     timeColumn("CHANGED", "updated_at"),
                     memberColumn("BY", "author"),
                     {"VALUE", shortValue}},
                    (*answer)["items"], *answer);
  return kExitOk;
}

int paramGet(Session& session, const std::string& name) {
  const auto param = session.api().get(paramPath(name));
  if (!param.ok()) return session.fail(param.error());
  if (session.format() == Format::Table) {
    printFacts(session.out(), paramFacts(*param));
  } else {
    session.printObject(*param);
  }
  return kExitOk;
}

int paramSet(Surroundings& surroundings, Session& session, const std::string& name,
             const std::string& value) {
  std::string text = value;
  if (value == "-") {
    auto read = readDefinition(surroundings, value);
    if (!read.ok()) return session.fail(read.error());
    text = std::move(*read);
    if (text.ends_with('\n')) text.pop_back();
  }
  if (!isValidUtf8(text)) return session.fail(Error::invalidArgument("VALUE: is no UTF-8 text"));
  webapi::ApiRequest request;
  request.method = "PUT";
  request.target = paramPath(name);
  request.body = dumpJson({{"value", text}});
  const auto reply = session.api().call(request);
  if (!reply.ok()) return session.fail(reply.error());
  const auto param = reply->json();
  if (!param.ok()) return session.fail(param.error());
  const bool created = memberText(*param, "created") == "true";
  const bool changed = memberText(*param, "changed") == "true";
  session.printLine(printable(fmt::format("parameter {} version {} {}", memberText(*param, "name"),
                                          memberText(*param, "version"),
                                          created   ? "created"
                                          : changed ? "set"
                                                    : "unchanged")),
                    *param);
  return kExitOk;
}

int paramDelete(Session& session, const std::string& name, bool yes) {
  return deleteStored(session, paramPath(name), "parameter", name, "", yes);
}

}  // namespace baton::cli
