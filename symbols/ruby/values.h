#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/arch/addresses.h"
#include "attach/memory/memory_reader.h"
#include "symbols/ruby/layout.h"

// Reads Ruby's values from outside. They may be anything: each function returns nothing for a value
// of another kind, and believes no length beyond the limits here.
namespace heapattach::ruby {

using Value = std::uint64_t;  // VALUE: the address of an object, or an immediate
using Id = std::uint64_t;     // ID: a name

// RUBY_T_…: the kind of an object, in its flags.
enum class Kind : std::uint8_t {
  None = 0,
  Object = 1,
  Class = 2,
  Module = 3,
  Float = 4,
  String = 5,
  Regexp = 6,
  Array = 7,
  Hash = 8,
  Struct = 9,
  Bignum = 10,
  File = 11,
  Data = 12,
  Match = 13,
  Complex = 14,
  Rational = 15,
  Symbol = 20,
  Imemo = 26,
  Node = 27,
  Iclass = 28,
  Zombie = 29,
  Moved = 30,
};

// An object's slot in the heap.
struct Slot {
  std::array<std::uint64_t, 5> words{};

  [[nodiscard]] std::uint64_t flags() const { return words[0]; }
  [[nodiscard]] Value of_class() const { return words[1]; }
  [[nodiscard]] Kind kind() const { return static_cast<Kind>(words[0] & 0x1f); }
  // FL_USER0 to FL_USER19.
  [[nodiscard]] bool has(unsigned user_flag) const {
    return (words[0] >> (12 + user_flag) & 1) != 0;
  }
  // `flag` is the user flag for it (Layout::of_class).
  [[nodiscard]] bool is_singleton_class(unsigned flag) const {
    return kind() == Kind::Class && has(flag);
  }
  // For a Data, the addresses of its rb_data_type_t and of its C structure; 0 if it has none. Until
  // 3.4 flags follow the type's address. Since 4.0, which has fields (ValueForm), they are its
  // lowest bit, and a Data without a type may have a function's address there instead.
  [[nodiscard]] std::uint64_t data_type(const ValueForm& form) const;
  [[nodiscard]] std::uint64_t data(std::uint64_t slot, const ValueForm& form) const;
};
static_assert(sizeof(Slot) == 40);

// Whether a value may be the address of an object.
[[nodiscard]] constexpr bool is_reference(Value value) {
  return value % 8 == 0 && value >= 0x1000 && value < kUsualAddressEnd;
}

inline std::uint64_t Slot::data_type(const ValueForm& form) const {
  constexpr std::uint64_t kIsTyped = 1;
  constexpr std::uint64_t kDataInSlot = 2;
  if (!form.has_fields) return (words[3] & ~kDataInSlot) == kIsTyped ? words[2] : 0;
  const std::uint64_t type = words[3] & ~std::uint64_t{1};
  return is_reference(type) ? type : 0;
}

inline std::uint64_t Slot::data(std::uint64_t slot, const ValueForm& form) const {
  const std::uint64_t in_slot = form.has_fields ? 1 : 2;
  const bool is_in_slot = data_type(form) != 0 && (words[3] & in_slot) != 0;
  return is_in_slot ? slot + 32 : words[4];
}

class Values {
 public:
  Values(const MemoryReader& memory, const ValueForm& form) : memory_(memory), form_(form) {}

  [[nodiscard]] const MemoryReader& memory() const { return memory_; }
  [[nodiscard]] const ValueForm& form() const { return form_; }

  [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t at) const;
  template <class T>
  [[nodiscard]] std::optional<T> as(std::uint64_t at) const {
    const auto value = memory_.read_as<T>(RemoteAddr{at});
    return value ? std::optional<T>(*value) : std::nullopt;
  }
  [[nodiscard]] std::optional<Slot> slot(Value value) const;
  // The words in `range`. Words that cannot be read are 0: a core file lacks pages that were never
  // written.
  [[nodiscard]] std::vector<std::uint64_t> words_in(Range range) const;

  // A String's bytes, at most kMostText.
  static constexpr std::uint64_t kMostText = 4096;
  [[nodiscard]] std::optional<std::string> text(Value value) const;
  // A C string.
  [[nodiscard]] std::optional<std::string> c_text(std::uint64_t at) const;

  struct Elements {
    std::uint64_t at = 0;  // address of the first element
    std::uint64_t count = 0;
  };
  [[nodiscard]] std::optional<Elements> elements(Value array) const;
  [[nodiscard]] std::optional<Value> element(Value array, std::uint64_t index) const;

  // The pairs of an st_table.
  struct Entry {
    std::uint64_t hash = 0;
    std::uint64_t key = 0;
    std::uint64_t value = 0;
  };
  static constexpr std::uint64_t kMostEntries = 65536;
  [[nodiscard]] std::vector<Entry> entries(std::uint64_t table) const;
  // The words of its entries, deleted ones included; nothing if it cannot be a table.
  [[nodiscard]] std::optional<std::uint64_t> words_of_table(std::uint64_t at) const;
  // Reads a table that may be large; returns nothing if it cannot be read, or if the numbers in it
  // do not fit its entries.
  static constexpr std::uint64_t kMostTableEntries = std::uint64_t{1} << 26;
  [[nodiscard]] std::optional<std::vector<Entry>> table(
      std::uint64_t at, std::uint64_t most = kMostTableEntries) const;

 private:
  const MemoryReader& memory_;
  ValueForm form_;
};

}  // namespace heapattach::ruby
