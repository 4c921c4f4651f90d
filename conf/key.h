#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace baton::conf {

// The programs that have a settings file.
enum class Program : uint8_t { Master, Worker, Standalone };
std::string_view toString(Program program);      // "master"
std::string_view sampleFileOf(Program program);  // "master.yaml"

enum class KeyType : uint8_t {
  Text,         // Printable text; bounds count bytes.
  Name,         // 1 to 64 of A-Z a-z 0-9 . _ -
  Integer,      // Plain decimal.
  Boolean,      // true or false.
  Duration,     // "250ms", "90s", "2h"; bounds are milliseconds.
  Bytes,        // Plain decimal, or with KB, MB, GB (powers of 1,024); bounds are bytes.
  Choice,       // One of `choices`, which are separated by "|".
  File,         // Absolute path.
  Address,      // host:port
  AddressList,  // List of host:port.
  HostList,     // List of host or host:port.
  Labels,       // Map of names to names.
};
std::string_view toString(KeyType type);

// When a change takes effect.
enum class Reload : uint8_t {
  Restart,  // With the next start of the program.
  Fixed,    // Never by itself: the cluster was made with it; see docs/operations.md.
};
std::string_view toString(Reload reload);

// One setting: everything that the loader, the sample files and the documentation know of it.
struct Key {
  std::string_view name{};  // "section.key"
  KeyType type = KeyType::Text;
  std::string_view def{};  // As it would stand in the file; empty: none.
  int64_t min = 0;
  int64_t max = 0;
  std::string_view choices{};
  bool required = false;
  Reload reload = Reload::Restart;
  std::string_view example{};  // Stands in the sample file; else the default, commented out.
  std::string_view doc{};      // What it is for, in one or two sentences.
};

// The keys of one program, in the order of its sample file.
std::span<const Key> keysOf(Program program);
// The key of that name, or nullptr.
const Key* findKey(Program program, std::string_view name);
// True if any program has the key.
bool isKnownAnywhere(std::string_view name);

}  // namespace baton::conf
