#pragma once

#include <ostream>
#include <string>

#include "conf/settings.h"

namespace baton::cli {

struct ConfigCheckOptions {
  std::string file;
  std::string program;  // master | worker | standalone; empty: by the file's name or its keys.
};

struct ConfigKeysOptions {
  std::string sample;     // Program whose sample file is written.
  bool markdown = false;  // docs/configuration.md is written.
  std::string output;     // table | json | yaml
};

// Says what is wrong with a settings file, needing nothing but the files that it names. Exit code
// 0, 2 (something is wrong), 3 (no such file).
int configCheck(std::ostream& out, std::ostream& err, const ConfigCheckOptions& options,
                const conf::Environment& environment);
int configKeys(std::ostream& out, std::ostream& err, const ConfigKeysOptions& options);

}  // namespace baton::cli
