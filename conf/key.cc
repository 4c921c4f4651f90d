#include "conf/key.h"

#include <algorithm>

namespace baton::conf {

std::string_view toString(Program program) {
  switch (program) {
    case Program::Master:
      return "master";
    case Program::Worker:
      return "worker";
    case Program::Standalone:
      return "standalone";
  }
  return "";
}

std::string_view sampleFileOf(Program program) {
  switch (program) {
    case Program::Master:
      return "master.yaml";
    case Program::Worker:
      return "worker.yaml";
    case Program::Standalone:
      return "standalone.yaml";
  }
  return "";
}

std::string_view toString(KeyType type) {
  switch (type) {
    case KeyType::Text:
      return "text";
    case KeyType::Name:
      return "name";
    case KeyType::Integer:
      return "integer";
    case KeyType::Boolean:
      return "boolean";
    case KeyType::Duration:
      return "duration";
    case KeyType::Bytes:
      return "bytes";
    case KeyType::Choice:
      return "choice";
    case KeyType::File:
      return "path";
    case KeyType::Address:
      return "host:port";
    case KeyType::AddressList:
      return "list of host:port";
    case KeyType::HostList:
      return "list of host[:port]";
    case KeyType::Labels:
      return "map of names";
  }
  return "";
}

std::string_view toString(Reload reload) { return reload == Reload::Restart ? "restart" : "fixed"; }

const Key* findKey(Program program, std::string_view name) {
  const std::span<const Key> keys = keysOf(program);
  const auto it =
      std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.name == name; });
  return it == keys.end() ? nullptr : &*it;
}

bool isKnownAnywhere(std::string_view name) {
  return findKey(Program::Master, name) != nullptr || findKey(Program::Worker, name) != nullptr ||
         findKey(Program::Standalone, name) != nullptr;
}

}  // namespace baton::conf
