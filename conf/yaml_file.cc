#include "conf/yaml_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "common/base/file_descriptor.h"
#include "common/yaml/yaml_document.h"

namespace baton::conf {
namespace {

constexpr YamlLimits kFileLimits;

RawValue rawValueOf(const YamlNode& node) {
  RawValue value;
  switch (node.kind) {
    case YamlNode::Kind::Scalar:
      value.text = node.text;
      value.quoted = node.quoted;
      return value;
    case YamlNode::Kind::Null:
      value.kind = RawValue::Kind::Null;
      return value;
    case YamlNode::Kind::List:
      value.kind = RawValue::Kind::List;
      for (const YamlNode& item : node.items) {
        if (item.kind != YamlNode::Kind::Scalar) {
          value.kind = RawValue::Kind::Nested;
          return value;
        }
        value.items.push_back(item.text);
      }
      return value;
    case YamlNode::Kind::Map:
      break;
  }
  value.kind = RawValue::Kind::Map;
  for (const YamlEntry& entry : node.entries) {
    if (entry.value.kind != YamlNode::Kind::Scalar) {
      value.kind = RawValue::Kind::Nested;
      return value;
    }
    value.pairs.emplace_back(entry.key, entry.value.text);
  }
  return value;
}

// Walks the two levels and keeps what has the right shape.
class EntryCollector {
 public:
  EntryCollector(const std::string& file, std::vector<ConfigIssue>& issues)
      : file_(file), issues_(issues) {}

  void collect(const YamlNode& root) {
    if (root.kind == YamlNode::Kind::Null) return;
    if (root.kind != YamlNode::Kind::Map) {
      issues_.push_back(
          {file_, root.mark.line, "", "the file is no map; expected sections such as \"http:\""});
      return;
    }
    for (const YamlEntry& section : root.entries) {
      if (section.value.kind != YamlNode::Kind::Map) {
        add(section.mark.line, section.key, section.value);
        continue;
      }
      for (const YamlEntry& entry : section.value.entries) {
        add(entry.mark.line, section.key + "." + entry.key, entry.value);
      }
    }
  }

  std::vector<RawEntry> take() { return std::move(entries_); }

 private:
  // "a.b: 1" and "b: 1" in the section "a" are one name.
  void add(int line, const std::string& name, const YamlNode& node) {
    if (seen_.insert(name).second) {
      entries_.push_back({name, rawValueOf(node), line});
    } else {
      issues_.push_back({file_, line, name, "stands twice"});
    }
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
  std::vector<YamlIssue> found;
  const auto root = readYaml(text, kFileLimits, found);
  for (YamlIssue& issue : found) {
    issues.push_back({file, issue.mark.line, std::move(issue.path), std::move(issue.message)});
  }
  EntryCollector collector(file, issues);
  if (root) collector.collect(*root);
  return collector.take();
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
    if (text.size() > kFileLimits.bytes_max) {
      return Error::invalidArgument("{}: is over {} bytes", path, kFileLimits.bytes_max);
    }
  }
}

}  // namespace baton::conf
