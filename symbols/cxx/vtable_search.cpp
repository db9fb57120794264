// The main part of a vtable (Itanium C++ ABI, 2.5.2), to which the first word of each object
// points, is in the program's constants, whether it was stripped or not:
//
//     …, offset to top: 0, type_info of the class, functions …
//       objects point here ------------------------^
//
// So a zero, the address of a constant and the address of code are a candidate. It counts if the
// constant is a type_info: its first word is one of the three that type_infos of classes begin
// with, its name is a mangled one, and its bases are type_infos. A class that has virtual bases,
// but no virtual functions, not even inherited ones, is not found.
//
// A type_info's first word is the address of the functions of one of three classes of the C++
// library. In libstdc++.so these classes have symbols. If the library is linked into a stripped
// program, the class for type_infos with one base is found first: it has one base itself, so its
// type_info is an object of its own class. No other vtable has a type_info that begins with the
// address of the vtable's own functions.
//
// Constants that contain addresses are in PT_GNU_RELRO, as it is in memory. A program at fixed
// addresses may also have them in other constants of its file, where they need no relocation.

#include "symbols/cxx/vtable_search.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "attach/base/word.h"
#include "symbols/cxx/constants.h"
#include "symbols/cxx/demangle.h"
#include "symbols/elf/module_contents.h"

namespace heapattach::cxx {

namespace {

// A type_info of a class (Itanium C++ ABI, 2.9.5) begins with two words: the address of the
// functions of its own class, and the name. A class without bases has nothing more. With one base
// that is public and not virtual, the third word is the base's type_info. Otherwise a third word
// contains flags and the number of bases, and two words for each base follow: the base's type_info,
// and its offset with two flags.

constexpr std::size_t kLongestName = 1024;

// The mangled name of a class without the star that precedes it if the class is local to its file;
// empty if it is not such a name.
std::string checked_name(std::string_view text) {
  if (text.starts_with('*')) text.remove_prefix(1);
  // An identifier may contain letters outside ASCII.
  const bool is_name = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '$' || c == '.' || static_cast<unsigned char>(c) >= 0x80;
  });
  if (text.size() < 2 || !is_name || demangled(text) == text) return {};
  return std::string(text);
}

using Bases = TypeInfos::Bases;

constexpr std::uint64_t kMostBytes = 256U << 20;    // of one range of constants
constexpr std::uint64_t kMostWritable = 64U << 20;  // where nothing is made read-only
constexpr std::size_t kMostCandidates = 1U << 18;   // of all modules
constexpr int kMostLibraries = 16;                  // C++ libraries linked into modules
constexpr std::size_t kWindowWords = std::size_t{1} << 17;
constexpr std::string_view kVtable = "_ZTV";

struct Form {
  std::string_view mangled;  // the class of such type_infos
  Bases bases;
};
constexpr std::array kForms{Form{"N10__cxxabiv117__class_type_infoE", Bases::None},
                            Form{"N10__cxxabiv120__si_class_type_infoE", Bases::One},
                            Form{"N10__cxxabiv121__vmi_class_type_infoE", Bases::Many}};

std::optional<Bases> form_of(std::string_view mangled) {
  for (const Form& form : kForms) {
    if (form.mangled == mangled) return form.bases;
  }
  return std::nullopt;
}

struct Candidate {
  std::uint64_t functions = 0;
  std::uint64_t type_info = 0;
};

// The addresses of a kind of segment in all modules, sorted.
class Places {
 public:
  void add(Range range) { ranges_.push_back(range); }
  void sort() { std::sort(ranges_.begin(), ranges_.end()); }
  [[nodiscard]] bool contains(std::uint64_t word) const {
    if (last_ < ranges_.size() && ranges_[last_].contains(RemoteAddr{word})) return true;
    const auto after =
        std::partition_point(ranges_.begin(), ranges_.end(),
                             [&](const Range& range) { return range.start.value <= word; });
    if (after == ranges_.begin()) return false;
    last_ = static_cast<std::size_t>(after - ranges_.begin()) - 1;
    return ranges_[last_].contains(RemoteAddr{word});
  }

 private:
  std::vector<Range> ranges_;
  mutable std::size_t last_ = 0;  // the range that contained the last word
};

// The parts of a module that may contain vtables.
std::vector<Range> constants_of(const Module& module) {
  std::vector<Range> places;
  if (const auto relro = module.relro()) places.push_back(*relro);
  const auto segments = module.segments();
  const bool has_plain = std::any_of(segments.begin(), segments.end(), [](const Segment& segment) {
    return !segment.writable && !segment.executable;
  });
  for (const Segment& segment : segments) {
    Range range = segment.range;
    if (segment.writable) {
      if (module.relro()) continue;
      range.bytes = std::min(range.bytes, kMostWritable);
    } else if (module.bias() != 0 || (segment.executable && has_plain)) {
      continue;  // nothing there is relocated, or it is code alone
    }
    places.push_back(range);
  }
  for (Range& place : places) {
    const std::uint64_t before = (0 - place.start.value) % kWordBytes;
    place.bytes -= std::min(place.bytes, before);
    place.start = place.start + before;
    place.bytes = std::min(place.bytes, kMostBytes);
  }
  return places;
}

