#include "symbols/ruby/heap_pages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "attach/arch/addresses.h"
#include "symbols/ruby/copy_first.h"

namespace heapattach::ruby {

namespace {

constexpr std::uint64_t kMostPages = std::uint64_t{1} << 20;
constexpr std::uint64_t kSlotBytes = sizeof(Slot);  // the smallest slot; each mark covers one
constexpr std::uint64_t kLeastSlotBytes = 24;
constexpr std::uint64_t kMostSlotBytes = 2048;
constexpr std::uint64_t kListHead = 16;  // the count and the room of a list that has them
constexpr std::uint64_t kTableInSlot = 24;
constexpr std::uint64_t kTableBytes = 56;  // of an st_table
constexpr std::size_t kMostClasses = 1'000'000;
constexpr std::uint64_t kFewMisfits = 1000;  // one in so many slots may be invalid

// rb_objspace_t.flags: the mode in the lowest two bits.
constexpr std::uint32_t kMode = 3;
constexpr std::uint32_t kSweeping = 2;
constexpr std::uint32_t kDuringCollection = 1U << 5;
constexpr std::uint32_t kBeforeSweep = 1;  // struct heap_page.flags

Error out_of_order(const Machine& machine, std::string_view why) {
  return {ErrorKind::Malformed, cannot_read("heap", machine.release, why)};
}

template <class T>
T read_from(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool is_kind(Kind kind) {
  const auto number = static_cast<unsigned>(kind);
  return (number >= 1 && number <= 15) || kind == Kind::Symbol ||
         (number >= 26 && kind <= Kind::Moved);
}

// The collector's flags; nothing if their place is not known.
std::optional<std::uint32_t> collector_flags(const Machine& machine, const MemoryReader& memory) {
  const auto place = machine.layout->objspace.flags;
  if (place == 0) return std::nullopt;
  const auto flags = memory.read_as<std::uint32_t>(RemoteAddr{machine.objspace} + place);
  return flags ? std::optional(*flags) : std::nullopt;
}

class Lister {
 public:
  Lister(const Machine& machine, const MemoryReader& memory, const CopyLimits& limits)
      : machine_(machine), layout_(*machine.layout), memory_(memory), limits_(limits) {}

  Result<PageList> list() && {
    HA_TRY(read_header());
    HA_TRY(read_records());
    return std::move(list_);
  }

 private:
  Result<void> read_header() {
    const RemoteAddr objspace{machine_.objspace};
    const auto& form = layout_.objspace;
    const auto flags = collector_flags(machine_, memory_).value_or(0);
    list_.is_sweeping = (flags & kMode) == kSweeping;
    list_.is_collecting = (flags & kDuringCollection) != 0;
    const std::uint64_t pages = HA_TRY(count_pages(machine_, memory_));
    sorted_ = HA_TRY(memory_.read_as<std::uint64_t>(objspace + form.sorted));
    const auto room = form.sorted_length == 0
                          ? pages
                          : HA_TRY(memory_.read_as<std::uint64_t>(objspace + form.sorted_length));
    lowest_ = HA_TRY(memory_.read_as<std::uint64_t>(objspace + form.range));
    highest_ = HA_TRY(memory_.read_as<std::uint64_t>(objspace + form.range + 8));
    if (room < pages || !is_reference(sorted_) || lowest_ >= highest_) {
      return out_of_order(machine_, "its page list is broken");
    }
    if (form.list_has_count) sorted_ += kListHead;
    list_.records.resize(pages);
    return memory_.read(RemoteAddr{sorted_}, std::as_writable_bytes(std::span(list_.records)));
  }

  Result<void> read_records() {
    const std::size_t bytes_of_one = layout_.page.bytes;
    std::vector<std::byte> bytes(list_.records.size() * bytes_of_one);
    std::vector<Copy> copies;
    for (std::size_t i = 0; i < list_.records.size(); ++i) {
      if (!is_reference(list_.records[i])) return out_of_order(machine_, "its page list is broken");
      copies.push_back(
          {RemoteAddr{list_.records[i]}, std::span(bytes).subspan(i * bytes_of_one, bytes_of_one)});
    }
    if (!HA_TRY(memory_.copy_all(copies, limits_)).empty()) {
      return out_of_order(machine_, "a page's record cannot be read");
    }
    std::vector<std::uint64_t> used;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (is_empty(copies[i].into)) continue;
      auto page = page_of(copies[i].into);
      if (!page) return out_of_order(machine_, "a page's record is invalid");
      list_.pages.push_back(std::move(*page));
      used.push_back(list_.records[i]);
    }
    if (used.empty()) return out_of_order(machine_, "it has no page");
    list_.records = std::move(used);
    return {};
  }

  // Whether a page is new, or is one without objects that is kept for later, as it is since 3.4.
  [[nodiscard]] bool is_empty(std::span<const std::byte> record) const {
    const auto& form = layout_.page;
    return read_from<std::uint64_t>(record, form.start) == 0 &&
           read_from<std::int16_t>(record, form.slots) == 0;
  }

  // Returns nothing if the record is not valid.
  [[nodiscard]] std::optional<HeapPage> page_of(std::span<const std::byte> record) const {
    const auto& form = layout_.page;
    const auto slot_bytes = read_from<std::int16_t>(record, form.slot_size);
    const auto slots = read_from<std::int16_t>(record, form.slots);
    HeapPage page;
    page.start = RemoteAddr{read_from<std::uint64_t>(record, form.start)};
    const std::uint64_t before = page.start.value % layout_.page_bytes;
    const bool is_size =
        slot_bytes == kSlotBytes || (layout_.values.is_wide && slot_bytes % 8 == 0 &&
                                     slot_bytes >= static_cast<int>(kLeastSlotBytes) &&
                                     slot_bytes <= static_cast<int>(kMostSlotBytes));
    if (!is_size || slots <= 0 || before < 8 || before % 8 != 0) return {};
    page.slots = static_cast<std::uint32_t>(slots);
    page.slot_bytes = static_cast<std::uint32_t>(slot_bytes);
    const bool is_after = list_.pages.empty() || list_.pages.back().start < page.start;
    if (before + std::uint64_t{page.slots} * page.slot_bytes > layout_.page_bytes || !is_after ||
        page.start.value < lowest_ || page.start.value >= highest_) {
      return {};
    }
    if (form.marks == 0) return page;
    page.is_before_sweep = (read_from<std::uint32_t>(record, form.flags) & kBeforeSweep) != 0;
    const std::size_t mark_words = (layout_.page_bytes / kSlotBytes + 63) / 64;
    for (std::size_t word = 0; word < mark_words; ++word) {
      page.marks.push_back(read_from<std::uint64_t>(record, form.marks + word * 8));
    }
    return page;
  }

  const Machine& machine_;
  const Layout& layout_;
  const MemoryReader& memory_;
  const CopyLimits& limits_;
  PageList list_;
  std::uint64_t sorted_ = 0;
  std::uint64_t lowest_ = 0;
  std::uint64_t highest_ = 0;
};

}  // namespace

std::optional<bool> is_collecting(const Machine& machine, const MemoryReader& memory) {
  const auto flags = collector_flags(machine, memory);
  return flags ? std::optional((*flags & kDuringCollection) != 0) : std::nullopt;
}

Result<std::uint64_t> count_pages(const Machine& machine, const MemoryReader& memory) {
  const auto& form = machine.layout->objspace;
  RemoteAddr count = RemoteAddr{machine.objspace} + form.pages;
  if (form.list_has_count) {
    const RemoteAddr list = RemoteAddr{machine.objspace} + form.sorted;
    count = RemoteAddr{HA_TRY(memory.read_as<std::uint64_t>(list))};
  }
  const auto pages = HA_TRY(memory.read_as<std::uint64_t>(count));
  if (pages == 0 || pages > kMostPages)
    return out_of_order(machine, "its page count is implausible");
  return pages;
}

Result<PageList> list_pages(const Machine& machine,
                            const MemoryReader& memory,
                            const CopyLimits& limits) {
  return Lister(machine, memory, limits).list();
}

Result<std::vector<Value>> find_fibers(const Machine& machine,
                                       const MemoryReader& memory,
                                       const CopyLimits& limits) {
  const PageList list = HA_TRY(list_pages(machine, memory, limits));
  const Values values(memory, machine.layout->values);
  std::unordered_map<std::uint64_t, bool> is_of_fibers;  // by data type
  std::vector<Value> fibers;
  std::vector<std::byte> bytes(machine.layout->page_bytes);
  for (const HeapPage& page : list.pages) {
    const auto here = std::span(bytes).first(std::size_t{page.slots} * page.slot_bytes);
    if (!memory.read(page.start, here)) continue;  // it was freed meanwhile
    for (std::size_t at = 0; at < here.size(); at += page.slot_bytes) {
      const Slot slot = read_from<Slot>(here, at);
      const std::uint64_t type = slot.data_type(values.form());
      if (slot.kind() != Kind::Data || type == 0) continue;
      const auto [known, is_new] = is_of_fibers.try_emplace(type);
      if (is_new) {
        const auto name = values.word(type);
        known->second = name && values.c_text(*name) == "fiber";
      }
      if (known->second) fibers.push_back(page.start.value + at);
    }
    if (std::chrono::steady_clock::now() >= limits.deadline) {
      return Error{ErrorKind::Timeout, "looking for fibers took too long"};
    }
  }
  return fibers;
}

std::size_t HeapCopy::bytes_for(const Machine& machine, std::uint64_t pages) {
  // Allows for rounding by the arena and for pages that are added meanwhile.
  return (pages + pages / 4 + 1024) * (machine.layout->page_bytes + 256);
}

Result<void> HeapCopy::copy(const Machine& machine,
                            const MemoryReader& memory,
                            const CopyLimits& limits) {
  layout_ = machine.layout.get();
  PageList list = HA_TRY(list_pages(machine, memory, limits));
  is_sweeping_ = list.is_sweeping;
  is_collecting_ = list.is_collecting;
  pages_ = std::move(list.pages);
  shapes_ = Shapes::read(machine, memory);
  HA_TRY(copy_bodies(machine, memory, list.records, limits));
  return survey(machine, memory, limits);
}

Result<void> HeapCopy::copy_bodies(const Machine& machine,
                                   const MemoryReader& memory,
                                   const std::vector<std::uint64_t>& records,
                                   const CopyLimits& limits) {
  std::vector<Range> ranges;
  for (const HeapPage& page : pages_) {
    const std::uint64_t begin = page.start.value / layout_->page_bytes * layout_->page_bytes;
    ranges.push_back({RemoteAddr{begin}, layout_->page_bytes});
  }
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].start < ranges[i - 1].end()) return out_of_order(machine, "two pages overlap");
  }
  HA_TRY(capture_.add(memory, ranges, limits));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    // A page's memory begins with the address of its record.
    const auto bytes = capture_.bytes_from(ranges[i].start);
    if (bytes.size() < 8 || read_from<std::uint64_t>(bytes, 0) != records[i]) {
      return out_of_order(machine, "a page does not match its record");
    }
  }
  return {};
}

