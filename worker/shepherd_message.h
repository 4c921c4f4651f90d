#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/json.h"
#include "common/protocol/heartbeat.h"

// What the daemon and its shepherd tell each other: one JSON object a line over a unix socket.
// Unknown members are accepted, because a shepherd outlives an upgrade of the daemon. Times are
// boot time in microseconds: both processes read the same clock.
namespace baton::worker {

// Why an attempt is being stopped; kept by the shepherd, so that it outlives the daemon.
enum class StopReason : uint8_t { None, Reset, Timeout };
std::string_view toString(StopReason reason);  // "", "reset", "timeout"

// To the shepherd: first message on a connection.
struct HelloRequest {
  std::string version;
};
// Start a process. `argv` is found along the PATH in `env`. With a script, its text is written
// to the attempt's folder and the file's path is added to `argv`. With an input, that is what the
// process reads from standard input; else it is empty.
struct StartRequest {
  AttemptKey key;
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value", exactly what the process gets.
  std::string dir;               // Empty: the attempt's own folder.
  std::string script;
  bool has_script = false;
  std::string input;
};
// TERM to the whole tree, KILL after `grace_ms`. A second stop changes neither reason nor time.
struct StopRequest {
  AttemptKey key;
  StopReason why = StopReason::Reset;
  int64_t grace_ms = 0;
};
// The daemon has the result on its disk: the shepherd may forget it.
struct AckRequest {
  AttemptKey key;
};
using ShepherdRequest = std::variant<HelloRequest, StartRequest, StopRequest, AckRequest>;

// From the shepherd: the process runs.
struct StartedNote {
  AttemptKey key;
  int64_t pid = 0;
  int64_t started_us = 0;
  StopReason why = StopReason::None;  // It is being stopped already.
};
// Nothing of the attempt's process tree is left.
struct EndedNote {
  AttemptKey key;
  AttemptResult result;  // Without ended_ms: see ended_us.
  int64_t ended_us = 0;
  StopReason why = StopReason::None;  // It had been asked to stop before it ended.
  bool stdout_cut = false;
  bool stderr_cut = false;
};
// A start that would have been the second of its attempt.
struct RefusedNote {
  AttemptKey key;
  std::string text;
};
// Answer to the hello: everything the shepherd has. Also ends whatever an older connection said.
struct HelloNote {
  int64_t pid = 0;
  std::string version;
  std::vector<StartedNote> running;  // Those still being started are in it too, with pid.
  std::vector<EndedNote> ended;
  bool takes_input = false;  // It heeds StartRequest::input; older ones do not.
};
using ShepherdNote = std::variant<HelloNote, StartedNote, EndedNote, RefusedNote>;

// One line with its end.
std::string toLine(const ShepherdRequest& request);
std::string toLine(const ShepherdNote& note);
// Errors: InvalidArgument (with the field).
Result<ShepherdRequest> parseShepherdRequest(std::string_view line);
Result<ShepherdNote> parseShepherdNote(std::string_view line);

// Cuts a byte stream into lines. One thread.
class LineSplitter {
 public:
  void add(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole line without its end; false when there is none.
  bool next(std::string& line);
  size_t pendingBytes() const { return buffer_.size() - begin_; }

 private:
  std::string buffer_;
  size_t begin_ = 0;
  size_t searched_ = 0;
};

}  // namespace baton::worker
