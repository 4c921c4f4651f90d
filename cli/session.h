#pragma once

#include <functional>
#include <istream>
#include <ostream>
#include <string>

#include "cli/output.h"
#include "common/base/clock.h"
#include "conf/client_config.h"
#include "webapi/client/api_client.h"

namespace baton::cli {

// The outside of a verb: what it reads, writes and waits with.
struct Surroundings {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  const Clock& clock;
  std::function<void(Millis)> sleep;
  bool terminal = false;  // A person reads `err` and can answer on `in`.
  // Whether who read `out` has gone; empty: nobody can say.
  std::function<bool()> reader_gone = {};
};

// Options that every client verb understands.
struct ClientOptions {
  conf::ClientSources sources;
  bool no_header = false;
  std::string patience = "60s";
};

// One run of a client verb: a client for the cluster and a way to print. Thread: one.
class Session {
 public:
  // Errors: InvalidArgument (no masters, no token, a wrong option or file), NotFound (a file).
  static Result<Session> open(Surroundings& surroundings, const ClientOptions& options);

  webapi::ApiClient& api() { return api_; }
  Format format() const { return format_; }
  std::ostream& out() { return surroundings_->out; }
  std::ostream& err() { return surroundings_->err; }
  std::istream& in() { return surroundings_->in; }
  bool terminal() const { return surroundings_->terminal; }
  const Clock& clock() const { return surroundings_->clock; }
  void sleep(Millis pause) { surroundings_->sleep(pause); }

  // Prints rows: as a table, or `whole` (by default the rows) as JSON or YAML.
  void printRows(const std::vector<Column>& columns, const Json& rows, const Json& whole);
  // Prints one object: as lines, JSON or YAML.
  void printObject(const Json& object);
  // Prints a line in table format, `json` in the others.
  void printLine(const std::string& line, const Json& json);
  // Tells the error; returns the exit code.
  int fail(const Error& error);

 private:
  Session(Surroundings& surroundings, webapi::ApiClient api, Format format, bool header)
      : surroundings_(&surroundings), api_(std::move(api)), format_(format), header_(header) {}

  Surroundings* surroundings_;
  webapi::ApiClient api_;
  Format format_;
  bool header_;
};

// Tells an error of a verb on `err`; returns the exit code.
int reportError(std::ostream& err, const Error& error);

}  // namespace baton::cli
