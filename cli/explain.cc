#include "cli/explain.h"

#include "cli/exit_code.h"

namespace baton::cli {

int explain(Session& session, const char* noun, const std::string& path, const std::string& id) {
  return explainAt(session, noun, id, path + "/explain");
}

int explainAt(Session& session, const std::string& noun, const std::string& id,
              const std::string& target) {
  const auto explanation = session.api().get(target);
  if (!explanation.ok()) return session.fail(explanation.error());
  if (session.format() != Format::Table) {
    session.printObject(*explanation);
    return kExitOk;
  }
  session.out() << printable(fmt::format("{} {} {}", noun, id, memberText(*explanation, "status")))
                << "\n";
  const auto reasons = explanation->find("reasons");
  if (reasons == explanation->end()) return kExitOk;
  for (const Json& reason : *reasons) {
    if (reason.is_string()) session.out() << "  " << printable(reason.get<std::string>()) << "\n";
  }
  return kExitOk;
}

}  // namespace baton::cli
