#pragma once

#include <map>
#include <string>
#include <vector>

#include "flow/definition/flow_parser.h"
#include "flow/definition/map_reader.h"

// What the readers of a definition share. Only for the files of this folder.
namespace baton::flow {

// A text with placeholders, to be checked when all tasks and parameters are known.
struct PlacedText {
  static constexpr size_t kFlow = SIZE_MAX;

  size_t task = kFlow;  // Index of the task, or kFlow: of the flow itself.
  YamlMark mark;
  std::string path;
  std::vector<TextPart> parts;
};

struct TaskPlace {
  YamlMark mark;                                        // Of its name.
  YamlMark needs_mark;                                  // Of its needs, if it has any.
  std::vector<std::pair<std::string, YamlMark>> needs;  // As written.
};

struct Reading {
  explicit Reading(const FlowSurroundings& known) : surroundings(known), issues(known.stored) {}

  const FlowSurroundings& surroundings;
  IssueList issues;
  FlowSpec flow;
  YamlMark schedule_mark;         // If it has one.
  std::vector<TaskPlace> places;  // Of flow.tasks.
  std::vector<PlacedText> texts;
  std::vector<FlowReference> references;
  // Tasks by what all of them are to be warned of, told once when all are read: the first place
  // and the names.
  struct SharedWarning {
    YamlMark mark;
    std::string path;
    std::vector<std::string> tasks;
  };
  std::map<std::string, SharedWarning> unset_groups;
  std::map<std::string, SharedWarning> shut_groups;

  // Keeps a text for the check; one that can't be read is told at once.
  void keepText(size_t task, YamlMark mark, const std::string& path, std::string_view text);
};

// Refuses the key if its text has a placeholder, where none is resolved. Returns whether it does.
bool refusePlaceholder(MapReader& reader, std::string_view key, std::string_view text);
void readSchedule(Reading& reading, const YamlEntry& entry);
// `by`: the task that waits; empty: the flow's trigger.
void readEventSource(Reading& reading, MapReader& reader, const std::string& by,
                     EventSource& source);
// "load", "load and check", "a, b and 4 more".
std::string tasksText(const std::vector<std::string>& tasks);
void readTrigger(Reading& reading, const YamlEntry& entry);
void readParams(Reading& reading, MapReader& reader, size_t task, ParamMap& params);
// `no_wait`: why nothing waits for this callback ("has no meaning for …"); empty: a task may.
void readCallback(Reading& reading, const YamlNode& node, const std::string& path,
                  CallbackSpec& callback, const std::string& no_wait);
void readDayWindow(MapReader& reader, std::optional<DayWindow>& window);
void readTags(MapReader& reader, std::vector<std::string>& tags);
void readPriority(MapReader& reader, Priority& priority);
void readPriority(MapReader& reader, std::optional<Priority>& priority);
// The keys that tasks of a worker and the flow's defaults have in common.
void readWorkerKeys(MapReader& reader, TaskNode& node);
// The window of an event that a task waits for.
void readEventWindow(MapReader& event, EventWindow& window);
TaskNode readDefaults(Reading& reading, const YamlEntry* entry);
// The tasks, with the flow's defaults worked in.
void readTasks(Reading& reading, const YamlEntry* tasks, const YamlEntry* defaults);

// What can be judged only when all is read: names, cycles, placeholders, limits.
void checkFlow(Reading& reading);
// Warns of tasks that nobody who is known can run.
void checkOffers(Reading& reading);

}  // namespace baton::flow
