#include "symbols/nim/type_records.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "attach/base/word.h"
#include "symbols/nim/types.h"

namespace heapattach::nim {

namespace {

// Offsets in records and nodes.
constexpr std::uint64_t kAlign = 8;
constexpr std::uint64_t kKind = 16;  // one byte, followed by a byte of flags and zeros
constexpr std::uint64_t kBase = 24;
constexpr std::uint64_t kNode = 32;
constexpr std::uint64_t kRecordBytes = 64;
constexpr std::uint64_t kNodeOffset = 8;
constexpr std::uint64_t kNodeType = 16;
constexpr std::uint64_t kNodeName = 24;
constexpr std::uint64_t kNodeCount = 32;
constexpr std::uint64_t kNodeSons = 40;

enum NodeKind : std::uint64_t { kNone, kSlot, kList, kCase };

constexpr std::uint64_t kLargestInstance = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostData = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostFields = 1024;
constexpr int kDeepestNode = 16;
constexpr std::uint64_t kAllOthers = ~std::uint64_t{0};

// A copy of the data segments of modules.
class Data {
 public:
  explicit Data(const MemoryReader& memory) : memory_(memory) {}

  void add(const Module& module) {
    for (const Segment& segment : module.segments()) {
      const std::uint64_t bytes = segment.range.bytes;
      if (!segment.writable || bytes > kMostData - taken_) continue;
      std::vector<std::byte> copy(bytes);
      if (!memory_.read(segment.range.start, copy)) continue;
      taken_ += bytes;
      parts_.emplace(segment.range.start.value, std::move(copy));
    }
  }

  [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t at) const {
    auto part = parts_.upper_bound(at);
    if (at % kWordBytes != 0 || part == parts_.begin()) return std::nullopt;
    --part;
    const std::uint64_t offset = at - part->first;
    if (offset + kWordBytes > part->second.size()) return std::nullopt;
    std::uint64_t value = 0;
    std::memcpy(&value, &part->second[offset], sizeof value);
    return value;
  }

  template <class Visit>
  void for_each_word(const Visit& visit) const {
    for (const auto& [begin, bytes] : parts_) {
      for (std::uint64_t at = 0; at + kWordBytes <= bytes.size(); at += kWordBytes) {
        visit(begin + at);
      }
    }
  }

 private:
  const MemoryReader& memory_;
  std::map<std::uint64_t, std::vector<std::byte>> parts_;  // by address
  std::uint64_t taken_ = 0;
};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == ':' || static_cast<unsigned char>(c) >= 0x80;
  });
}

class RecordSearch {
 public:
  RecordSearch(const Modules& modules, const MemoryReader& memory)
      : modules_(modules), data_(memory), memory_(memory) {}

  std::vector<TypeRecord> run() {
    if (!take_symbols()) take_all();
    while (drop_incomplete()) {
    }
    std::vector<TypeRecord> found;
    bool has_fields = false;
    for (auto& [at, record] : records_) {
      has_fields = has_fields || (!record.fields.empty() && record.kind != kEnumType);
      found.push_back(std::move(record));
    }
    return has_fields ? found : std::vector<TypeRecord>();
  }

 private:
  bool take_symbols() {
    bool has_any = false;
    for (const Module& module : modules_.all()) {
      std::vector<Symbol> symbols = module.symbols_with_prefix("NTI");
      std::erase_if(symbols, [](const Symbol& symbol) {
        return symbol.is_function || symbol.bytes != kRecordBytes || !info_name(symbol.name);
      });
      if (symbols.empty()) continue;
      data_.add(module);
      has_any = true;
      for (const Symbol& symbol : symbols) take(symbol.address.value, symbol.name);
    }
    return has_any;
  }

  void take_all() {
    const Module* const program = modules_.main_program();
    if (program == nullptr) return;
    data_.add(*program);
    data_.for_each_word([this](std::uint64_t at) { take(at, {}); });
  }

  // Takes the data at `at` if they look like a type record. The records that this one refers to are
  // checked later, by drop_incomplete().
  void take(std::uint64_t at, std::string_view symbol) {
    const auto bytes = data_.word(at);
    const auto align = data_.word(at + kAlign);
    const auto kind = data_.word(at + kKind);
    if (!bytes || *bytes == 0 || *bytes > kLargestInstance || !align || !kind) return;
    constexpr std::uint64_t kMostAlign = 64;
    constexpr std::uint64_t kFlags = 0x7ff;  // of the kind and three flags
    if (*align == 0 || *align > kMostAlign || (*align & (*align - 1)) != 0) return;
    if (*kind == 0 || *kind > kFlags || (*kind & 0xff) > kUint64Type) return;
    const auto base = data_.word(at + kBase);
    if (!base || *base % kWordBytes != 0 || !data_.word(at + kRecordBytes - kWordBytes)) return;
    TypeRecord record{.at = at,
                      .bytes = *bytes,
                      .align = *align,
                      .kind = static_cast<std::uint8_t>(*kind & 0xff),
                      .base = *base,
                      .symbol = std::string(symbol),
                      .fields = {},
                      .cases = {}};
    if (read_fields(*data_.word(at + kNode), record)) records_.emplace(at, std::move(record));
  }

  bool read_fields(std::uint64_t node, TypeRecord& record) {
    if (record.kind != kObjectType && record.kind != kTupleType && record.kind != kEnumType)
      return true;
    branches_ = 0;
    return node == 0 || read_node(node, 0, 0, record);
  }

