#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "report/model/model.h"

namespace heapattach {

// Reads the bytes of one object after another from the snapshot's contents, page by page.
// Unreadable bytes are zero.
class ObjectBytes {
 public:
  explicit ObjectBytes(const snapshot::Snapshot& snapshot) : snapshot_(snapshot), part_(kPart) {}

  // Eight bytes of the object at offset `at`, a multiple of eight.
  [[nodiscard]] std::uint64_t word(const snapshot::Object& object, std::uint64_t at) {
    const std::uint64_t wanted = object.address + at;
    if (wanted < from_ || wanted - from_ >= end_) fill(wanted, snapshot_.bytes_of(object) - at);
    std::uint64_t value = 0;
    std::memcpy(&value, part_.data() + (wanted - from_), sizeof value);
    return value;
  }

  template <class Visit>
  void for_each_part(const snapshot::Object& object, const Visit& visit) {
    const std::uint64_t bytes = snapshot_.bytes_of(object);
    for (std::uint64_t at = 0; at < bytes; at += end_) {
      fill(object.address + at, bytes - at);
      visit(std::string_view(part_.data(), end_));
    }
  }

 private:
  static constexpr std::size_t kPart = 65536;

  void fill(std::uint64_t from, std::uint64_t bytes) {
    from_ = from;
    end_ = std::min<std::uint64_t>(bytes, kPart);
    const std::span<char> into(part_.data(), end_);
    std::fill(into.begin(), into.end(), '\0');
    if (snapshot_.contents == nullptr) return;
    if (!snapshot_.contents->read({from}, std::as_writable_bytes(into))) {
      std::fill(into.begin(), into.end(), '\0');
    }
  }

  const snapshot::Snapshot& snapshot_;
  std::vector<char> part_;
  std::uint64_t from_ = 0;  // the offset of the current part
  std::uint64_t end_ = 0;   // how much of it is filled
};

}  // namespace heapattach
