#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>

#include "dao/reader.h"
#include "flow/definition/event_window.h"
#include "master/flow/event_judgement.h"

namespace baton::master {

// What somebody waits for. Waits of one subject have one answer.
struct EventSubject {
  enum class Kind : uint8_t {
    Run,        // The end of a flow.
    Task,       // The end of a task of a flow.
    Key,        // An event from outside, by its key.
    HappenedAt  // An event from outside, by when it happened.
  };
  Kind kind = Kind::Run;
  std::string source;     // Key of the flow, or name of the event.
  std::string detail;     // Task, or key of the event.
  flow::PlanRange range;  // Empty for Key.
  bool all = false;       // Every one in the range; else the newest.
  std::string zone;       // In which texts show times.

  bool ofFlow() const { return kind == Kind::Run || kind == Kind::Task; }
  auto operator<=>(const EventSubject&) const = default;
};

// A look into the database for one subject.
struct EventQuestion {
  EventSubject subject;
  TimeZone zone = TimeZone::utc();
  bool flow_exists = true;                 // Of a flow.
  std::optional<SourceSchedule> schedule;  // Of a flow, for all.
};
struct EventAnswer {
  bool met = false;
  std::string text;                            // For people: how it stands.
  std::map<std::string, std::string> outputs;  // Data of the event.
};

// "flow fx-rates, task rates, plan times from … to …": for people.
std::string describe(const EventSubject& subject, const TimeZone& zone);

// Reads what is committed and judges it. Any thread with its reader. Errors: as the reader's.
Result<EventAnswer> lookUpEvent(dao::Reader& reader, const EventQuestion& question);

// The data of an event (EventRecord::data): a JSON object of strings. Errors: Corrupt.
Result<std::map<std::string, std::string>> eventData(const EventRecord& event);

}  // namespace baton::master
