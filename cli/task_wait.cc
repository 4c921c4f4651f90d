#include "cli/task_wait.h"

#include <algorithm>

#include "cli/exit_code.h"
#include "common/base/duration_text.h"

namespace baton::cli {

Millis WaitPace::next() {
  const Millis pause = pause_;
  pause_ = std::min<Millis>(pause_ * 3 / 2, Millis(1'000));
  return pause;
}

bool hasEnded(const Json& task) {
  const std::string status = memberText(task, "status");
  return status == "FINISHED" || status == "FAILED" || status == "SKIPPED" ||
         status == "TERMINATED";
}

std::string taskPath(const std::string& id) { return "/api/v1/tasks/" + webapi::pathSegment(id); }

std::string endText(const Json& task) {
  const std::string reason = memberText(task, "reason");
  std::string text = fmt::format("task {} {}", memberText(task, "id"), memberText(task, "status"));
  if (memberText(task, "status") == "FINISHED") {
    // Of a task that needed no second try it says which outputs are not there.
    const std::string note = reason.empty() ? memberText(task, "reason_text") : "";
    return printable(note.empty() ? text : fmt::format("{}; {}", text, note));
  }
  if (reason == "exit_code") {
    text += fmt::format(" (exit code {})", memberText(task, "return_code"));
  } else if (reason == "signal") {
    text += fmt::format(" (signal {})", memberText(task, "signal"));
  } else if (!reason.empty()) {
    const std::string why = memberText(task, "reason_text");
    text += fmt::format(" ({}{}{})", reason, why.empty() ? "" : ": ", why);
  }
  return printable(text);
}

std::string waitingText(const Json& task, std::string_view lead) {
  const auto waiting = task.find("waiting_for");
  if (waiting == task.end() || !waiting->is_object()) return {};
  const std::string text = memberText(*waiting, "text");
  return std::string(lead) + (text.empty() ? memberText(*waiting, "code") : text);
}

int taskWait(Session& session, const WaitOptions& options) {
  BootTime deadline = BootTime::max();
  if (!options.timeout.empty()) {
    auto timeout = parseDuration(options.timeout);
    if (!timeout.ok()) return session.fail(Error(timeout.error()).withContext("--timeout"));
    deadline = session.clock().bootNow() + *timeout;
  }
  WaitPace pace;
  while (true) {
    const auto task = session.api().get(taskPath(options.id));
    if (!task.ok()) return session.fail(task.error());
    if (hasEnded(*task)) {
      if (session.format() != Format::Table) {
        session.printObject(*task);
      } else if (!options.quiet) {
        session.err() << endText(*task) << "\n";
      }
      return exitCodeOfTask(*task);
    }
    const BootTime now = session.clock().bootNow();
    if (now >= deadline) {
      session.err() << printable(fmt::format("baton: task {} is still {} after {}{}", options.id,
                                             memberText(*task, "status"), options.timeout,
                                             waitingText(*task, ": ")))
                    << "\n";
      return kExitTimeout;
    }
    session.sleep(std::min(pace.next(), std::chrono::ceil<Millis>(deadline - now)));
  }
}

}  // namespace baton::cli