Result<void> HeapCopy::survey(const Machine& machine,
                              const MemoryReader& memory,
                              const CopyLimits& limits) {
  std::uint64_t slots = 0;
  std::vector<std::uint64_t> tables;
  std::unordered_map<std::uint64_t, bool> data_types;
  Value last = 0;
  for (const HeapPage& page : pages_) {
    slots += page.slots;
    for (std::uint32_t i = 0; i < page.slots; ++i) {
      const auto slot = slot_at(page, i);
      if (!slot) continue;
      if (is_garbage(page, i)) {
        ++garbage_;
        continue;
      }
      const Kind kind = slot->kind();
      if (!is_kind(kind)) {
        ++misfits_;
        continue;
      }
      const std::uint64_t type = kind == Kind::Data ? slot->data_type(layout_->values) : 0;
      if (type != 0 && slot->of_class() == 0) data_types.try_emplace(type, true);
      const Value address = page.start.value + std::uint64_t{i} * page.slot_bytes;
      if (kind == Kind::Hash && slot->has(3)) tables.push_back(table_of(address, *slot));
      if (kind == Kind::Object && has_buffer(*slot) && layout_->values.is_wide &&
          !shapes_.room_of(*slot))
        ++unsized_;
      const bool is_internal = kind == Kind::Imemo || kind == Kind::Iclass || kind == Kind::Node;
      if (is_internal || slot->of_class() == 0 || slot->of_class() == last) continue;
      last = slot->of_class();
      if (class_names_.size() < kMostClasses) class_names_.try_emplace(last);
    }
  }
  if (misfits_ * kFewMisfits > slots)
    return out_of_order(machine, "too many slots hold no valid object");
  const CopyFirst copy_first(capture_, memory);
  const Values values(copy_first, layout_->values);
  NameReader names(machine, values);
  std::uint64_t unnamed = 0;
  for (auto& [of_class, name] : class_names_) {
    name = names.class_name(of_class);
    if (!name) ++unnamed;
    if (std::chrono::steady_clock::now() >= limits.deadline) {
      return Error{ErrorKind::Timeout, "reading the names of classes took too long"};
    }
  }
  if (unnamed * 10 > class_names_.size())
    return out_of_order(machine, "too many classes have no name");
  for (const auto& [type, is_used] : data_types) {
    const auto text = values.word(type);
    data_names_[type] = text ? values.c_text(*text).value_or("") : "";
  }
  read_tables(memory, tables, limits);
  return {};
}

