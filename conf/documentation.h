#pragma once

#include <string>

#include "conf/key.h"

namespace baton::conf {

// The sample settings file of a program, as in this folder: what everybody must
// set with an example, the rest commented out with its defaults.
std::string renderSample(Program program);

// docs/configuration.md: every key with type, default, bounds, when a change takes effect, meaning.
std::string renderConfigurationPage();

}  // namespace baton::conf
