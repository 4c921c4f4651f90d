#include "worker/runner_slot.h"

#include <algorithm>

#include "common/base/log.h"

namespace baton::worker {
namespace {

constexpr Millis kRefusedPause{5'000};
// The runner gives a request up by itself; this only ends what it forgot.
constexpr Millis kRequestTimeoutSlack{2'000};

}  // namespace

void leaveOutOptional(HeartbeatRequest& request, int status) {
  request.figures.reset();
  request.final_args.clear();
  if (request.status == RunnerStatus::Running) return;
  AttemptResult& result = request.result;
  if (result.outputs.empty() && result.reason_text.size() <= kReasonTextBytesMax) return;
  const std::string why =
      fmt::format("{} outputs were left out: the master answered {} to the whole report",
                  result.outputs.size(), status);
  result.outputs.clear();
  result.reason_text = truncateUtf8(
      result.reason_text.empty() ? why : fmt::format("{} ({})", why, result.reason_text),
      kReasonTextBytesMax);
}

RunnerSlot::RunnerSlot(SlotContext& context, RunnerOptions options, const RestoredSlot& restored)
    : context_(context), runner_id_(options.runner_id), runner_(std::move(options), restored) {}

RunnerSlot::~RunnerSlot() {
  if (timer_ != 0) context_.loop.cancel(timer_);
}

void RunnerSlot::start() { perform(runner_.start(now())); }

void RunnerSlot::onMaster(bool known) { perform(runner_.onMaster(now(), known)); }

void RunnerSlot::onStarted(const StartedNote& note) {
  perform(runner_.onStarted(now(), note.key, BootTime(Micros(note.started_us))));
}

void RunnerSlot::onEnded(const EndedNote& note) {
  perform(runner_.onEnded(now(), note.key, note.result, BootTime(Micros(note.ended_us)), note.why));
}

void RunnerSlot::onLeaving(Millis leaving) { perform(runner_.onLeaving(now(), leaving)); }

void RunnerSlot::perform(RunnerActions actions) {
  for (RunnerAction& action : actions) {
    std::visit([this](auto& one) { perform(std::move(one)); }, action);
  }
  armTimer();
}

void RunnerSlot::armTimer() {
  if (timer_ != 0) context_.loop.cancel(timer_);
  timer_ = 0;
  const auto due = runner_.nextDue();
  if (!due) return;
  timer_ = context_.loop.callAfter(*due - now(), [this] {
    timer_ = 0;
    RunnerActions actions = runner_.onTime(now());
    // A master that does not answer in time is as good as none: somebody else may lead by now.
    const bool given_up = std::any_of(actions.begin(), actions.end(), [](const auto& action) {
      return std::holds_alternative<AbandonHeartbeat>(action);
    });
    perform(std::move(actions));
    if (given_up && context_.finder.active()) {
      context_.finder.noteFailure(*context_.finder.active());
    }
  });
}

void RunnerSlot::perform(SendHeartbeat action) {
  context_.queue.run([this, request = std::move(action.request)] { send(request); });
}

void RunnerSlot::send(HeartbeatRequest request) {
  const auto& master = context_.finder.active();
  const uint64_t seq = request.seq.value_or(0);
  // It waited for the disk, and the runner has moved on meanwhile.
  if (!master || seq != runner_.seq() || !runner_.awaitsReply()) return;
  if (refused_report_ != 0 && refused_key_ == request.current) {
    leaveOutOptional(request, refused_report_);
  } else {
    refused_report_ = 0;
    request.figures = context_.take_figures();
    if (request.status == RunnerStatus::Running && runner_.openOrder()) {
      request.final_args = context_.final_args(*runner_.openOrder());
    }
  }
  request.labels = context_.labels();
  sent_key_ = request.current;
  Link& link = linkFor(*master);
  link.seq = seq;
  net::AsyncHttpConnection::Call call;
  call.request.method = "POST";
  call.request.target = "/api/v1/runners/" + net::percentEncode(runner_id_) + "/heartbeat";
  call.request.headers.add("Authorization", "Bearer " + context_.token);
  call.request.headers.add("Content-Type", "application/json");
  call.request.body = dumpJson(heartbeatRequestToJson(request));
  call.timeout = Millis(request.wait_ms) + runner_.heartbeat() + kRequestTimeoutSlack;
  call.retry_stale = true;  // Doubled requests do no harm: the pair tells them apart.
  link.connection->request(std::move(call),
                           [this, seq, to = *master](Result<net::HttpResponse> answer) {
                             onAnswer(seq, to, std::move(answer));
                           });
}

// A free connection if there is one, else the second, else the one with the older request: it is
// superseded and the master has ended it or is about to.
RunnerSlot::Link& RunnerSlot::linkFor(const MasterAddress& master) {
  Link* chosen = nullptr;
  for (Link& link : links_) {
    const bool usable = link.connection != nullptr && link.master == master;
    if (usable && !link.connection->busy()) chosen = &link;
  }
  if (chosen == nullptr) {
    chosen = &links_[0];
    for (Link& link : links_) {
      const bool dispensable = link.connection == nullptr || link.master != master;
      if (dispensable || link.seq < chosen->seq) chosen = &link;
      if (dispensable) break;
    }
    if (chosen->connection == nullptr || chosen->master != master) {
      net::AsyncHttpConnection::Options options;
      options.host = master.host;
      options.port = master.port;
      options.body_bytes_max = 64 * 1024 * 1024;
      chosen->master = master;
      chosen->connection = std::make_unique<net::AsyncHttpConnection>(
          context_.loop, context_.resolver, std::move(options));
    } else {
      chosen->connection->abort();
    }
  }
  chosen->last_used = now();
  return *chosen;
}

void RunnerSlot::closeSpareLinks() {
  for (Link& link : links_) {
    if (link.connection != nullptr && !link.connection->busy() &&
        now() - link.last_used > runner_.heartbeat()) {
      link.connection->closeIdle();
    }
  }
}

void RunnerSlot::onAnswer(uint64_t seq, const MasterAddress& master,
                          Result<net::HttpResponse> answer) {
  if (!answer.ok()) {
    if (answer.error().code() == ErrorCode::Cancelled) return;  // By ourselves.
    const bool newest = seq == runner_.seq();
    perform(runner_.onNoReply(now(), seq));
    if (newest) context_.finder.noteFailure(master);
    return;
  }
  closeSpareLinks();
  if (answer->status != 200) return onRefusal(seq, master, *answer);
  last_refusal_ = 0;
  const auto json = parseJson(answer->body, {.bytes_max = 64 * 1024 * 1024});
  auto reply = json.ok() ? parseHeartbeatReply(*json) : Result<HeartbeatReply>(json.error());
  if (!reply.ok()) {
    logError("reply_not_understood", field("runner", runner_id_),
             field("error", reply.error().text()));
    return perform(runner_.onNoReply(now(), seq, runner_.heartbeat()));
  }
  perform(runner_.onReply(now(), *reply));
}

void RunnerSlot::onRefusal(uint64_t seq, const MasterAddress& master,
                           const net::HttpResponse& response) {
  const bool repeated = std::exchange(last_refusal_, response.status) == response.status;
  const bool routine = response.status == 503;
  if (!repeated && !routine) {
    logError("heartbeat_refused", field("runner", runner_id_), field("master", master.text()),
             field("status", response.status), field("answer", truncateUtf8(response.body, 300)));
  }
  Millis pause{0};
  if (response.status == 401 || response.status == 403) pause = kRefusedPause;
  if (response.status == 409) pause = runner_.heartbeat();
  if (response.status == 400 || response.status == 413) {
    // Once more at once without what need not be in it; if that is refused as well, calmly.
    if (refused_report_ != 0) pause = runner_.heartbeat();
    refused_report_ = response.status;
    refused_key_ = sent_key_;
  }
  perform(runner_.onNoReply(now(), seq, pause));
  if (routine && response.body.find("not_active") != std::string::npos) {
    context_.finder.noteFailure(master);
    context_.finder.noteHint(response.body);
  }
}

void RunnerSlot::perform(const AbandonHeartbeat& action) {
  for (Link& link : links_) {
    if (link.connection != nullptr && link.seq == action.seq) link.connection->abort();
  }
}

void RunnerSlot::perform(const PersistEpoch& action) {
  context_.journal.noteEpoch(action.cluster_guid, action.epoch);
  context_.queue.noteWritten();
}

void RunnerSlot::perform(const PersistAccept& action) {
  logInfo("order_accepted", field("runner", runner_id_), field("task", action.order.key.task_id),
          field("attempt", action.order.key.attempt), field("epoch", action.epoch));
  context_.journal.noteAccept(runner_id_, action.order, action.epoch);
  context_.queue.noteWritten();
}

void RunnerSlot::perform(const StartAttempt& action) {
  context_.queue.run([this, action] {
    // While the acceptance became durable the attempt may have ended: its shepherd died, say.
    const auto& open = runner_.openOrder();
    if (runner_.phase() != Runner::Phase::Starting || !open || open->key != action.order.key)
      return;
    context_.start(action.order, action.epoch, runner_id_);
  });
}

void RunnerSlot::perform(const StopAttempt& action) {
  logInfo("attempt_stopping", field("runner", runner_id_), field("task", action.key.task_id),
          field("attempt", action.key.attempt), field("why", toString(action.why)));
  context_.queue.run([this, action] {
    context_.stop({.key = action.key, .why = action.why, .grace_ms = action.grace.count()});
  });
}

void RunnerSlot::perform(const PersistResult& action) {
  logInfo("attempt_ended", field("runner", runner_id_), field("task", action.key.task_id),
          field("attempt", action.key.attempt),
          field("code", action.result.return_code.value_or(-1)),
          field("signal", action.result.signal), field("reason", toString(action.result.reason)));
  context_.journal.noteResult(
      runner_id_,
      {.key = action.key, .result = action.result, .ended = action.ended, .why = action.why});
  context_.queue.noteWritten();
  context_.queue.run([this, key = action.key] { context_.result_kept(key); });
}

void RunnerSlot::perform(const Settle& action) {
  context_.journal.noteSettled(runner_id_, action.key);
}

void RunnerSlot::perform(const Alarm& action) {
  logError("runner_alarm", field("runner", runner_id_), field("text", action.text));
}

}  // namespace baton::worker
