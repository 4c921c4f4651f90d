#include "worker/journal_file.h"

#include <array>
#include <cstring>
#include <optional>

namespace baton::worker {
namespace {

constexpr size_t kHeaderBytes = 8;
constexpr size_t kPayloadBytesMax = 64 * 1024 * 1024;

constexpr std::array<uint32_t, 256> makeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78U : 0);
    table[i] = value;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = makeCrcTable();

uint32_t readWord(std::string_view bytes) {
  uint32_t word = 0;
  memcpy(&word, bytes.data(), sizeof(word));
  return word;
}

// The payload of the record that begins here, if it is whole.
std::optional<std::string_view> wholeRecord(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  const uint32_t size = readWord(bytes);
  if (size == 0 || size > kPayloadBytesMax || size > bytes.size() - kHeaderBytes) {
    return std::nullopt;
  }
  const std::string_view payload = bytes.substr(kHeaderBytes, size);
  if (crc32c(payload) != readWord(bytes.substr(4))) return std::nullopt;
  return payload;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  }
  return ~crc;
}

std::string encodeRecord(std::string_view payload) {
  CHECK(!payload.empty() && payload.size() <= kPayloadBytesMax);
  const auto size = static_cast<uint32_t>(payload.size());
  const uint32_t crc = crc32c(payload);
  std::string record(kHeaderBytes, '\0');
  memcpy(record.data(), &size, sizeof(size));
  memcpy(record.data() + 4, &crc, sizeof(crc));
  record.append(payload);
  return record;
}

Result<DecodedJournal> decodeJournal(std::string_view bytes) {
  DecodedJournal journal;
  while (journal.valid_bytes < bytes.size()) {
    const auto payload = wholeRecord(bytes.substr(journal.valid_bytes));
    if (!payload) break;
    journal.payloads.emplace_back(*payload);
    journal.valid_bytes += kHeaderBytes + payload->size();
  }
  // Payloads are JSON objects: where none begins, the costly checksum need not be looked at.
  for (size_t at = journal.valid_bytes + 1; at + kHeaderBytes < bytes.size(); ++at) {
    if (bytes[at + kHeaderBytes] == '{' && wholeRecord(bytes.substr(at))) {
      return Error::make(ErrorCode::Corrupt,
                         "the journal is damaged at byte {}, but goes on at byte {}",
                         journal.valid_bytes, at);
    }
  }
  return journal;
}

}  // namespace baton::worker