class Search {
 public:
  Search(const Modules& modules, const MemoryReader& memory)
      : modules_(modules), constants_(modules, memory), infos_(constants_) {}

  FoundVtables run(const std::function<bool(std::uint64_t)>& is_known) {
    for (const Module& module : modules_.all()) {
      for (const Segment& segment : module.segments()) {
        (segment.executable ? code_ : data_).add(segment.range);
        // A linker may put constants into the segment of the code.
        if (segment.executable && !segment.writable) data_.add(segment.range);
      }
    }
    code_.sort();
    data_.sort();
    for (const Module& module : modules_.all()) {
      if (is_without_classes(module) || Module::Contents::has_all_symbols(module)) continue;
      for (const Range& place : constants_of(module)) scan(place);
    }
    FoundVtables found;
    if (candidates_.empty()) return found;
    learn_forms();
    if (is_known) {
      std::erase_if(candidates_, [&](const Candidate& one) { return is_known(one.functions); });
    }
    if (infos_.knows_forms()) check(found);
    return found;
  }

 private:
  // Reads the range in windows that overlap by two words, so that no candidate is cut in two.
  void scan(Range place) {
    std::vector<std::uint64_t> words(
        std::min<std::uint64_t>(kWindowWords, place.bytes / kWordBytes));
    for (RemoteAddr at = place.start; at + 3 * kWordBytes <= place.end();) {
      const std::size_t wanted =
          std::min<std::uint64_t>(words.size(), (place.end() - at) / kWordBytes);
      const std::size_t count = read_words(at.value, std::span(words).first(wanted));
      look_at(at, std::span(words).first(count));
      if (count != wanted || count < 3 || candidates_.size() >= kMostCandidates) return;
      at = at + (count - 2) * kWordBytes;
    }
  }

  std::size_t read_words(std::uint64_t at, std::span<std::uint64_t> into) const {
    const auto bytes = std::as_writable_bytes(into);
    std::size_t count = 0;
    while (count < bytes.size()) {
      const std::size_t more = constants_.read(at + count, bytes.subspan(count));
      if (more == 0) break;
      count += more;
    }
    return count / kWordBytes;
  }

  void look_at(RemoteAddr start, std::span<const std::uint64_t> words) {
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (words[i - 2] != 0 || words[i - 1] == 0 || words[i - 1] % kWordBytes != 0) continue;
      if (!code_.contains(words[i]) || !data_.contains(words[i - 1])) continue;
      candidates_.push_back({start.value + i * kWordBytes, words[i - 1]});
      if (candidates_.size() >= kMostCandidates) return;
    }
  }

  void learn_forms() {
    for (const Module& module : modules_.all()) {
      for (const Symbol& symbol : module.symbols_with_prefix("_ZTVN10__cxxabiv1")) {
        const auto bases = form_of(symbol.name.substr(kVtable.size()));
        if (bases) infos_.add_form(symbol.address.value + 2 * kWordBytes, *bases);
      }
    }
    int libraries = 0;
    for (const Candidate& one : candidates_) {
      const bool is_its_own = constants_.word(one.type_info) == one.functions;
      if (!is_its_own || form_of(infos_.name_in(one.type_info)) != Bases::One) continue;
      learn_forms_with(one.functions);
      if (++libraries == kMostLibraries) return;
    }
  }

  // The type_infos of all three classes of the C++ library begin with `one_base`.
  void learn_forms_with(std::uint64_t one_base) {
    for (const Candidate& one : candidates_) {
      if (constants_.word(one.type_info) != one_base) continue;
      if (const auto bases = form_of(infos_.name_in(one.type_info))) {
        infos_.add_form(one.functions, *bases);
      }
    }
  }

  void check(FoundVtables& found) {
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Candidate& a, const Candidate& b) { return a.functions < b.functions; });
    std::set<std::uint64_t> bases;
    for (const Candidate& one : candidates_) {
      const bool is_known =
          !found.vtables.empty() && found.vtables.back().functions == one.functions;
      const TypeInfos::Class* klass = is_known ? nullptr : infos_.find(one.type_info);
      if (klass == nullptr) continue;
      found.vtables.push_back({one.functions, klass->mangled});
      bases.insert(klass->bases.begin(), klass->bases.end());
    }
    for (const std::uint64_t base : bases) {
      if (const TypeInfos::Class* klass = infos_.find(base)) found.bases.insert(klass->mangled);
    }
  }

  const Modules& modules_;
  Constants constants_;
  TypeInfos infos_;
  Places code_;
  Places data_;
  std::vector<Candidate> candidates_;
};

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
  constexpr std::uint64_t kFlags = 0x13;      // all flags that exist
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

bool is_without_classes(const Module& module) {
  constexpr std::array<std::string_view, 11> kNames = {
      "ld-linux", "libc.so",    "libm.so",   "libgcc_s",  "libpthread", "libdl.",
      "libgc.so", "libstdc++.", "libc++.so", "libc++abi", "[vdso]"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return module.name().starts_with(name); });
}

FoundVtables search_vtables(const Modules& modules,
                            const MemoryReader& memory,
                            const std::function<bool(std::uint64_t)>& is_known) {
  return Search(modules, memory).run(is_known);
}

}  // namespace heapattach::cxx
