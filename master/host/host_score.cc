#include "master/host/host_score.h"

#include <algorithm>

#include "common/base/duration_text.h"
#include "common/base/status.h"

namespace baton::master {
namespace {

constexpr int kSuspectBelow = 60;
constexpr int64_t kMebibyte = 1024 * 1024;
constexpr std::string_view kHealthNames[] = {"healthy", "suspect", "dead", "quarantined"};

void take(HostScore& score, int points, std::string finding) {
  if (points <= 0) return;
  score.points = std::max(0, score.points - points);
  score.findings += (score.findings.empty() ? "" : "; ") + std::move(finding);
}

void judgeFigures(HostScore& score, const HostFigures& figures) {
  if (figures.cpu_count > 0) {
    const double per_cpu = figures.load1 / static_cast<double>(figures.cpu_count);
    take(score, static_cast<int>(std::clamp((per_cpu - 1) * 10, 0.0, 30.0)),
         fmt::format("load {:.1f} on {} CPUs", figures.load1, figures.cpu_count));
  }
  if (figures.memory_total_bytes > 0) {
    const double free = 100.0 * static_cast<double>(figures.memory_free_bytes) /
                        static_cast<double>(figures.memory_total_bytes);
    take(score, free < 5 ? 50 : free < 10 ? 20 : 0, fmt::format("{:.1f} % of memory free", free));
  }
  if (figures.disk_free_bytes > 0) {
    const int64_t free = figures.disk_free_bytes / kMebibyte;
    take(score, free < 256 ? 50 : free < 1'024 ? 20 : 0, fmt::format("{} MiB of disk free", free));
  }
}

}  // namespace

std::string_view toString(HostHealth health) { return kHealthNames[static_cast<size_t>(health)]; }

HostScore scoreHost(const HostSigns& signs) {
  HostScore score;
  const Micros h = signs.heartbeat;
  const bool dead = signs.silence >= 3 * h;
  take(score,
       dead                    ? 100
       : signs.silence > 2 * h ? 50
       : signs.silence > 1 * h ? 15
                               : 0,
       fmt::format("silent for {}",
                   formatDuration(std::chrono::duration_cast<Millis>(signs.silence))));
  if (signs.figures) judgeFigures(score, *signs.figures);
  if (signs.start_failures_max > 0) {
    const uint32_t counted = std::min(signs.start_failures, signs.start_failures_max);
    take(score, static_cast<int>(60 * counted / signs.start_failures_max),
         fmt::format("{} attempts could not be started", signs.start_failures));
  }
  score.health = dead                           ? HostHealth::Dead
                 : signs.quarantined            ? HostHealth::Quarantined
                 : score.points < kSuspectBelow ? HostHealth::Suspect
                                                : HostHealth::Healthy;
  return score;
}

double hostUse(int64_t busy, int64_t runners, const std::optional<HostFigures>& figures) {
  const double share =
      runners <= 0 ? 0.0 : static_cast<double>(busy) / static_cast<double>(runners);
  if (!figures || figures->cpu_count <= 0 || figures->memory_total_bytes <= 0) return share;
  const double load = figures->load1 / static_cast<double>(figures->cpu_count);
  const double memory = 1.0 - static_cast<double>(figures->memory_free_bytes) /
                                  static_cast<double>(figures->memory_total_bytes);
  return share / 2 + (std::clamp(load, 0.0, 1.0) + std::clamp(memory, 0.0, 1.0)) / 4;
}

}  // namespace baton::master
