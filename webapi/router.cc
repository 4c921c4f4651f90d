#include "webapi/router.h"

#include <algorithm>

namespace baton::webapi {
namespace {

constexpr size_t kSegmentsMax = 12;  // No route has more.

std::vector<std::string_view> splitPath(std::string_view path) {
  std::vector<std::string_view> segments;
  if (path.empty() || path.front() != '/') return segments;
  path.remove_prefix(1);
  while (segments.size() <= kSegmentsMax) {
    const size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == path.npos) break;
    path.remove_prefix(slash + 1);
  }
  return segments;
}

bool isParam(std::string_view segment) { return segment.starts_with('{'); }

bool fits(const std::vector<std::string_view>& pattern, const std::vector<std::string_view>& path) {
  if (pattern.size() != path.size()) return false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (isParam(pattern[i]) ? path[i].empty() : pattern[i] != path[i]) return false;
  }
  return true;
}

// True when `a` names at the first difference what `b` leaves open.
bool moreSpecific(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (isParam(a[i]) != isParam(b[i])) return !isParam(a[i]);
  }
  return false;
}

}  // namespace

Router::Router(std::span<const RouteSpec> specs) {
  for (const RouteSpec& spec : specs) {
    entries_.push_back({&spec, splitPath(spec.pattern), nullptr});
  }
}

void Router::bind(std::string_view operation, Handler handler) {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.spec->operation == operation;
  });
  CHECK(it != entries_.end() && !it->handler);
  it->handler = std::move(handler);
}

std::vector<std::string_view> Router::unbound() const {
  std::vector<std::string_view> operations;
  for (const Entry& entry : entries_) {
    if (!entry.handler) operations.push_back(entry.spec->operation);
  }
  return operations;
}

Router::Match Router::match(std::string_view method, std::string_view path) const {
  const std::vector<std::string_view> segments = splitPath(path);
  const std::string_view wanted = method == "HEAD" ? std::string_view("GET") : method;
  Match match;
  const Entry* best = nullptr;
  for (const Entry& entry : entries_) {
    if (!fits(entry.segments, segments)) continue;
    const bool same_method = entry.spec->method == wanted;
    if (same_method && (best == nullptr || moreSpecific(entry.segments, best->segments))) {
      best = &entry;
    }
    if (match.allow.find(entry.spec->method) != match.allow.npos) continue;
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += entry.spec->method;
    if (entry.spec->method == "GET") match.allow += ", HEAD";
  }
  if (best == nullptr) return match;
  match.spec = best->spec;
  match.handler = &best->handler;
  for (size_t i = 0; i < segments.size(); ++i) {
    const std::string_view segment = best->segments[i];
    if (!isParam(segment)) continue;
    match.params.emplace_back(segment.substr(1, segment.size() - 2), std::string(segments[i]));
  }
  return match;
}

}  // namespace baton::webapi