// Reads the sizes of hash tables. Without its table, a Hash's size is only a lower bound.
void HeapCopy::read_tables(const MemoryReader& memory,
                           const std::vector<std::uint64_t>& tables,
                           const CopyLimits& limits) {
  constexpr std::uint64_t kEntryBytes = 24;
  constexpr unsigned kMostPower = 40;
  struct Head {
    std::uint8_t entry_power, bin_power, size_index;
  };
  constexpr unsigned kMostPowerWithoutBins = 4;
  std::vector<Head> heads(tables.size());
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    copies.push_back(
        {RemoteAddr{tables[i]}, std::as_writable_bytes(std::span(heads).subspan(i, 1))});
  }
  if (!memory.copy_all(copies, limits)) return;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Head& head = heads[i];
    if (head.entry_power > kMostPower || head.bin_power > kMostPower || head.size_index > 3) {
      continue;
    }
    std::uint64_t bytes = kTableBytes + (kEntryBytes << head.entry_power);
    if (head.entry_power > kMostPowerWithoutBins) {
      bytes += ((std::uint64_t{1} << (head.bin_power + head.size_index)) + 7) & ~std::uint64_t{7};
    }
    table_bytes_[tables[i]] = bytes;
  }
}

std::optional<Slot> HeapCopy::slot_at(const HeapPage& page, std::uint32_t index) const {
  const auto bytes = capture_.bytes_from(page.start + std::uint64_t{index} * page.slot_bytes);
  if (bytes.size() < page.slot_bytes) return std::nullopt;
  Slot slot;  // a small slot has fewer words
  std::memcpy(&slot, bytes.data(), std::min(sizeof slot, bytes.size()));
  return slot.flags() == 0 ? std::nullopt : std::optional(slot);
}

