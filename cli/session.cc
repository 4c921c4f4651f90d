#include "cli/session.h"

#include <sstream>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "common/base/duration_text.h"

namespace baton::cli {

int reportError(std::ostream& err, const Error& error) {
  // Line by line: what a person or a master wrote must not move anybody's cursor.
  std::istringstream lines(error.told());
  std::string prefix = "baton: ";
  for (std::string line; std::getline(lines, line); prefix.clear()) {
    err << prefix << printable(line) << "\n";
  }
  if (error.code() == ErrorCode::Unauthenticated) {
    err << "baton: the token was not accepted; see BATON_TOKEN and --token-file\n";
  }
  return exitCodeOf(error.code());
}

Result<Session> Session::open(Surroundings& surroundings, const ClientOptions& options) {
  ASSIGN_OR_RETURN(const conf::ClientConfig config, conf::findClientConfig(options.sources));
  ASSIGN_OR_RETURN(const Format format, parseFormat(config.output));
  webapi::ApiClient::Options api_options;
  api_options.masters = config.masters;
  api_options.token = config.token;
  api_options.sleep = surroundings.sleep;
  auto patience = parseDuration(options.patience);
  if (!patience.ok()) return Error(patience.error()).withContext("--patience");
  api_options.patience = *patience;
  if (surroundings.terminal) {
    api_options.searching = [&surroundings](const std::string& answers, Millis left) {
      surroundings.err << printable(fmt::format(
                              "baton: no active master yet ({}), trying for another {} s", answers,
                              std::chrono::ceil<Seconds>(left).count()))
                       << "\n";
    };
  }
  ASSIGN_OR_RETURN(webapi::ApiClient api,
                   webapi::ApiClient::make(std::move(api_options), surroundings.clock));
  return Session(surroundings, std::move(api), format, !options.no_header);
}

void Session::printRows(const std::vector<Column>& columns, const Json& rows, const Json& whole) {
  switch (format_) {
    case Format::Table:
      printTable(out(), columns, rows, header_);
      break;
    case Format::Json:
      printJson(out(), whole);
      break;
    case Format::Yaml:
      printYaml(out(), whole);
      break;
  }
}

void Session::printObject(const Json& object) {
  switch (format_) {
    case Format::Table:
      printMembers(out(), object);
      break;
    case Format::Json:
      printJson(out(), object);
      break;
    case Format::Yaml:
      printYaml(out(), object);
      break;
  }
}

void Session::printLine(const std::string& line, const Json& json) {
  if (format_ == Format::Table) {
    out() << line << "\n";
  } else {
    printObject(json);
  }
}

int Session::fail(const Error& error) { return reportError(err(), error); }

}  // namespace baton::cli
