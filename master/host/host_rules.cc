#include "master/host/host_rules.h"

#include "common/base/status.h"
#include "common/base/version_number.h"

namespace baton::master {
namespace {

std::string withReason(std::string_view what, const std::string& reason) {
  return reason.empty() ? std::string(what) : fmt::format("{}: {}", what, reason);
}

// Who tells no version that can be read is older than any.
bool isOlder(const std::string& version, const std::string& wanted) {
  const auto min = VersionNumber::parse(wanted);
  const auto has = VersionNumber::parse(version);
  return min && (!has || *has < *min);
}

}  // namespace

void HostRules::store(HostRecord record) {
  const std::string name = record.name;
  by_name_.insert_or_assign(name, std::move(record));
}

void HostRules::store(const SettingRecord& setting) {
  if (setting.name == kSettingWhiteList) white_list_ = setting.value == "true";
  if (setting.name == kSettingMinVersion) min_version_ = setting.value;
}

const HostRecord* HostRules::find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &it->second;
}

HostVerdict HostRules::judge(const std::string& worker_id, const std::string& host,
                             const std::string& version) const {
  const HostRecord* words[] = {find(worker_id), worker_id == host ? nullptr : find(host)};
  const auto said = [&](HostWord word) -> const HostRecord* {
    for (const HostRecord* record : words) {
      if (record != nullptr && record->word == word) return record;
    }
    return nullptr;
  };
  if (const HostRecord* record = said(HostWord::Exclude)) {
    return {HostBar::Excluded, withReason("is excluded", record->reason), record->reason};
  }
  if (const HostRecord* record = said(HostWord::Drain)) {
    return {HostBar::Drained, withReason("is drained", record->reason), record->reason};
  }
  const HostRecord* included = said(HostWord::Include);
  const std::string reason = included == nullptr ? std::string() : included->reason;
  if (white_list_ && included == nullptr) {
    return {HostBar::Unapproved, "is not on the white list", reason};
  }
  if (isOlder(version, min_version_)) {
    return {HostBar::Outdated,
            fmt::format("has version {}, {} is required",
                        version.empty() ? std::string("unknown") : version, min_version_),
            reason};
  }
  return {HostBar::None, {}, reason};
}

LabelMap HostRules::labelsOf(const std::string& worker_id, const std::string& host) const {
  LabelMap labels;
  if (const HostRecord* record = find(worker_id)) labels = record->labels;
  if (const HostRecord* record = find(host)) {
    labels.insert(record->labels.begin(), record->labels.end());
  }
  return labels;
}

}  // namespace baton::master
