#include "cli/version.h"

#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/session.h"

namespace baton::cli {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::string_view kSanitizer = "address";
#elif defined(__SANITIZE_THREAD__)
constexpr std::string_view kSanitizer = "thread";
#else
constexpr std::string_view kSanitizer = "none";
#endif

#if defined(__OPTIMIZE__)
constexpr bool kOptimised = true;
#else
constexpr bool kOptimised = false;
#endif

}  // namespace

Json versionParts() {
  return {{"version", BATON_VERSION},       {"api", "v1"},
          {"compiler", "g++ " __VERSION__}, {"optimised", kOptimised},
          {"sanitizer", kSanitizer},        {"mutants", BATON_MUTANTS != 0}};
}

int printVersion(std::ostream& out, std::ostream& err, const std::string& output) {
  const auto format = parseFormat(output);
  if (!format.ok()) return reportError(err, format.error());
  switch (*format) {
    case Format::Table:
      out << "baton " << BATON_VERSION << "\n";
      break;
    case Format::Json:
      printJson(out, versionParts());
      break;
    case Format::Yaml:
      printYaml(out, versionParts());
      break;
  }
  return kExitOk;
}

}  // namespace baton::cli
