// A Crystal String is its type id, the number of its bytes, the number of its characters or 0, its
// text and a NUL. A buffer of numbers may begin with a small number, too. So the text must be valid
// UTF-8 without control characters, with that number of characters. It either fills the requested
// memory exactly, as all but those of a String::Builder do, or is not very short.

#include "report/trace/object_types.h"

#include <algorithm>
#include <cstring>

#include "symbols/cxx/base_classes.h"

namespace heapattach::trace {

namespace {

constexpr std::size_t kWord = 8;
constexpr std::uint64_t kStringHeader = 12;
constexpr std::uint64_t kMostText = 256;  // bytes that are examined
constexpr std::uint64_t kLeastLoose = 8;  // bytes, if the text does not fill its memory

std::uint32_t number_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// The length of the character that starts with this byte; 0 if none does.
std::size_t bytes_of_character(unsigned char first) {
  if (first < 0x80) return first < ' ' && first != '\n' && first != '\t' && first != '\r' ? 0 : 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// The number of characters of a text whose last one may be cut off; nothing if it is not text.
std::optional<std::uint64_t> characters_of(std::span<const std::byte> text) {
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    const std::size_t bytes = bytes_of_character(static_cast<unsigned char>(text[at]));
    if (bytes == 0) return std::nullopt;
    for (std::size_t i = 1; i < bytes && at + i < text.size(); ++i) {
      if ((text[at + i] & std::byte{0xc0}) != std::byte{0x80}) return std::nullopt;
    }
    at += bytes;
  }
  return count;
}

// The offset of a String's NUL; nothing if it is not a String. Its type id was checked before.
std::optional<std::uint64_t> end_of_string(const SampledObject& object,
                                           std::span<const std::byte> contents) {
  if (contents.size() <= kStringHeader) return std::nullopt;
  const std::uint64_t bytes = number_at(contents, 4);
  const std::uint64_t length = number_at(contents, 8);
  const std::uint64_t end = kStringHeader + bytes;
  const bool is_exact = end + 1 == object.bytes;
  if (end + 1 > object.bytes || (!is_exact && bytes < kLeastLoose)) return std::nullopt;
  const bool is_whole = end < contents.size();
  const auto text = contents.subspan(
      kStringHeader, std::min<std::uint64_t>(bytes, contents.size() - kStringHeader));
  const auto characters = characters_of(text);
  if (!characters || length > bytes) return std::nullopt;
  if (!is_whole) return end;
  if (contents[end] != std::byte{0} || (length != 0 && length != *characters)) return std::nullopt;
  return end;
}

}  // namespace

ObjectTypes::ObjectTypes(const crystal::TypeTable& classes,
                         const Modules& modules,
                         const MemoryReader& memory)
    : vtables_(modules, memory) {
  if (const crystal::Type* string = classes.find("String")) string_id_ = string->id;
  if (vtables_.names().empty()) return;
  bases_ = cxx::base_classes(modules, memory);
  bases_.insert(vtables_.found_bases().begin(), vtables_.found_bases().end());
}

ObjectTypes::ObjectTypes(std::optional<std::uint32_t> string_id,
                         cxx::VtableNames vtables,
                         std::set<std::string> bases)
    : string_id_(string_id), vtables_(std::move(vtables)), bases_(std::move(bases)) {}

std::size_t ObjectTypes::needed(std::uint64_t bytes) const {
  const std::uint64_t most = string_id_ ? kStringHeader + kMostText : kWord;
  return static_cast<std::size_t>(std::min(bytes, most));
}

std::optional<ObjectTypes::Found> ObjectTypes::type_of(const SampledObject& object,
                                                       std::span<const std::byte> contents) const {
  if (contents.size() < kWord) return std::nullopt;
  const std::uint32_t id = number_at(contents, 0);
  if (id == object.before) return std::nullopt;
  if (string_id_ && id == *string_id_) {
    const auto end = end_of_string(object, contents);
    if (!end) return std::nullopt;
    return Found{.name = "String", .end = *end < contents.size() ? 0 : *end};
  }
  std::uint64_t word = 0;
  std::memcpy(&word, contents.data(), sizeof word);
  const auto name = vtables_.name_of(word);
  if (!name) return std::nullopt;
  std::string text(*name);
  const bool may_be_base = bases_.contains(text);
  return Found{.name = std::move(text), .may_be_base = may_be_base};
}

}  // namespace heapattach::trace
