#include "worker/master_finder.h"

#include <charconv>

#include "common/base/log.h"

namespace baton::worker {
namespace {

constexpr Millis kSearchPeriod{100};
constexpr Millis kWatchPeriod{1'000};
constexpr Millis kAskTimeout{1'000};
constexpr size_t kPeersMax = 32;  // Masters that only others named included.

std::string stringIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Result<MasterAddress> parseMasterAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  MasterAddress address;
  if (colon != std::string_view::npos) {
    std::string_view host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
      host = host.substr(1, host.size() - 2);
    }
    const std::string_view port = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (error == std::errc{} && end == port.data() + port.size() && address.port != 0 &&
        !host.empty()) {
      address.host = host;
      return address;
    }
  }
  return Error::invalidArgument("master \"{}\" is not host:port", truncateUtf8(text, 100));
}

MasterFinder::MasterFinder(net::EventLoop& loop, net::Resolver& resolver,
                           std::vector<MasterAddress> masters, std::string token, Hooks hooks)
    : loop_(loop), resolver_(resolver), token_(std::move(token)), hooks_(std::move(hooks)) {
  for (const MasterAddress& master : masters) peerAt(master);
}

MasterFinder::~MasterFinder() {
  if (timer_ != 0) loop_.cancel(timer_);
}

MasterFinder::Peer& MasterFinder::peerAt(const MasterAddress& address) {
  for (Peer& peer : peers_) {
    if (peer.address == address) return peer;
  }
  net::AsyncHttpConnection::Options options;
  options.host = address.host;
  options.port = address.port;
  peers_.push_back(
      {address, std::make_unique<net::AsyncHttpConnection>(loop_, resolver_, options)});
  return peers_.back();
}

void MasterFinder::start() { tick(); }

void MasterFinder::tick() {
  for (Peer& peer : peers_) {
    if (!active_ || peer.address != *active_) ask(peer);
  }
  if (timer_ != 0) loop_.cancel(timer_);
  timer_ = loop_.callAfter(active_ ? kWatchPeriod : kSearchPeriod, [this] {
    timer_ = 0;
    tick();
  });
}

void MasterFinder::ask(Peer& peer) {
  if (peer.connection->busy()) return;
  net::AsyncHttpConnection::Call call;
  call.request.target = "/api/v1/cluster";
  call.request.headers.add("Authorization", "Bearer " + token_);
  call.timeout = kAskTimeout;
  call.retry_stale = true;
  const size_t index = static_cast<size_t>(&peer - peers_.data());
  peer.connection->request(std::move(call), [this, index](Result<net::HttpResponse> answer) {
    onAnswer(index, answer);
  });
}

void MasterFinder::onAnswer(size_t index, const Result<net::HttpResponse>& answer) {
  if (!answer.ok()) return;
  if (answer->status != 200) {
    if (!std::exchange(refusal_logged_, true)) {
      logWarn("master_refused_question", field("master", peers_[index].address.text()),
              field("status", answer->status));
    }
    return;
  }
  refusal_logged_ = false;
  const auto json = parseJson(answer->body);
  if (json.ok() && json->is_object()) learn(*json, index);
}

void MasterFinder::learn(const Json& cluster, size_t index) {
  if (const std::string guid = stringIn(cluster, "guid"); !guid.empty() && !hooks_.is_ours(guid)) {
    return;
  }
  const auto epoch_field = cluster.find("epoch");
  const Epoch epoch = epoch_field != cluster.end() && epoch_field->is_number_unsigned()
                          ? epoch_field->get<Epoch>()
                          : 0;
  if (stringIn(cluster, "role") == "active") {
    const MasterAddress address = peers_[index].address;
    if (epoch < epoch_ || (active_ && epoch == epoch_)) return;
    epoch_ = epoch;
    active_ = address;
    logInfo("active_master", field("master", address.text()), field("epoch", epoch));
    return hooks_.on_active();
  }
  const auto named = cluster.find("active");
  if (named == cluster.end() || !named->is_object() || (active_ && epoch <= epoch_)) return;
  const auto address = parseMasterAddress(stringIn(*named, "address"));
  if (address.ok() && peers_.size() < kPeersMax) ask(peerAt(*address));
}

void MasterFinder::noteFailure(const MasterAddress& master) {
  if (!active_ || *active_ != master) return;
  logWarn("active_master_lost", field("master", master.text()), field("epoch", epoch_));
  active_.reset();
  hooks_.on_lost();
  // Not at once: a master that refuses every request must not be asked in a tight circle.
  if (timer_ != 0) loop_.cancel(timer_);
  timer_ = loop_.callAfter(kSearchPeriod, [this] {
    timer_ = 0;
    tick();
  });
}

void MasterFinder::noteHint(const std::string& problem) {
  const auto json = parseJson(problem);
  if (!json.ok() || !json->is_object()) return;
  const auto named = json->find("active");
  if (named == json->end() || !named->is_object()) return;
  const auto address = parseMasterAddress(stringIn(*named, "address"));
  if (address.ok() && peers_.size() < kPeersMax) ask(peerAt(*address));
}

}  // namespace baton::worker
