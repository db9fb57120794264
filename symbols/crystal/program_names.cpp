// A program of Crystal has two tables of its own, both read-only:
//
//   - Since 1.16, without --release, each type has a global of four bytes that holds its id, and
//     whose symbol is "NAME:type_id". Allocating code loads the id from it. The symbols are in
//     .symtab and, as the program's globals are exported, in .dynsym: strip leaves the second.
//   - Since 1.17, in every build, __crystal_type_id_to_class_name_map: the address of a String
//     literal for each id, for the message of a failed cast. It is found by its symbol, and in a
//     stripped program by its first two entries, which are always "Nil" and "String".
//
// Ids are numbered subtypes first (LLVMId): Nil is 0, then come all subtypes of Reference, then
// Reference itself, then values, then Object. So the table shows which ids are classes.

#include "symbols/crystal/program_names.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "symbols/crystal/type_names.h"

namespace heapattach::crystal {
namespace {

constexpr std::string_view kIdSuffix = ":type_id";
constexpr std::string_view kTableSymbol = "__crystal_type_id_to_class_name_map";
constexpr std::uint32_t kMostIds = 1U << 20U;
constexpr std::uint64_t kLongestName = 64U << 10U;
constexpr std::uint64_t kStringHeader = 12;

template <class Number>
std::optional<Number> number_in(std::span<const std::byte> bytes, std::uint64_t at) {
  Number number = 0;
  if (at > bytes.size() || bytes.size() - at < sizeof(number)) return std::nullopt;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

void read_id_symbols(const Module& program, ProgramNames& names) {
  std::set<std::uint32_t> doubtful;
  for (const Symbol& symbol : program.symbols()) {
    if (symbol.is_function || symbol.bytes != 4 || !symbol.name.ends_with(kIdSuffix)) continue;
    const auto id = number_in<std::uint32_t>(program.file_bytes(symbol.address), 0);
    if (!id || *id == 0 || *id >= kMostIds) continue;
    const std::string name =
        canonical_name(symbol.name.substr(0, symbol.name.size() - kIdSuffix.size()));
    const auto [known, is_new] = names.from_symbols.try_emplace(*id, name);
    if (!is_new && known->second != name) doubtful.insert(*id);
  }
  for (const std::uint32_t id : doubtful) names.from_symbols.erase(id);
}

// The constants of a program as they are in its memory.
class Constants {
 public:
  Constants(const Module& program, const MemoryReader& memory) {
    for (const Segment& segment : program.segments()) {
      const auto in_file = program.file_bytes(segment.range.start);
      if (!segment.writable) {
        pieces_.push_back({segment.range.start, in_file, segment.executable});
        continue;
      }
      std::vector<std::byte> bytes(std::min<std::uint64_t>(in_file.size(), segment.range.bytes));
      if (!memory.read(segment.range.start, bytes).has_value()) continue;
      pieces_.push_back({segment.range.start, copies_.emplace_back(std::move(bytes)), false});
    }
  }
  ~Constants() = default;
  Constants(const Constants&) = delete;
  Constants& operator=(const Constants&) = delete;

  [[nodiscard]] std::optional<std::uint64_t> word_at(std::uint64_t address) const {
    return number_in<std::uint64_t>(bytes_at(address), 0);
  }

  // The text of the String literal at `address`.
  [[nodiscard]] std::optional<std::string_view> text_at(std::uint64_t address) const {
    const auto bytes = bytes_at(address);
    const auto id = number_in<std::uint32_t>(bytes, 0);
    const auto size = number_in<std::uint32_t>(bytes, 4);
    const auto length = number_in<std::uint32_t>(bytes, 8);
    if (id != 1U || !size || !length || *length > *size || *size > kLongestName) return {};
    if (bytes.size() <= kStringHeader + *size) return {};
    if (bytes[kStringHeader + *size] != std::byte{0}) return {};
    const auto text = bytes.subspan(kStringHeader, *size);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): text is bytes
    return std::string_view(reinterpret_cast<const char*>(text.data()), text.size());
  }

  // The places where two neighbouring words point to these literals. Some linkers put constants
  // into one segment with code, which takes longer to search: so that comes last.
  [[nodiscard]] std::vector<std::uint64_t> find_pair(std::string_view first,
                                                     std::string_view second) const {
    std::vector<std::uint64_t> found = find_pair(first, second, false);
    return found.empty() ? find_pair(first, second, true) : found;
  }

 private:
  struct Piece {
    RemoteAddr start;
    std::span<const std::byte> bytes;
    bool is_code = false;  // or code and constants
  };

  [[nodiscard]] std::vector<std::uint64_t> find_pair(std::string_view first,
                                                     std::string_view second,
                                                     bool with_code) const {
    const std::set<std::uint64_t> firsts = literals(first, with_code);
    const std::set<std::uint64_t> seconds = literals(second, with_code);
    std::vector<std::uint64_t> found;
    if (firsts.empty() || seconds.empty()) return found;
    for (const Piece& piece : pieces_) {
      if (piece.is_code && !with_code) continue;
      std::uint64_t before = 0;
      for (std::uint64_t at = 0; at + 8 <= piece.bytes.size(); at += 8) {
        const std::uint64_t word = *number_in<std::uint64_t>(piece.bytes, at);
        if (seconds.contains(word) && firsts.contains(before)) {
          found.push_back(piece.start.value + at - 8);
        }
        before = word;
      }
    }
    return found;
  }

  [[nodiscard]] std::span<const std::byte> bytes_at(std::uint64_t address) const {
    for (const Piece& piece : pieces_) {
      const std::uint64_t offset = address - piece.start.value;
      if (offset < piece.bytes.size()) return piece.bytes.subspan(offset);
    }
    return {};
  }

  [[nodiscard]] std::set<std::uint64_t> literals(std::string_view text, bool with_code) const {
    std::vector<std::byte> wanted(kStringHeader);
    const std::array<std::uint32_t, 3> header = {1, static_cast<std::uint32_t>(text.size()),
                                                 static_cast<std::uint32_t>(text.size())};
    std::memcpy(wanted.data(), header.data(), sizeof(header));
    const auto letters = std::as_bytes(std::span(text));
    wanted.insert(wanted.end(), letters.begin(), letters.end());
    wanted.push_back(std::byte{0});
    std::set<std::uint64_t> found;
    for (const Piece& piece : pieces_) {
      if (piece.is_code && !with_code) continue;
      auto at = piece.bytes.begin();
      while (true) {
        at = std::search(at, piece.bytes.end(), wanted.begin(), wanted.end());
        if (at == piece.bytes.end()) break;
        found.insert(piece.start.value + static_cast<std::uint64_t>(at - piece.bytes.begin()));
        ++at;
      }
    }
    return found;
  }

  std::vector<Piece> pieces_;
  std::deque<std::vector<std::byte>> copies_;
};

// The names from id 0 to that of Object; empty if it is not the table.
std::vector<std::string_view> read_table(const Constants& constants, std::uint64_t at) {
  std::vector<std::string_view> names;
  for (std::uint64_t id = 0; id < kMostIds; ++id) {
    const auto word = constants.word_at(at + id * 8);
    if (!word) return {};
    const auto name = *word == 0 ? std::string_view{} : constants.text_at(*word);
    if (!name) return {};
    names.push_back(*name);
    if (*name == "Object") return names;
  }
  return {};
}

bool take_table(const std::vector<std::string_view>& table, ProgramNames& names) {
  const auto reference = std::find(table.begin(), table.end(), "Reference");
  if (reference == table.end() || table[0] != "Nil" || table[1] != "String") return false;
  names.last_class = static_cast<std::uint32_t>(reference - table.begin());
  for (std::uint32_t id = 1; id <= names.last_class; ++id) {
    if (!table[id].empty()) names.from_table.emplace(id, canonical_name(table[id]));
  }
  return true;
}

void read_class_table(const Module& program, const MemoryReader& memory, ProgramNames& names) {
  const Constants constants(program, memory);
  if (const auto symbol = program.find_symbol(kTableSymbol)) {
    if (take_table(read_table(constants, symbol->address.value), names)) return;
  }
  for (const std::uint64_t at : constants.find_pair("Nil", "String")) {
    if (take_table(read_table(constants, at), names)) return;
  }
}

}  // namespace

const std::string* ProgramNames::find(std::uint32_t id) const {
  for (const auto* names : {&from_symbols, &from_table}) {
    const auto found = names->find(id);
    if (found != names->end()) return &found->second;
  }
  return nullptr;
}

ProgramNames read_program_names(const Module& program, const MemoryReader& memory) {
  ProgramNames names;
  read_id_symbols(program, names);
  read_class_table(program, memory, names);
  return names;
}

}  // namespace heapattach::crystal
