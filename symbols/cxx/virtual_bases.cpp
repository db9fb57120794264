// The vtable of a class (Itanium C++ ABI, 2.5.2) is a group of tables, one for the class itself and
// one for each base that has a pointer to a table of its own in the object:
//
//     …, offset of a virtual base, …, offset to top, type_info of the class, functions …
//
// The pointer points to the first of the functions. Debug information has the distance from there
// down to the offset of a virtual base, in the table of the class that names that base. So all
// bases of the class are visited, and a virtual base is looked up in the table of the base that
// names it. The offset to top distinguishes the tables of the group: it is minus the base's offset
// in the object.

#include "symbols/cxx/virtual_bases.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "attach/base/word.h"
#include "symbols/cxx/vtables.h"

namespace heapattach::cxx {
namespace {

using types::kNoType;
using types::Member;
using types::Type;
using types::TypeModel;
using types::TypeRef;

constexpr std::string_view kVtable = "_ZTV";
constexpr std::string_view kTypeInfo = "_ZTI";
constexpr std::uint64_t kLargestVtable = 1U << 20U;
constexpr std::uint64_t kLargestClass = std::uint64_t{1} << 40;
constexpr std::size_t kMostBases = 4096;  // of one class

std::vector<std::uint64_t> words_of(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> words(bytes.size() / kWordBytes);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * kWordBytes);
  return words;
}

class Placement {
 public:
  Placement(const TypeModel& model, std::vector<std::uint64_t> words, RemoteAddr type_info)
      : model_(model), words_(std::move(words)) {
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
      const std::uint64_t place = 0 - words_[i];
      if (words_[i + 1] == type_info.value && place < kLargestClass) tables_.emplace(place, i + 2);
    }
  }

  // The members for the virtual bases of `klass`.
  std::vector<Member> of(TypeRef klass) {
    const std::uint64_t end = model_[klass].bytes.value_or(0);
    open_.push_back({klass, 0});
    seen_.insert(klass);
    for (std::size_t i = 0; i < open_.size() && open_.size() < kMostBases; ++i) {
      const Base at = open_[i];
      const Type& type = model_[at.type];
      for (const Member& member : type.members) {
        const bool is_plain = member.is_base && !member.is_virtual_base && member.type != kNoType;
        if (is_plain) open_.push_back({member.type, at.place + member.offset});
      }
      for (const types::VirtualBase& base : type.virtual_bases) {
        const auto place = place_of(base, at.place);
        if (!place || *place >= end || !seen_.insert(base.type).second) continue;
        open_.push_back({base.type, *place});
        found_.push_back({"", *place, base.type, true});
        found_.back().is_virtual_base = true;
      }
    }
    return std::move(found_);
  }

 private:
  struct Base {
    TypeRef type = kNoType;
    std::uint64_t place = 0;
  };

  // The offset of a virtual base in the object. `from` is the offset of the class that names it,
  // whose table contains the answer.
  [[nodiscard]] std::optional<std::uint64_t> place_of(const types::VirtualBase& base,
                                                      std::uint64_t from) const {
    const auto table = tables_.find(from);
    const std::uint64_t below = base.slot / kWordBytes;
    const bool makes_sense = base.type < model_.types().size() && base.slot % kWordBytes == 0;
    if (table == tables_.end() || below > table->second || !makes_sense) return std::nullopt;
    return from + words_[table->second - below];
  }

  const TypeModel& model_;
  std::vector<std::uint64_t> words_;
  std::map<std::uint64_t, std::size_t> tables_;  // by the base's offset: the first function's index
  std::vector<Base> open_;
  std::set<TypeRef> seen_;
  std::vector<Member> found_;
};

}  // namespace

std::size_t place_virtual_bases_of(TypeRef klass,
                                   std::span<const std::byte> vtable,
                                   RemoteAddr type_info,
                                   TypeModel& model) {
  const std::vector<Member> found = Placement(model, words_of(vtable), type_info).of(klass);
  std::vector<Member>& members = model[klass].members;
  members.insert(members.end(), found.begin(), found.end());
  return found.size();
}

std::size_t place_virtual_bases(const Modules& modules,
                                const MemoryReader& memory,
                                TypeModel& model) {
  const bool has_any = std::any_of(model.types().begin(), model.types().end(),
                                   [](const Type& type) { return !type.virtual_bases.empty(); });
  if (!has_any) return 0;
  std::size_t placed = 0;
  std::set<TypeRef> done;
  for (const Module& module : modules.all()) {
    for (const Symbol& symbol : module.symbols_with_prefix(kVtable)) {
      const TypeRef klass = model.find(class_of_vtable(symbol.name));
      if (klass == kNoType || !model[klass].has_virtual_bases || symbol.bytes > kLargestVtable ||
          !done.insert(klass).second) {
        continue;
      }
      const auto type_info =
          modules.find_symbol(std::string(kTypeInfo).append(symbol.name.substr(kVtable.size())));
      std::vector<std::byte> vtable(symbol.bytes);
      if (!type_info || !memory.read(symbol.address, vtable)) continue;
      placed += place_virtual_bases_of(klass, vtable, type_info->address, model);
    }
  }
  return placed;
}

}  // namespace heapattach::cxx
