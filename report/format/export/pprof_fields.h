#pragma once

// The fields of the message Profile in pprof's profile.proto; pprof.cpp explains what its readers
// expect.

#include <cstdint>
#include <string>
#include <string_view>

#include "report/format/export/stream.h"

namespace heapattach {

// Builds a message in protobuf's wire format, field after field. It is built in memory, because
// messages here are small.
class ProtobufMessage {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
  }
  void bytes(std::uint32_t field, std::string_view value) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(value.size());
    text_ += value;
  }
  void message(std::uint32_t field, const ProtobufMessage& value) { bytes(field, value.text_); }
  // Adds an element of a packed field, which is a message that consists only of numbers.
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }

  void clear() { text_.clear(); }
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace heapattach

namespace heapattach::pprof {

constexpr std::uint32_t kSampleType = 1;
constexpr std::uint32_t kSample = 2;
constexpr std::uint32_t kMapping = 3;
constexpr std::uint32_t kLocation = 4;
constexpr std::uint32_t kFunction = 5;
constexpr std::uint32_t kStringTable = 6;
constexpr std::uint32_t kTimeNanos = 9;
constexpr std::uint32_t kDurationNanos = 10;
constexpr std::uint32_t kPeriodType = 11;
constexpr std::uint32_t kPeriod = 12;
constexpr std::uint32_t kComment = 13;
constexpr std::uint32_t kDefaultSampleType = 14;

inline void put_message(ExportStream& out, std::uint32_t field, const ProtobufMessage& message) {
  ProtobufMessage framed;
  framed.message(field, message);
  out.put(framed.text());
}

}  // namespace heapattach::pprof