bool HeapCopy::has_buffer(const Slot& object) const {
  constexpr unsigned kIsInSlot = 1;
  if (!layout_->values.has_fields) return !object.has(kIsInSlot);
  // The first word is a buffer's address, or the first variable, or an object with all of them.
  return is_reference(object.words[2]) && page_of(object.words[2]) == nullptr;
}

bool HeapCopy::is_garbage(const HeapPage& page, std::uint32_t index) const {
  if (uncleared_ == Uncleared::Listed || !is_sweeping_ || !page.is_before_sweep) return false;
  const std::uint64_t number =
      (page.start.value % layout_->page_bytes + std::uint64_t{index} * page.slot_bytes) /
      kSlotBytes;
  return (page.marks[number / 64] >> (number % 64) & 1) == 0;
}

std::optional<HeapCopy::Object> HeapCopy::object_at(const HeapPage& page,
                                                    std::uint32_t index) const {
  const auto slot = slot_at(page, index);
  if (!slot || !is_kind(slot->kind()) || is_garbage(page, index)) return std::nullopt;
  Object object;
  object.address = page.start.value + std::uint64_t{index} * page.slot_bytes;
  object.slot = *slot;
  object.bytes = page.slot_bytes + buffer_bytes(object.address, *slot);
  return object;
}

