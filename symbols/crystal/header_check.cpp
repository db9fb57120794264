// The runtime guarantees the following about an instance, and all of it is checked:
//   - it was allocated with exactly its class's size, so its slot is one that the collector may use
//     for a request of that size (size_classes.h);
//   - it was allocated atomic exactly if its class has no pointers;
//   - the compiler zeroed it before its fields were set, so what belongs to no field is zero;
//   - the collector zeroed it, unless atomic, so what follows the instance is zero;
//   - a String has a length of at most its size, a NUL after its bytes, and no more room than
//     realloc leaves, which moves an object that would be less than half used.

#include "symbols/crystal/header_check.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "symbols/boehm/size_classes.h"

namespace heapattach::crystal {
namespace {

constexpr std::uint32_t kLargestId = 1U << 24U;
constexpr std::uint64_t kStringHeader = 12;
constexpr std::uint64_t kGranule = 16;

std::uint32_t number_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

bool is_zero(std::span<const std::byte> bytes, std::uint64_t from, std::uint64_t to) {
  const auto end = std::min<std::uint64_t>(to, bytes.size());
  for (std::uint64_t i = from; i < end; ++i) {
    if (bytes[i] != std::byte{0}) return false;
  }
  return true;
}

bool is_string(const heap::Block& block, std::span<const std::byte> contents) {
  if (!block.is_atomic() || contents.size() < kStringHeader + 1) return false;
  const std::uint64_t bytes = number_at(contents, 4);
  const std::uint64_t length = number_at(contents, 8);
  const std::uint64_t needed = kStringHeader + bytes + 1;
  if (length > bytes || needed > block.object_bytes) return false;
  if (block.object_bytes > 2 * (needed + kGranule)) return false;
  const std::uint64_t end = kStringHeader + bytes;
  return end >= contents.size() || contents[end] == std::byte{0};
}

// A weak reference must not keep its object alive, so it is allocated atomic and not zeroed:
// between the id and @target is old data.
bool is_weak(const Type& type) {
  return type.name.starts_with("WeakRef(");
}

// The parts of [4, bytes) that no field covers.
std::vector<Range> gaps_of(const Type& type) {
  std::vector<Range> gaps;
  if (type.fields.empty() || !type.instance_bytes || is_weak(type)) return gaps;
  std::uint64_t at = 4;
  for (const Field& field : type.fields) {
    if (field.offset > at) gaps.push_back({{at}, field.offset - at});
    at = std::max(at, field.offset + field.bytes);
  }
  if (*type.instance_bytes > at) gaps.push_back({{at}, *type.instance_bytes - at});
  return gaps;
}

// Whether an object can be an Array by its @size, @capacity, @offset_to_buffer and @buffer, which
// is null only while there has never been an element.
bool may_be_array(std::span<const std::byte> contents) {
  constexpr std::uint64_t kMost = 0x7fffffff;
  if (contents.size() < 24) return false;
  const std::uint64_t size = number_at(contents, 4);
  const std::uint64_t capacity = number_at(contents, 8);
  const std::uint64_t shifted_by = number_at(contents, 12);
  if (size > capacity || capacity + shifted_by > kMost) return false;
  return !is_zero(contents, 16, 24) || (size == 0 && shifted_by == 0);
}

struct Container {
  std::string_view prefix;
  std::uint64_t instance_bytes;
  std::array<std::uint32_t, 2> pointers;  // 0: none
  std::uint32_t closure;                  // of a Proc field; 0: none
};
constexpr std::array<Container, 3> kContainers = {{
    {"Array(", 24, {16, 0}, 0},
    {"Deque(", 24, {16, 0}, 0},
    {"Hash(", 56, {8, 16}, 48},
}};

const Container* container_of(const Type& type) {
  const auto found = std::find_if(kContainers.begin(), kContainers.end(), [&](const Container& c) {
    return type.name.starts_with(c.prefix) && type.name.ends_with(')') &&
           type.instance_bytes.value_or(c.instance_bytes) == c.instance_bytes;
  });
  return found == kContainers.end() ? nullptr : &*found;
}

bool is_array(const Type& type) {
  const Container* container = container_of(type);
  return container != nullptr && container->prefix == "Array(";
}

// The offset in a field of this type where a buffer's address may be.
std::optional<std::uint64_t> pointer_in(const Field& field) {
  const auto is = [&](std::string_view prefix) { return field.type.starts_with(prefix); };
  // A Pointer(Void) may be anything, also an instance that was boxed.
  if (is("Pointer(") && !is("Pointer(Void)")) return 0;
  // A Proc is a function and its closure's data; in a union the type's id comes before it.
  if ((is("Proc(") || is("(Proc(")) && field.bytes == 16) return 8;
  if (is("(Proc(") && field.bytes == 24) return 16;
  if (is("(Slice(") && field.bytes == 24) return 16;
  return std::nullopt;
}

}  // namespace

HeaderCheck::HeaderCheck(const TypeTable& types, bool has_numbers) {
  for (const Type& type : types.types()) {
    if (type.id == 0 || type.id > kLargestId) continue;
    if (type.id >= by_id_.size()) by_id_.resize(std::size_t{type.id} + 1);
    by_id_[type.id] = {.type = &type,
                       .bytes = type.instance_bytes.value_or(0),
                       .gaps = gaps_of(type),
                       .is_atomic_known = type.is_atomic.has_value(),
                       .is_atomic = type.is_atomic.value_or(false) || is_weak(type),
                       .is_string = type.name == "String",
                       .is_array = has_numbers && is_array(type)};
  }
}

const Type* HeaderCheck::type_of(const heap::Block& block,
                                 std::span<const std::byte> contents) const {
  // Crystal's objects are never in malloc's memory.
  if (contents.size() < 8 || block.is_uncollectable() || (block.flags & heap::kChunk) != 0) {
    return nullptr;
  }
  const std::uint32_t id = number_at(contents, 0);
  if (id >= by_id_.size()) return nullptr;
  const Entry& entry = by_id_[id];
  return entry.type != nullptr && fits(entry, block, contents) ? entry.type : nullptr;
}

bool HeaderCheck::fits(const Entry& entry,
                       const heap::Block& block,
                       std::span<const std::byte> contents) {
  if (entry.is_string) return is_string(block, contents);
  if (entry.is_array && !may_be_array(contents)) return false;
  if (entry.is_atomic_known && entry.is_atomic != block.is_atomic()) return false;
  // Buffers of numbers are atomic, so an atomic object needs more than an id and a kind. Classes
  // with unknown size have hardly any instances.
  if (entry.bytes == 0) return !block.is_atomic();
  if (!boehm::may_hold_request(block.object_bytes, entry.bytes)) return false;
  const auto is_gap_zero = [&](const Range& gap) {
    return is_zero(contents, gap.start.value, gap.end().value);
  };
  if (!std::all_of(entry.gaps.begin(), entry.gaps.end(), is_gap_zero)) return false;
  return block.is_atomic() || is_zero(contents, entry.bytes, block.object_bytes);
}

bool looks_like_array(std::span<const std::byte> contents, std::uint64_t buffer_bytes) {
  if (contents.size() < 24) return false;
  const std::uint64_t size = number_at(contents, 4);
  const std::uint64_t capacity = number_at(contents, 8);
  const std::uint64_t shifted_by = number_at(contents, 12);
  return capacity > 0 && size <= capacity && capacity + shifted_by <= buffer_bytes;
}

std::vector<BufferPointer> buffer_pointers(const Type& type) {
  std::vector<BufferPointer> pointers;
  if (type.name.empty()) {
    const bool may_be_array = type.instance_bytes == 24 && type.is_atomic == false;
    if (may_be_array) pointers.push_back({16, true, true});
    return pointers;
  }
  const Container* container = container_of(type);
  if (container != nullptr && type.fields.empty()) {
    for (const std::uint32_t offset : container->pointers) {
      if (offset != 0) pointers.push_back({offset, true});
    }
    if (container->closure != 0) pointers.push_back({container->closure, false});
    return pointers;
  }
  for (const Field& field : type.fields) {
    const auto at = pointer_in(field);
    const std::uint64_t offset = field.offset + at.value_or(0);
    if (!at || offset % 8 != 0 || offset > ~std::uint32_t{0}) continue;
    pointers.push_back({static_cast<std::uint32_t>(offset), container != nullptr && *at == 0});
  }
  return pointers;
}

}  // namespace heapattach::crystal
