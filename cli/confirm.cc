#include "cli/confirm.h"

namespace baton::cli {

Result<bool> confirmed(Session& session, bool yes, const std::string& what,
                       const std::string& question) {
  if (yes) return true;
  if (!session.terminal()) {
    return Error::invalidArgument("nobody can be asked whether {}; -y says yes", what);
  }
  session.err() << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(session.in(), answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace baton::cli
