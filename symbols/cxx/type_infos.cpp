// A type_info of a class (Itanium C++ ABI, 2.9.5) is two words, the address of the functions of its
// own class and the name; with one base that is public and not virtual, a third word, the base's
// type_info; otherwise flags and a number in one word, and two words for each base, of which the
// first is its type_info, and the second has the base's offset and two flags.

#include "symbols/cxx/type_infos.h"

#include <algorithm>
#include <array>

#include "attach/base/word.h"
#include "symbols/cxx/demangle.h"

namespace heapattach::cxx {

namespace {

constexpr std::size_t kLongestName = 1024;

// A name in the form that the compiler gives to classes. One of a class that only its own file
// knows begins with a star.
std::string checked_name(std::string_view text) {
  if (text.starts_with('*')) text.remove_prefix(1);
  // An identifier may have other letters than those of ASCII.
  const bool is_name = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '$' || c == '.' || static_cast<unsigned char>(c) >= 0x80;
  });
  if (text.size() < 2 || !is_name || demangled(text) == text) return {};
  return std::string(text);
}

}  // namespace

std::string TypeInfos::name_in(std::uint64_t at) const {
  const auto name = constants_.word(at + kWordBytes);
  std::array<char, kLongestName> text{};
  if (!name) return {};
  const std::size_t count = constants_.read(*name, std::as_writable_bytes(std::span(text)));
  const std::string_view all(text.data(), count);
  const std::size_t end = all.find('\0');
  return end == std::string_view::npos ? std::string() : checked_name(all.substr(0, end));
}

const TypeInfos::Class* TypeInfos::find(std::uint64_t at) {
  const auto [known, is_new] = classes_.try_emplace(at);
  if (is_new && !read(at, known->second)) known->second = {};
  return known->second.mangled.empty() ? nullptr : &known->second;
}

bool TypeInfos::read(std::uint64_t at, Class& found) const {
  if (at % kWordBytes != 0 || !read_bases(at, found)) return false;
  found.mangled = name_in(at);
  return !found.mangled.empty();
}

bool TypeInfos::read_bases(std::uint64_t at, Class& found) const {
  constexpr std::uint64_t kFlags = 0x13;      // those that exist
  constexpr std::uint64_t kBaseFlags = 0x03;  // virtual, public
  constexpr std::uint64_t kMostBases = 256;
  const auto first = constants_.word(at);
  const auto form = first ? forms_.find(*first) : forms_.end();
  if (form == forms_.end()) return false;
  if (form->second == Bases::None) return true;
  const auto third = constants_.word(at + 2 * kWordBytes);
  if (!third) return false;
  if (form->second == Bases::One) {
    found.bases = {*third};
    return is_base(*third);
  }
  const std::uint64_t count = *third >> 32;
  const std::uint64_t flags = *third & 0xffffffff;
  if ((flags & ~kFlags) != 0 || count == 0 || count > kMostBases) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t entry = at + (3 + 2 * i) * kWordBytes;
    const auto base = constants_.word(entry);
    const auto offset = constants_.word(entry + kWordBytes);
    if (!base || !offset || (*offset & 0xff & ~kBaseFlags) != 0 || !is_base(*base)) return false;
    found.bases.push_back(*base);
  }
  return true;
}

bool TypeInfos::is_base(std::uint64_t at) const {
  const auto first = constants_.word(at);
  return at % kWordBytes == 0 && first && forms_.contains(*first);
}

}  // namespace heapattach::cxx
