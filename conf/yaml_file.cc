#include "conf/yaml_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "common/base/file_descriptor.h"
#include "common/base/json.h"

namespace baton::conf {
namespace {

constexpr size_t kFileBytesMax = 1024 * 1024;
constexpr size_t kDepthMax = 16;
constexpr size_t kIndentMax = 80;

// Finds the first line nested deeper than a settings file can be; 0 if there is none. It counts
// brackets that are open, indicators before the first word, and blanks in front: an upper bound of
// the parser's depth that is cheap and needs no grammar.
int tooDeepLine(std::string_view text) {
  size_t open = 0;
  int line = 1;
  bool at_start = true;
  size_t indent = 0;
  size_t indicators = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      if (c == '\n') ++line;
      at_start = true;
      indent = 0;
      indicators = 0;
      continue;
    }
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (at_start) {
      if (c == ' ' || c == '\t') {
        ++indent;
      } else if (c == '-' || c == '?' || c == ':' || c == '!' || c == '&') {
        ++indicators;
      } else {
        at_start = false;
      }
    }
    const bool blank_or_mark = at_start && indicators == 0;
    if (open > kDepthMax || indicators > kDepthMax || (!blank_or_mark && indent > kIndentMax)) {
      return line;
    }
  }
  return 0;
}

RawValue rawValueOf(const YAML::Node& node) {
  RawValue value;
  if (node.IsScalar()) {
    value.text = node.Scalar();
    value.quoted = node.Tag() == "!";
    return value;
  }
  if (node.IsNull()) {
    value.kind = RawValue::Kind::Null;
    return value;
  }
  if (node.IsSequence()) {
    value.kind = RawValue::Kind::List;
    for (const YAML::Node& item : node) {
      if (!item.IsScalar()) {
        value.kind = RawValue::Kind::Nested;
        return value;
      }
      value.items.push_back(item.Scalar());
    }
    return value;
  }
  value.kind = RawValue::Kind::Map;
  for (const auto& pair : node) {
    if (!pair.first.IsScalar() || !pair.second.IsScalar()) {
      value.kind = RawValue::Kind::Nested;
      return value;
    }
    value.pairs.emplace_back(pair.first.Scalar(), pair.second.Scalar());
  }
  return value;
}

// Walks the two levels and keeps what has the right shape.
class EntryCollector {
 public:
  EntryCollector(const std::string& file, std::vector<ConfigIssue>& issues)
      : file_(file), issues_(issues) {}

  void collect(const YAML::Node& root) {
    if (root.IsNull()) return;
    if (!root.IsMap()) {
      wrong(root, "", "the file is no map; expected sections such as \"http:\"");
      return;
    }
    for (const auto& pair : root) {
      if (!pair.first.IsScalar()) {
        wrong(pair.first, "", "a key is no plain word");
        continue;
      }
      const std::string section = pair.first.Scalar();
      if (pair.second.IsMap()) {
        if (!isNew(pair.first, section)) continue;
        collectSection(section, pair.second);
      } else {
        add(pair.first, section, pair.second);
      }
    }
  }

  std::vector<RawEntry> take() { return std::move(entries_); }

 private:
  void collectSection(const std::string& section, const YAML::Node& map) {
    for (const auto& pair : map) {
      if (!pair.first.IsScalar()) {
        wrong(pair.first, section, "a key is no plain word");
        continue;
      }
      add(pair.first, section + "." + pair.first.Scalar(), pair.second);
    }
  }

  void add(const YAML::Node& at, const std::string& name, const YAML::Node& node) {
    if (!isNew(at, name)) return;
    entries_.push_back({name, rawValueOf(node), at.Mark().line + 1});
  }

  bool isNew(const YAML::Node& at, const std::string& name) {
    if (seen_.insert(name).second) return true;
    wrong(at, name, "stands twice");
    return false;
  }

  void wrong(const YAML::Node& at, const std::string& key, std::string message) {
    issues_.push_back({file_, at.Mark().line + 1, key, std::move(message)});
  }

  const std::string& file_;
  std::vector<ConfigIssue>& issues_;
  std::vector<RawEntry> entries_;
  std::set<std::string> seen_;
};

}  // namespace

std::string ConfigIssue::text() const {
  std::string out = file;
  if (line > 0) out += fmt::format(":{}", line);
  if (!key.empty()) out += fmt::format("{}{}", out.empty() ? "" : ": ", key);
  return fmt::format("{}{}{}", out, out.empty() ? "" : ": ", message);
}

std::vector<RawEntry> readYamlText(const std::string& file, std::string_view text,
                                   std::vector<ConfigIssue>& issues) {
  if (text.size() > kFileBytesMax) {
    issues.push_back({file, 0, "", fmt::format("is over {} bytes", kFileBytesMax)});
    return {};
  }
  if (const int line = tooDeepLine(text); line > 0) {
    issues.push_back({file, line, "", "is nested too deep; a settings file has sections and keys"});
    return {};
  }
  if (!isValidUtf8(text) || text.find('\0') != text.npos) {
    issues.push_back({file, 0, "", "is no text in UTF-8"});
    return {};
  }
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1) {
      issues.push_back({file, documents[1].Mark().line + 1, "", "has a second document (\"---\")"});
      return {};
    }
    EntryCollector collector(file, issues);
    if (!documents.empty()) collector.collect(documents.front());
    return collector.take();
  } catch (const YAML::Exception& e) {
    issues.push_back(
        {file, e.mark.is_null() ? 0 : e.mark.line + 1, "", fmt::format("is not YAML: {}", e.msg)});
    return {};
  }
}

Result<std::string> readConfigFile(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    const int error = errno;
    const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::NotFound
                           : error == EACCES                   ? ErrorCode::PermissionDenied
                                                               : ErrorCode::InvalidArgument;
    return Error::make(code, "{}: {}", path, std::strerror(error));
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Error::invalidArgument("{}: is no regular file", path);
  }
  std::string text;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0) return Error::invalidArgument("{}: {}", path, std::strerror(errno));
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kFileBytesMax) {
      return Error::invalidArgument("{}: is over {} bytes", path, kFileBytesMax);
    }
  }
}

}  // namespace baton::conf
