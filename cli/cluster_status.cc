#include <algorithm>
#include <tuple>

#include "cli/cluster_verbs.h"
#include "cli/exit_code.h"

namespace baton::cli {
namespace {

// For all masters that are configured together, and for those that they name.
constexpr Millis kAskLimit{1'500};

// What the masters that answered say, each once.
using Told = std::vector<Json>;

constexpr const char* kNoAnswer = "no answer";

const Json* toldBy(const Told& told, const std::string& node) {
  const auto it = std::find_if(told.begin(), told.end(),
                               [&](const Json& one) { return memberText(one, "node_id") == node; });
  return it == told.end() ? nullptr : &*it;
}

bool leads(const Json& one) { return memberText(one, "role") == "active"; }

Json activeIn(const Json& cluster) {
  const auto active = cluster.find("active");
  return active != cluster.end() && active->is_object() ? *active : Json::object();
}

Json mastersIn(const Json& cluster) {
  const auto masters = cluster.find("masters");
  return masters != cluster.end() && masters->is_array() ? *masters : Json::array();
}

// The one to believe: who leads; else who knows of the newest leader.
const Json& bestOf(const Told& told) {
  const auto worth = [](const Json& one) {
    const Json epoch = one.value("epoch", Json(0));
    return std::tuple(leads(one), !activeIn(one).empty(),
                      epoch.is_number_integer() ? epoch.get<int64_t>() : 0);
  };
  return *std::max_element(told.begin(), told.end(),
                           [&](const Json& a, const Json& b) { return worth(a) < worth(b); });
}

// It leads, or did a moment ago and is about to again.
bool someLeads(const Told& told) {
  return std::any_of(told.begin(), told.end(), [](const Json& one) {
    const std::string node = memberText(one, "node_id");
    return leads(one) || (!node.empty() && memberText(activeIn(one), "node_id") == node);
  });
}

// The rows of one answer, with what each master says of itself in place of what others remember.
Json rowsOf(const Json& cluster, const Told& told, const std::vector<webapi::MasterAnswer>& asked) {
  Json rows = mastersIn(cluster);
  for (Json& row : rows) {
    if (!row.is_object()) continue;
    const std::string node = memberText(row, "node_id");
    if (const Json* own = toldBy(told, node)) {
      for (const Json& said : mastersIn(*own)) {
        if (memberText(said, "node_id") == node) row = said;
      }
      for (const char* name : {"role", "state"}) {
        if (own->contains(name)) row[name] = own->at(name);
      }
      continue;
    }
    const bool silent = std::any_of(asked.begin(), asked.end(), [&](const auto& one) {
      return !one.answer.ok() && one.address == memberText(row, "address");
    });
    if (silent) row["health"] = kNoAnswer;
  }
  return rows;
}

void printTables(Session& session, const Json& cluster, const Told& told,
                 const std::vector<webapi::MasterAnswer>& asked) {
  std::ostream& out = session.out();
  out << fmt::format("cluster {}, epoch {}\n", printable(memberText(cluster, "cluster")),
                     memberText(cluster, "epoch"));
  const Json active = activeIn(cluster);
  const std::string node = memberText(active, "node_id");
  std::string line = "active  none";
  if (!active.empty()) {
    line = fmt::format("active  {} at {} since {}", node, memberText(active, "address"),
                       memberText(active, "since"));
    if (toldBy(told, node) == nullptr) line += ", as last known; it does not answer";
  }
  out << printable(line) << "\n";
  for (const Json& one : told) {
    const std::string alarm = memberText(one, "alarm");
    if (alarm.empty()) continue;
    out << printable(fmt::format("alarm   {}: {}", memberText(one, "node_id"), alarm)) << "\n";
  }
  const std::string lowest = memberText(cluster, "min_priority");
  if (!lowest.empty()) {
    out << fmt::format(
        "degraded: only tasks of priority {} and above are started; baton cluster degrade --off "
        "ends it\n",
        printable(lowest));
  }
  out << "\n";
  const std::vector<Column> columns = {
      memberColumn("NODE", "node_id"),    memberColumn("ROLE", "role"),
      memberColumn("STATE", "state"),     memberColumn("ADDRESS", "address"),
      memberColumn("VERSION", "version"), memberColumn("HEALTH", "health")};
  session.printRows(columns, rowsOf(cluster, told, asked), cluster);
}

// Says which of the masters can't be reached, and why.
void tellSilent(Session& session, const std::vector<webapi::MasterAnswer>& asked) {
  for (const webapi::MasterAnswer& one : asked) {
    if (one.answer.ok()) continue;
    const std::string why = one.answer.error().message();
    const bool named = why.find(one.address) != std::string::npos;
    session.err() << printable(fmt::format("baton: {}{}", named ? "" : one.address + ": ", why))
                  << "\n";
  }
}

}  // namespace

int clusterStatus(Session& session) {
  const auto asked = session.api().askAll("/api/v1/cluster", kAskLimit);
  Told told;
  for (const webapi::MasterAnswer& one : asked) {
    if (!one.answer.ok() || !one.answer->is_object()) continue;
    const std::string node = memberText(*one.answer, "node_id");
    if (node.empty() || toldBy(told, node) == nullptr) told.push_back(*one.answer);
  }
  if (told.empty()) {
    for (const webapi::MasterAnswer& one : asked) {
      if (one.answer.ok()) continue;
      const int code = exitCodeOf(one.answer.error().code());
      if (code == kExitRefused) return session.fail(one.answer.error());
    }
    tellSilent(session, asked);
    session.err() << "baton: no master answers\n";
    return kExitNoMaster;
  }
  const Json& best = bestOf(told);
  if (session.format() == Format::Table) {
    printTables(session, best, told, asked);
  } else {
    session.printObject(best);
    for (const Json& one : told) {
      const std::string alarm = memberText(one, "alarm");
      if (&one == &best || alarm.empty()) continue;
      session.err() << printable(
                           fmt::format("baton: alarm of {}: {}", memberText(one, "node_id"), alarm))
                    << "\n";
    }
  }
  tellSilent(session, asked);
  if (someLeads(told)) return kExitOk;
  session.err() << "baton: no master that answers leads\n";
  return kExitNoMaster;
}

}  // namespace baton::cli
