#pragma once

#include <optional>
#include <string>

#include "ha/coordinator.h"

namespace baton::ha {

// The texts of the nodes: JSON of less than 1 KiB. Reading is tolerant of unknown members (other
// program versions) and gives nothing for anything that is not ours.
std::string encodeLock(const LockRecord& lock);
std::optional<LockRecord> decodeLock(const std::string& text);
std::string encodeMember(const MemberRecord& member);
std::optional<MemberRecord> decodeMember(const std::string& text);
std::string encodeEpoch(uint64_t epoch, const std::string& node_id, const std::string& incarnation,
                        const std::string& reason);
std::optional<uint64_t> decodeEpoch(const std::string& text);
std::string encodeCluster(const std::string& guid);
std::optional<std::string> decodeCluster(const std::string& text);

}  // namespace baton::ha
