#include "tests/bench/sim_runners.h"

#include <fmt/format.h>

#include <charconv>

#include "common/base/random.h"

namespace baton::bench {
namespace {

constexpr Micros kFailurePause{50'000};

// The text behind `"name":` up to the next comma, brace or quote. The bench shares the machine
// with what it measures: a whole JSON parser in each runner would be measured as well.
std::string_view fieldOf(std::string_view json, std::string_view name) {
  const size_t at = json.find(name);
  if (at == json.npos) return {};
  std::string_view value = json.substr(at + name.size());
  if (value.starts_with('"')) value.remove_prefix(1);
  return value.substr(0, value.find_first_of(",}\""));
}

}  // namespace

class SimRunners::Slot {
 public:
  Slot(SimRunners& owner, uint32_t number, const std::string& host, uint16_t port)
      : owner_(owner),
        connection_(*owner.loop_, *owner.resolver_, {.host = host, .port = port}),
        id_(fmt::format("{}-{}:{}", owner.name_, number / owner.options_.per_worker,
                        number % owner.options_.per_worker)),
        identity_(fmt::format(
            R"("runner_id":"{}","worker_id":"{}-{}","host":"sim","boot_id":"sim","version":"sim",)"
            R"("journal_id":"{}","incarnation":1,"runner_config":{{"labels":{{"{}":"yes"}}}})",
            id_, owner.name_, number / owner.options_.per_worker, randomHex(8),
            owner.options_.label)) {}

  void beat() {
    ++seq_;
    std::string body = fmt::format("{{{},\"seq\":{},\"epoch\":{}", identity_, seq_, epoch_);
    if (!task_.empty()) {
      body += fmt::format(R"(,"last_order":{{"task":"{0}","attempt":{1},"nonce":"{2}"}})", task_,
                          attempt_, nonce_);
    }
    if (ended_) {
      body += fmt::format(
          R"(,"status":"FINISHED","current_task":"{}","attempt":{},"nonce":"{}","return_code":0,)"
          R"("run_ms":0,"ended_ms":0,"stdout":{{"bytes":0}},"stderr":{{"bytes":0}}}})",
          task_, attempt_, nonce_);
    } else {
      body += R"(,"status":"IDLE","wait_ms":10000})";
    }
    net::AsyncHttpConnection::Call call;
    call.request.method = "POST";
    call.request.target = "/api/v1/runners/" + id_ + "/heartbeat";
    call.request.headers.add("Authorization", "Bearer " + owner_.options_.token);
    call.request.headers.add("Content-Type", "application/json");
    call.request.body = std::move(body);
    call.timeout = Seconds(20);
    call.retry_stale = true;
    connection_.request(std::move(call),
                        [this](const Result<net::HttpResponse>& answer) { onAnswer(answer); });
  }
  void close() { connection_.abort(); }

 private:
  void onAnswer(const Result<net::HttpResponse>& answer) {
    if (owner_.stopping_) return;
    if (!answer.ok() || answer->status != 200) {
      ++owner_.failures_;
      owner_.loop_->callAfter(kFailurePause, [this] {
        if (!owner_.stopping_ && !connection_.busy()) beat();
      });
      return;
    }
    const std::string_view text = answer->body;
    const std::string_view epoch = fieldOf(text, "\"epoch\":");
    std::from_chars(epoch.data(), epoch.data() + epoch.size(), epoch_);
    const std::string_view command = fieldOf(text, "\"command\":");
    if (command != "GO_ON") ended_ = false;  // RESET and RUN_NEW both acknowledge the result.
    if (command == "RUN_NEW") take(text.substr(text.find("\"task\":{") + 8));
    beat();
  }
  void take(std::string_view order) {
    const std::string_view nonce = fieldOf(order, "\"nonce\":");
    if (nonce == nonce_) return;
    task_ = fieldOf(order, "\"task\":");
    attempt_ = fieldOf(order, "\"attempt\":");
    nonce_ = nonce;
    ended_ = true;
    ++owner_.executed_[std::stoull(task_)];
  }

  SimRunners& owner_;
  net::AsyncHttpConnection connection_;
  const std::string id_;
  const std::string identity_;
  uint64_t seq_ = 0;
  uint64_t epoch_ = 0;
  std::string task_;
  std::string attempt_;
  std::string nonce_;
  bool ended_ = false;  // The result of task_ has not been acknowledged.
};

SimRunners::SimRunners(Options options)
    : options_(std::move(options)), name_("sim-" + randomHex(3)) {}

SimRunners::~SimRunners() { stop(); }

Status SimRunners::start() {
  ASSIGN_OR_RETURN(loop_, net::EventLoop::create());
  resolver_ = std::make_unique<net::Resolver>();
  const size_t colon = options_.master.rfind(':');
  const std::string host = options_.master.substr(0, colon);
  const auto port = static_cast<uint16_t>(std::stoul(options_.master.substr(colon + 1)));
  for (uint32_t i = 0; i < options_.count; ++i) {
    slots_.push_back(std::make_unique<Slot>(*this, i, host, port));
  }
  thread_ = NamedThread("sim-runners", [this](const std::stop_token& stop) {
    for (const auto& slot : slots_) slot->beat();
    loop_->run(stop);
  });
  return {};
}

void SimRunners::stop() {
  if (!thread_.running()) return;
  loop_->post([this] {
    stopping_ = true;
    for (const auto& slot : slots_) slot->close();
    slots_.clear();
    loop_->stop();
  });
  thread_.requestStopAndJoin();
}

}  // namespace baton::bench
