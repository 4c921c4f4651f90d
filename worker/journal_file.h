#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

// The bytes of the journal: records of a length, a checksum and a payload.
namespace baton::worker {

// CRC-32C (Castagnoli).
uint32_t crc32c(std::string_view bytes);

// One record as it is appended.
std::string encodeRecord(std::string_view payload);

struct DecodedJournal {
  std::vector<std::string> payloads;
  size_t valid_bytes = 0;  // Where the next record goes: a torn tail begins here.
};

// All whole records. What was being written when the machine died may be half there: a damaged
// end is left out. A damaged record with a whole one behind it is no such end.
// Errors: Corrupt (with the offset).
Result<DecodedJournal> decodeJournal(std::string_view bytes);

}  // namespace baton::worker
