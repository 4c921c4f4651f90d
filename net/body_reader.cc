#include "net/body_reader.h"

#include <algorithm>
#include <charconv>

namespace baton::net {
namespace {

constexpr size_t kChunkLineMax = 256;  // A size and its extensions.
constexpr size_t kTrailersMax = 8 * 1024;

}  // namespace

BodyReader::BodyReader(const BodyFraming& framing, size_t bytes_max)
    : framing_(framing), bytes_max_(bytes_max) {
  switch (framing.kind) {
    case BodyFraming::Kind::None:
      state_ = State::Complete;
      break;
    case BodyFraming::Kind::Length:
      left_ = framing.length;
      if (left_ == 0) state_ = State::Complete;
      if (left_ > bytes_max) state_ = State::TooLarge;
      break;
    case BodyFraming::Kind::Chunked:
      break;
    case BodyFraming::Kind::UntilClose:
      left_ = UINT64_MAX;
      break;
  }
}

BodyReader::State BodyReader::finish() const {
  if (state_ != State::More) return state_;
  return framing_.kind == BodyFraming::Kind::UntilClose ? State::Complete : State::Failed;
}

size_t BodyReader::takeData(std::string_view data) {
  const size_t count = static_cast<size_t>(std::min<uint64_t>(left_, data.size()));
  if (count > bytes_max_ - body_.size()) {
    state_ = State::TooLarge;
    return 0;
  }
  body_.append(data.substr(0, count));
  if (left_ != UINT64_MAX) left_ -= count;
  return count;
}

BodyReader::State BodyReader::feed(std::string_view data, size_t& taken) {
  taken = 0;
  if (framing_.kind != BodyFraming::Kind::Chunked) {
    if (state_ != State::More) return state_;
    taken = takeData(data);
    if (left_ == 0) state_ = State::Complete;
    return state_;
  }
  while (state_ == State::More && taken < data.size()) {
    if (part_ == Part::Data) {
      taken += takeData(data.substr(taken));
      if (left_ == 0) part_ = Part::DataEnd;
    } else {
      takeLineByte(data[taken++]);
    }
  }
  return state_;
}

void BodyReader::takeLineByte(char c) {
  const bool after_cr = !line_.empty() && line_.back() == '\r';
  const size_t max = part_ == Part::DataEnd   ? 2
                     : part_ == Part::Trailer ? kTrailersMax
                                              : kChunkLineMax;
  line_ += c;
  // A lone CR or LF is read as a line's end by some and not by others: refused.
  if (after_cr != (c == '\n') || line_.size() > max) {
    state_ = State::Failed;
    return;
  }
  if (c != '\n') return;
  line_.resize(line_.size() - 2);
  if (part_ == Part::SizeLine) {
    onSizeLine();
  } else if (part_ == Part::DataEnd) {
    if (!line_.empty()) state_ = State::Failed;
    part_ = Part::SizeLine;
  } else if (line_.empty()) {
    state_ = State::Complete;
  } else {
    trailer_bytes_ += line_.size();
    if (trailer_bytes_ > kTrailersMax) state_ = State::Failed;
  }
  line_.clear();
}

void BodyReader::onSizeLine() {
  const std::string_view digits = std::string_view(line_).substr(0, line_.find_first_of("; \t"));
  uint64_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
  if (digits.empty() || digits.size() > 15 || error != std::errc() ||
      end != digits.data() + digits.size()) {
    state_ = State::Failed;
    return;
  }
  if (size > bytes_max_ - body_.size()) {
    state_ = State::TooLarge;
    return;
  }
  left_ = size;
  part_ = size == 0 ? Part::Trailer : Part::Data;
}

}  // namespace baton::net
