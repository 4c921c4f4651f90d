#include "net/resolver.h"

#include <netdb.h>
#include <string.h>

#include <memory>

namespace baton::net {
namespace {

constexpr size_t kKnownMax = 1024;

Result<std::vector<SocketAddress>> withPort(Result<std::vector<SocketAddress>> addresses,
                                            uint16_t port) {
  if (addresses.ok()) {
    for (SocketAddress& address : *addresses) address.setPort(port);
  }
  return addresses;
}

}  // namespace

Result<std::vector<SocketAddress>> resolveBlocking(const std::string& host, uint16_t port) {
  if (const auto literal = parseIpLiteral(host, port)) return std::vector{*literal};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_family = AF_UNSPEC;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (failed != 0) return Error::unavailable("host {}: {}", host, gai_strerror(failed));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> guard(found, freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    if (info->ai_family != AF_INET && info->ai_family != AF_INET6) continue;
    SocketAddress address;
    memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    address.length = info->ai_addrlen;
    address.setPort(port);
    addresses.push_back(address);
  }
  if (addresses.empty()) return Error::unavailable("host {} has no address", host);
  return addresses;
}

Resolver::Resolver() : Resolver(Options()) {}

Resolver::Resolver(Options options) : options_(options) {}

Resolver::~Resolver() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.requestStopAndJoin();
}

void Resolver::resolve(const std::string& host, uint16_t port, Answer answer) {
  if (const auto literal = parseIpLiteral(host, port)) return answer(std::vector{*literal});
  std::unique_lock lock(mutex_);
  const auto known = known_.find(host);
  if (known != known_.end() && clock_.bootNow() < known->second.until) {
    const auto addresses = withPort(known->second.addresses, port);
    lock.unlock();
    return answer(addresses);
  }
  jobs_.push_back({host, port, std::move(answer)});
  if (!thread_.running()) thread_ = NamedThread("resolver", [this](std::stop_token) { work(); });
  changed_.notify_all();
}

void Resolver::work() {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
      if (stopped_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    auto addresses = resolveBlocking(job.host, 0);
    {
      std::lock_guard lock(mutex_);
      if (known_.size() >= kKnownMax) known_.clear();
      const Micros life = addresses.ok() ? options_.good_for : options_.bad_for;
      known_.insert_or_assign(job.host, Known{addresses, clock_.bootNow() + life});
    }
    job.answer(withPort(std::move(addresses), job.port));
  }
}

}  // namespace baton::net
