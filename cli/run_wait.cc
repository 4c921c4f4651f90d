#include "cli/run_wait.h"

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/task_wait.h"
#include "common/base/duration_text.h"

namespace baton::cli {
namespace {

// "run 12 FAILED (task_failed: load)"
std::string runEndText(const Json& run) {
  const std::string reason = memberText(run, "reason");
  const std::string text = memberText(run, "reason_text");
  std::string why = reason;
  if (!text.empty()) why += (reason.empty() ? "" : ": ") + text;
  return printable(fmt::format("run {} {}{}", memberText(run, "id"), memberText(run, "status"),
                               why.empty() ? "" : " (" + why + ")"));
}

// Tells on a terminal how far a run is, whenever that changes.
class RunProgress {
 public:
  explicit RunProgress(Session& session) : session_(session) {}

  void show(const Json& run) {
    if (!session_.terminal() || session_.format() != Format::Table) return;
    const std::string line = lineOf(run);
    if (line == last_) return;
    last_ = line;
    session_.err() << printable(line) << "\n";
  }

 private:
  std::string lineOf(const Json& run) {
    const std::string id = memberText(run, "id");
    std::string line = fmt::format("run {} {}", id, memberText(run, "status"));
    const std::string waiting = memberText(run, "waiting_text");
    if (!waiting.empty()) return line + ": " + waiting;
    // What is said here is no more than a help: without an answer it is left out.
    const auto tasks = session_.api().get(runPath(id) + "/tasks");
    if (!tasks.ok() || !tasks->is_object() || !tasks->contains("items")) return line;
    const Json& items = tasks->at("items");
    const auto ended = std::count_if(items.begin(), items.end(), hasEnded);
    const auto running = std::count_if(items.begin(), items.end(), [](const Json& task) {
      return memberText(task, "status") == "RUNNING";
    });
    return line + fmt::format(": {} of {} tasks ended, {} running", ended, items.size(), running);
  }

  Session& session_;
  std::string last_;
};

}  // namespace

std::string runPath(const std::string& id) { return "/api/v1/runs/" + webapi::pathSegment(id); }

int runWait(Session& session, const RunWaitOptions& options) {
  BootTime deadline = BootTime::max();
  if (!options.timeout.empty()) {
    auto timeout = parseDuration(options.timeout);
    if (!timeout.ok()) return session.fail(Error(timeout.error()).withContext("--timeout"));
    deadline = session.clock().bootNow() + *timeout;
  }
  RunProgress progress(session);
  WaitPace pace;
  while (true) {
    const auto run = session.api().get(runPath(options.id));
    if (!run.ok()) return session.fail(run.error());
    if (hasEnded(*run)) {
      if (session.format() == Format::Table) {
        session.err() << runEndText(*run) << "\n";
      } else {
        session.printObject(*run);
      }
      return memberText(*run, "status") == "FINISHED" ? kExitOk : kExitFailure;
    }
    progress.show(*run);
    const BootTime now = session.clock().bootNow();
    if (now >= deadline) {
      const std::string waiting = memberText(*run, "waiting_text");
      session.err() << printable(fmt::format("baton: run {} is still {} after {}{}", options.id,
                                             memberText(*run, "status"), options.timeout,
                                             waiting.empty() ? "" : ": " + waiting))
                    << "\n";
      return kExitTimeout;
    }
    session.sleep(std::min(pace.next(), std::chrono::ceil<Millis>(deadline - now)));
  }
}

}  // namespace baton::cli
