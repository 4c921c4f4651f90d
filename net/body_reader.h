#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "net/http_head.h"

namespace baton::net {

// Gathers the body of a message by its framing, up to a cap. Trailers of a chunked body are read
// and dropped. One thread.
class BodyReader {
 public:
  enum class State : uint8_t { More, Complete, TooLarge, Failed };

  BodyReader(const BodyFraming& framing, size_t bytes_max);

  // Takes bytes from `data` up to the end of the body and sets how many it took.
  State feed(std::string_view data, size_t& taken);
  // The stream has ended: that completes a body which lasts until then, and breaks any other.
  State finish() const;
  // What was gathered so far and not taken yet; only that counts against the cap.
  std::string takeBody() { return std::exchange(body_, {}); }
  State state() const { return state_; }
  size_t bytes() const { return body_.size(); }  // Gathered so far.

 private:
  enum class Part : uint8_t { SizeLine, Data, DataEnd, Trailer };

  size_t takeData(std::string_view data);
  void takeLineByte(char c);
  void onSizeLine();

  BodyFraming framing_;
  size_t bytes_max_;
  State state_ = State::More;
  std::string body_;
  uint64_t left_ = 0;  // Of the body, or of this chunk.
  Part part_ = Part::SizeLine;
  std::string line_;
  size_t trailer_bytes_ = 0;
};

}  // namespace baton::net
