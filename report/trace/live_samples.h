#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace heapattach::trace {

// The samples in use at one moment, by address. Each takes 16 bytes, plus free slots, since there
// may be ten million. A hash table with linear probing, in which removal leaves no tombstone.
class LiveSamples {
 public:
  struct Sample {
    std::uint64_t bytes = 0;
    std::uint32_t cell = 0;
  };

  LiveSamples() : slots_(1024) {}

  // Replaces and returns any sample at this address.
  std::optional<Sample> put(std::uint64_t address, const Sample& sample);
  std::optional<Sample> remove(std::uint64_t address);

 private:
  struct Slot {
    std::uint64_t key = 0;  // 0: empty
    std::uint32_t cell = 0;
    std::uint32_t bytes = 0;  // kLarge: in large_
  };
  static_assert(sizeof(Slot) == 16);
  static constexpr std::uint32_t kLarge = 0xffffffff;

  // Blocks start at multiples of 8 or 16, so there is none at the last address.
  static std::uint64_t key_of(std::uint64_t address) { return address + 1; }
  [[nodiscard]] std::size_t home_of(std::uint64_t key) const {
    return static_cast<std::size_t>(key * 0x9e3779b97f4a7c15ULL >> 20) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  // The slot of the key, or the empty slot where it belongs.
  [[nodiscard]] std::size_t find(std::uint64_t key) const;
  Sample take(const Slot& slot);
  void close_gap(std::size_t gap);
  void grow();

  std::vector<Slot> slots_;  // a power of two
  std::size_t used_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> large_;  // bytes by key
};

}  // namespace heapattach::trace