  bool read_node(std::uint64_t node, std::uint32_t branch, int depth, TypeRecord& record) {
    const auto kind = data_.word(node);
    const auto count = data_.word(node + kNodeCount);
    const auto sons = data_.word(node + kNodeSons);
    if (!kind || !count || !sons || depth > kDeepestNode) return false;
    switch (*kind & 0xff) {
      case kSlot: return read_slot(node, branch, record);
      case kList: return read_sons({*sons, *count}, branch, depth, record);
      case kCase:
        return read_slot(node, branch, record) && read_branches({*sons, *count}, depth, record);
      default: return false;
    }
  }

  struct Sons {
    std::uint64_t at = 0;
    std::uint64_t count = 0;
  };

  bool read_sons(const Sons& sons, std::uint32_t branch, int depth, TypeRecord& record) {
    if (sons.count > kMostFields) return false;
    for (std::uint64_t i = 0; i < sons.count; ++i) {
      const auto son = data_.word(sons.at + i * kWordBytes);
      if (!son || *son == 0 || !read_node(*son, branch, depth + 1, record)) return false;
    }
    return true;
  }

  // A node for each value of the discriminator, which has just been read. Several values may have
  // the same one. After them is the node for all values without a node of their own, if any.
  bool read_branches(const Sons& sons, int depth, TypeRecord& record) {
    if (sons.count > kMostFields) return false;
    const auto others = data_.word(sons.at + sons.count * kWordBytes);
    if (!others) return false;
    const std::size_t number = record.cases.size();
    record.cases.push_back({record.fields.size() - 1, {}});
    std::vector<std::uint64_t> nodes;  // one for each branch
    for (std::uint64_t value = 0; value <= sons.count; ++value) {
      const auto own = data_.word(sons.at + value * kWordBytes);
      if (!own) return false;
      const std::uint64_t node = *own != 0 ? *own : *others;
      if (node == 0) continue;
      const auto known = std::find(nodes.begin(), nodes.end(), node);
      const auto at = static_cast<std::size_t>(known - nodes.begin());
      if (known == nodes.end()) {
        nodes.push_back(node);
        record.cases[number].branches.push_back({++branches_, {}});
        if (!read_node(node, branches_, depth + 1, record)) return false;
      }
      const bool is_last = value == sons.count;
      add_value(value, is_last ? kAllOthers : value, record.cases[number].branches[at].values);
    }
    return true;
  }

  static void add_value(std::uint64_t first,
                        std::uint64_t last,
                        std::vector<types::Choice::Range>& values) {
    if (!values.empty() && values.back().last + 1 == first) {
      values.back().last = last;
    } else {
      values.push_back({first, last});
    }
  }

  bool read_slot(std::uint64_t node, std::uint32_t branch, TypeRecord& record) {
    FieldRecord field{.name = text(*data_.word(node + kNodeName)),
                      .offset = *data_.word(node + kNodeOffset),
                      .type = *data_.word(node + kNodeType),
                      .branch = branch};
    const bool is_value = record.kind == kEnumType;
    if (!is_name(field.name) || record.fields.size() >= kMostFields ||
        (!is_value && field.offset >= record.bytes)) {
      return false;
    }
    record.fields.push_back(std::move(field));
    return true;
  }

  // Reads a name, from the file if possible, and otherwise from memory.
  [[nodiscard]] std::string text(std::uint64_t at) const {
    constexpr std::size_t kLongest = 256;
    const Module* const module = modules_.find(RemoteAddr{at});
    if (module == nullptr) return {};
    std::span<const std::byte> bytes = module->file_bytes(RemoteAddr{at});
    std::array<std::byte, kLongest> read{};
    if (bytes.empty()) {
      const auto count = memory_.read_some(RemoteAddr{at}, read);
      if (!count) return {};
      bytes = std::span<const std::byte>(read).first(*count);
    }
    bytes = bytes.first(std::min(bytes.size(), kLongest));
    const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
    if (end == bytes.end()) return {};
    std::string found;
    std::transform(bytes.begin(), end, std::back_inserter(found),
                   [](std::byte one) { return static_cast<char>(one); });
    return found;
  }

  // Drops records that refer to anything but records. Returns whether there were any.
  bool drop_incomplete() {
    std::vector<std::uint64_t> incomplete;
    for (const auto& [at, record] : records_) {
      if (!is_complete(record)) incomplete.push_back(at);
    }
    for (const std::uint64_t at : incomplete) records_.erase(at);
    return !incomplete.empty();
  }

  [[nodiscard]] bool is_complete(const TypeRecord& record) const {
    if (record.base != 0 && !records_.contains(record.base)) return false;
    // The root of all inheritable types has only a pointer to its record.
    if (record.kind == kObjectType && record.base == 0 && record.bytes != kWordBytes) return false;
    if (record.kind == kEnumType) return true;
    return std::all_of(record.fields.begin(), record.fields.end(), [&](const FieldRecord& field) {
      const auto type = records_.find(field.type);
      return type != records_.end() && type->second.bytes <= record.bytes - field.offset;
    });
  }

  const Modules& modules_;
  Data data_;
  const MemoryReader& memory_;
  std::map<std::uint64_t, TypeRecord> records_;
  std::uint32_t branches_ = 0;  // found so far in the record that is being read
};

}  // namespace

std::vector<TypeRecord> find_type_records(const Modules& modules, const MemoryReader& memory) {
  return RecordSearch(modules, memory).run();
}

}  // namespace heapattach::nim
