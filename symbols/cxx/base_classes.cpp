// A type_info of a class (Itanium C++ ABI, 2.9.5) begins with two words: the type_info's own vtable
// and the class's name. A class without bases has nothing more. With one base, the third word is
// the base's type_info. Otherwise a third word contains flags and the number of bases, and two
// words for each base follow, the first of which is the base's type_info. So the size of the symbol
// shows the form.

#include "symbols/cxx/base_classes.h"

#include <cstring>
#include <unordered_map>
#include <vector>

#include "symbols/cxx/vtables.h"

namespace heapattach::cxx {
namespace {

constexpr std::string_view kTypeInfo = "_ZTI";
constexpr std::size_t kPlainWords = 2;
constexpr std::size_t kMostWords = 1024;

// The addresses of the type_infos of the bases, from the words of a class's type_info.
std::vector<std::uint64_t> bases_in(const std::vector<std::uint64_t>& words) {
  if (words.size() == kPlainWords + 1) return {words[kPlainWords]};
  std::vector<std::uint64_t> bases;
  if (words.size() < kPlainWords + 3) return bases;
  const std::uint64_t count = words[kPlainWords] >> 32;
  if (words.size() != kPlainWords + 1 + 2 * count) return bases;
  for (std::size_t i = 0; i < count; ++i) bases.push_back(words[kPlainWords + 1 + 2 * i]);
  return bases;
}

}  // namespace

std::set<std::string> base_classes(const Modules& modules, const MemoryReader& memory) {
  std::unordered_map<std::uint64_t, std::string> names;
  std::vector<std::uint64_t> bases;
  for (const Module& module : modules.all()) {
    for (const Symbol& symbol : module.symbols_with_prefix(kTypeInfo)) {
      if (symbol.is_function || symbol.bytes % 8 != 0 || symbol.bytes > kMostWords * 8) continue;
      const auto name = std::string("_ZTV").append(symbol.name.substr(kTypeInfo.size()));
      names.emplace(symbol.address.value, class_of_vtable(name));
      std::vector<std::uint64_t> words(symbol.bytes / 8);
      if (!memory.read(symbol.address, std::as_writable_bytes(std::span(words)))) continue;
      for (const std::uint64_t base : bases_in(words)) bases.push_back(base);
    }
  }
  std::set<std::string> found;
  for (const std::uint64_t base : bases) {
    const auto name = names.find(base);
    if (name != names.end()) found.insert(name->second);
  }
  return found;
}

}  // namespace heapattach::cxx
