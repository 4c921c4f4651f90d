#pragma once

#include <string>

#include "common/protocol/heartbeat.h"

// Where an attempt's files are, below the worker's data directory.
namespace baton::worker {

enum class LogStream : uint8_t { Stdout, Stderr };
std::string_view toString(LogStream stream);  // "stdout"

// "logs/17/1": the folder of stdout and stderr.
std::string logFolder(const AttemptKey& key);
// "logs/17/1/stdout"
std::string logFile(const AttemptKey& key, LogStream stream);
// "attempts/17.1": the working directory, with the script and the output values in it. It lives no
// longer than its attempt; one level saves the disk half of the work.
std::string workFolder(const AttemptKey& key);

inline constexpr const char* kWorkRoot = "attempts";
inline constexpr const char* kScriptName = ".baton-script";
inline constexpr const char* kOutputName = ".baton-output";

// Makes a folder and those above it (mode 0700), relative to `base_fd`; an existing one is well.
Status makeFolders(int base_fd, const std::string& path);
// Removes a folder with all that is in it, following no link and leaving no file system.
void removeTree(int base_fd, const std::string& path);

}  // namespace baton::worker
