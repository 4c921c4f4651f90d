#include "cli/serve/serve_worker.h"

#include <cstdlib>
#include <filesystem>

#include "cli/serve/serve_common.h"
#include "common/base/log.h"
#include "worker/worker_daemon.h"

namespace baton::cli {

int serveWorker(const conf::WorkerConfig& config) {
  auto signals = SignalWaiter::make();
  if (!signals.ok()) return failStart("worker", signals.error());
  if (const Status opened = openLog(config.log); !opened.ok()) {
    return failStart("worker", opened.error());
  }
  worker::WorkerOptions options;
  options.worker_id = config.worker_id;
  options.host = conf::hostName();
  options.data_dir = std::filesystem::absolute(config.data_dir).string();
  options.masters = config.masters;
  options.token = config.worker_token;
  options.runners = config.runners;
  options.labels = config.labels;
  options.plugins = config.plugins;
  options.listen_host = config.http.host;
  options.listen_port = static_cast<uint16_t>(config.http.port);
  options.advertised_address = config.http.advertise;
  options.log_bytes_max = config.output_max_bytes;
  worker::WorkerDaemon daemon(options);
  if (const Status started = daemon.start(); !started.ok()) {
    return failStart("worker", started.error());
  }
  awaitEnd(*signals);
  daemon.stop();
  return 0;
}

}  // namespace baton::cli