std::uint64_t HeapCopy::table_of(Value address, const Slot& slot) const {
  return layout_->values.hash_in_slot ? address + kTableInSlot : slot.words[2];
}

std::uint64_t HeapCopy::buffer_bytes(Value address, const Slot& slot) const {
  const bool is_wide = layout_->values.is_wide;
  const auto& words = slot.words;
  std::uint64_t bytes = 0;
  switch (slot.kind()) {
    case Kind::String:  // not in its slot, shared, or never freed
      if (slot.has(1) && !slot.has(layout_->values.shared) && !slot.has(18)) bytes = words[4] + 1;
      break;
    case Kind::Array:
      if (!slot.has(1) && !slot.has(layout_->values.shared) && words[3] < kUsualAddressEnd / 8)
        bytes = words[3] * 8;
      break;
    case Kind::Object:
      if (!has_buffer(slot)) break;
      bytes = (is_wide ? shapes_.room_of(slot).value_or(0) : words[2] & 0xffffffff) * 8;
      break;
    case Kind::Struct:
      if ((slot.flags() >> 13 & layout_->values.struct_length) == 0 && words[3] != 0 &&
          words[2] < kUsualAddressEnd / 8) {
        bytes = words[2] * 8;
      }
      break;
    case Kind::Bignum:
      if (!slot.has(2) && words[3] != 0 && words[2] < kUsualAddressEnd / 8) bytes = words[2] * 8;
      break;
    case Kind::Hash:
      if (!slot.has(3)) {
        bytes = !layout_->values.hash_in_slot && words[2] != 0 ? 128 : 0;
      } else if (const auto table = table_bytes_.find(table_of(address, slot));
                 table != table_bytes_.end()) {
        bytes = layout_->values.hash_in_slot ? table->second - kTableBytes : table->second;
      }
      break;
    case Kind::Class:
    case Kind::Module:
      bytes = is_wide ? 0 : 112;
      break;  // rb_classext_t; its tables are not counted
    default: break;
  }
  return bytes < kUsualAddressEnd ? bytes : 0;
}

const HeapPage* HeapCopy::page_of(Value value) const {
  const auto after = std::partition_point(pages_.begin(), pages_.end(), [&](const HeapPage& page) {
    return page.start.value <= value;
  });
  if (after == pages_.begin()) return nullptr;
  const HeapPage& page = *std::prev(after);
  const std::uint64_t offset = value - page.start.value;
  const bool is_slot = offset % page.slot_bytes == 0 && offset / page.slot_bytes < page.slots;
  return is_slot ? &page : nullptr;
}

bool HeapCopy::has_object(Value value) const {
  const HeapPage* const page = is_reference(value) ? page_of(value) : nullptr;
  if (page == nullptr) return false;
  return object_at(*page,
                   static_cast<std::uint32_t>((value - page->start.value) / page->slot_bytes))
      .has_value();
}

std::uint64_t HeapCopy::slot_bytes_of(Value value) const {
  const HeapPage* const page = page_of(value);
  return page == nullptr ? 0 : page->slot_bytes;
}

std::optional<std::string> HeapCopy::class_name(Value of_class) const {
  const auto found = class_names_.find(of_class);
  return found == class_names_.end() ? std::nullopt : found->second;
}

std::string HeapCopy::data_name(const Slot& slot) const {
  if (slot.kind() != Kind::Data) return {};
  const auto found = data_names_.find(slot.data_type(layout_->values));
  return found == data_names_.end() ? std::string() : found->second;
}

std::uint64_t HeapCopy::unread_bytes() const {
  std::uint64_t bytes = 0;
  for (const Range& hole : capture_.holes()) bytes += hole.bytes;
  return bytes;
}

}  // namespace heapattach::ruby
