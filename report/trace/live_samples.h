#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace heapattach::trace {

// The samples in use at one moment, by address. Each takes 16 bytes, plus free slots, since there
// may be millions. They are in several hash tables, so that only a part of the memory is needed
// twice while one of these grows.
class LiveSamples {
 public:
  struct Sample {
    std::uint64_t bytes = 0;
    std::uint32_t cell = 0;
  };

  // Replaces and returns any sample at this address.
  std::optional<Sample> put(std::uint64_t address, const Sample& sample);
  std::optional<Sample> remove(std::uint64_t address);
  // The addresses of all samples, unordered.
  [[nodiscard]] std::vector<std::uint64_t> addresses() const;

 private:
  struct Slot {
    std::uint64_t key = 0;  // 0: empty
    std::uint32_t cell = 0;
    std::uint32_t bytes = 0;  // kLarge: the size is in large_
  };
  static_assert(sizeof(Slot) == 16);
  static constexpr std::uint32_t kLarge = 0xffffffff;

  // A hash table with linear probing. Removal leaves no tombstone.
  class Table {
   public:
    Table() : slots_(64) {}
    // The slot of the key, or an empty one that must be filled with it.
    Slot& slot_for(std::uint64_t key);
    // Null if there is none.
    [[nodiscard]] const Slot* find(std::uint64_t key) const {
      const Slot& slot = slots_[at(key)];
      return slot.key == key ? &slot : nullptr;
    }
    void remove(const Slot* slot);
    [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }

   private:
    [[nodiscard]] std::size_t home_of(std::uint64_t key) const {
      return static_cast<std::size_t>(mixed(key) >> 20) & (slots_.size() - 1);
    }
    [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
    // The slot of the key, or the empty slot where it belongs.
    [[nodiscard]] std::size_t at(std::uint64_t key) const;
    void grow();

    std::vector<Slot> slots_;  // a power of two
    std::size_t used_ = 0;
  };

  static std::uint64_t mixed(std::uint64_t key) { return key * 0x9e3779b97f4a7c15ULL; }
  // Blocks start at multiples of 8 or 16, so there is none at the last address.
  static std::uint64_t key_of(std::uint64_t address) { return address + 1; }
  Table& table_of(std::uint64_t key) { return tables_[mixed(key) >> 60]; }
  Sample take(const Slot& slot);

  std::array<Table, 16> tables_;
  std::unordered_map<std::uint64_t, std::uint64_t> large_;  // bytes by key
};

}  // namespace heapattach::trace
