#include "symbols/ruby/fit_heap.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

namespace heapattach::ruby {

namespace {

constexpr std::uint64_t kRecordBytes = 128;  // the beginning of a record, before its bitmaps
constexpr std::uint64_t kLeastSlotBytes = 24;
constexpr std::uint64_t kMarkedBytes = 40;  // the memory that one mark covers
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 20;
constexpr std::uint64_t kMachineBytes = 12288;  // of rb_vm_t
constexpr std::uint64_t kSpaceBytes = 4096;     // of an object space, at most

using Record = std::array<std::byte, kRecordBytes>;

template <class T>
T in(const Record& record, std::uint64_t at) {
  T value{};
  std::memcpy(&value, record.data() + at, sizeof value);
  return value;
}

// An object, and the page that it is on if pages have this size.
struct Anchor {
  Value object = 0;
  std::uint64_t page = 0;
  std::uint64_t record_at = 0;
  Record record{};
};

std::vector<Anchor> anchors_of(const Values& values,
                               std::span<const Value> objects,
                               std::uint64_t page_bytes) {
  std::vector<Anchor> anchors;
  for (const Value object : objects) {
    Anchor anchor{.object = object, .page = object / page_bytes * page_bytes};
    anchor.record_at = values.word(anchor.page).value_or(0);
    const auto record = is_reference(anchor.record_at) ? values.as<Record>(anchor.record_at)
                                                       : std::optional<Record>();
    if (!record) return {};
    anchor.record = *record;
    anchors.push_back(anchor);
  }
  return anchors;
}

// Whether the words of a record at these offsets are the first slot's address and the slots' size
// and number.
bool fits(const Anchor& anchor, std::uint64_t page_bytes, std::uint64_t start, std::uint64_t size) {
  const auto first = in<std::uint64_t>(anchor.record, start);
  const std::uint64_t bytes = in<std::uint16_t>(anchor.record, size);
  const std::uint64_t slots = in<std::uint16_t>(anchor.record, size + 2);
  const std::uint64_t end = anchor.page + page_bytes;
  if (first <= anchor.page || first >= end || anchor.object < first) return false;
  if (bytes < kLeastSlotBytes || bytes % 8 != 0 || slots == 0) return false;
  const std::uint64_t last = first + bytes * slots;
  return (anchor.object - first) % bytes == 0 && last <= end && last + 2 * bytes > end;
}

// The offset of a record's links to the pages before and after it, which reference it back.
std::uint16_t find_links(const Values& values, const Anchor& anchor) {
  for (std::uint16_t at = 8; at + 16U <= kRecordBytes; at += 8) {
    const std::uint64_t self = anchor.record_at + at;
    const auto next = in<std::uint64_t>(anchor.record, at);
    const auto previous = in<std::uint64_t>(anchor.record, at + 8U);
    if (!is_reference(next) || !is_reference(previous) || next == self) continue;
    if (values.word(next + 8) == self && values.word(previous) == self) return at;
  }
  return 0;
}

// The bitmaps follow the links: one of objects without write barriers, then the marks.
void fit_marks(const Values& values, const std::vector<Anchor>& anchors, Layout& layout) {
  auto& page = layout.page;
  const std::uint16_t links = find_links(values, anchors.front());
  const bool has_usual_sizes = std::all_of(anchors.begin(), anchors.end(), [&](const Anchor& one) {
    return in<std::uint16_t>(one.record, page.slot_size) % kMarkedBytes == 0;
  });
  const auto bitmap = static_cast<std::uint16_t>((layout.page_bytes / kMarkedBytes + 63) / 64 * 8);
  page.marks = static_cast<std::uint16_t>(links != 0 && has_usual_sizes ? links + 16U + bitmap : 0);
  page.bytes = static_cast<std::uint16_t>(page.marks != 0 ? page.marks + bitmap : kRecordBytes);
}

// The first slot of a page; 0 for an empty page, which is kept without a first slot since 3.4.
std::optional<std::uint64_t> start_of_page(const Values& values,
                                           const Layout& layout,
                                           std::uint64_t record) {
  if (!is_reference(record)) return std::nullopt;
  const auto start = values.word(record + layout.page.start);
  if (!start || *start == 0) return start;
  if (!is_reference(*start)) return std::nullopt;
  const std::uint64_t page = *start / layout.page_bytes * layout.page_bytes;
  return values.word(page) == record ? start : std::nullopt;
}

bool are_in_order(const Values& values,
                  const Layout& layout,
                  std::span<const std::uint64_t> records) {
  std::uint64_t last = 0;
  return std::all_of(records.begin(), records.end(), [&](std::uint64_t record) {
    const auto start = start_of_page(values, layout, record);
    if (!start || *start == 0) return start.has_value();
    return std::exchange(last, *start) < *start;
  });
}

// Whether `count` records of pages in ascending order are at `entries`, with all `wanted` ones.
bool are_pages(const Values& values,
               const Layout& layout,
               std::uint64_t entries,
               std::uint64_t count,
               std::span<const std::uint64_t> wanted) {
  constexpr std::size_t kTried = 8;
  if (count < 2 || count > kMostPages) return false;
  const auto first = values.word(entries);
  const auto last = values.word(entries + (count - 1) * 8);
  if (!first || !last || !are_in_order(values, layout, {{*first, *last}})) return false;
  const auto all = values.words_in({RemoteAddr{entries}, count * 8});
  std::vector<std::uint64_t> known;
  std::copy_if(all.begin(), all.end(), std::back_inserter(known), [&](std::uint64_t record) {
    return std::find(wanted.begin(), wanted.end(), record) != wanted.end();
  });
  return known.size() == std::set(wanted.begin(), wanted.end()).size() &&
         are_in_order(values, layout, known) &&
         are_in_order(values, layout, std::span(all).first(std::min(all.size(), kTried)));
}

std::optional<ListPlace> list_at(const Values& values,
                                 const Layout& layout,
                                 std::uint64_t variable,
                                 std::uint64_t list,
                                 std::span<const std::uint64_t> wanted) {
  constexpr std::uint64_t kCounts = 16;  // the count, and the number that there is room for
  const auto count = values.word(list);
  if (!count) return std::nullopt;
  const auto room = values.word(list + 8);
  if (room && *count <= *room && are_pages(values, layout, list + kCounts, *count, wanted)) {
    return ListPlace{variable, true};
  }
  const auto pages = values.word(variable + 8);
  if (pages && is_reference(*count) && are_pages(values, layout, list, *pages, wanted)) {
    return ListPlace{variable, false};
  }
  return std::nullopt;
}

}  // namespace

bool fit_pages(const Values& values, std::span<const Value> objects, Layout& layout) {
  for (const std::uint64_t page_bytes :
       {layout.page_bytes, std::uint64_t{65536}, std::uint64_t{16384}}) {
    const auto anchors = anchors_of(values, objects, page_bytes);
    if (anchors.empty()) continue;
    for (std::uint16_t start = 0; start <= 64; start += 8) {
      for (std::uint16_t size = 0; size <= 64; size += 2) {
        const bool is_one = std::all_of(anchors.begin(), anchors.end(), [&](const Anchor& anchor) {
          return fits(anchor, page_bytes, start, size);
        });
        if (!is_one) continue;
        layout.page_bytes = page_bytes;
        layout.page.start = start;
        layout.page.slot_size = size;
        layout.page.slots = static_cast<std::uint16_t>(size + 2);
        layout.page.flags = static_cast<std::uint16_t>(size + 12);
        fit_marks(values, anchors, layout);
        return true;
      }
    }
  }
  return false;
}

std::optional<ListPlace> find_page_list(const Values& values,
                                        const Layout& layout,
                                        std::span<const Value> objects) {
  constexpr std::uint64_t kBefore = 2048;
  constexpr std::uint64_t kAround = 6144;
  const auto anchors = anchors_of(values, objects, layout.page_bytes);
  if (anchors.empty()) return std::nullopt;
  std::vector<std::uint64_t> wanted;
  for (const Anchor& anchor : anchors) wanted.push_back(anchor.record_at);
  const Anchor& anchor = anchors.front();
  for (std::uint64_t at = 0; at < kRecordBytes; at += 8) {
    const auto near = in<std::uint64_t>(anchor.record, at);
    const bool is_in_page = near >= anchor.page && near < anchor.page + layout.page_bytes;
    if (!is_reference(near) || is_in_page) continue;
    const std::uint64_t begin = (near - kBefore) / 8 * 8;
    const auto words = values.words_in({RemoteAddr{begin}, kAround});
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!is_reference(words[i])) continue;
      if (auto found = list_at(values, layout, begin + i * 8, words[i], wanted)) return found;
    }
  }
  return std::nullopt;
}

std::uint64_t fit_object_space(const Values& values,
                               std::uint64_t vm,
                               const ListPlace& place,
                               std::uint16_t known,
                               Layout& layout) {
  std::uint64_t found = 0;
  const auto words = values.words_in({RemoteAddr{vm}, kMachineBytes});
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t word = words[i];
    const bool is_before = is_reference(word) && word <= place.variable &&
                           place.variable - word < kSpaceBytes && word > found;
    if (!is_before || (known != 0 && i * 8 != known)) continue;
    found = word;
    layout.vm.objspace = static_cast<std::uint16_t>(i * 8);
  }
  if (found == 0) return 0;
  auto& form = layout.objspace;
  form.sorted = static_cast<std::uint16_t>(place.variable - found);
  form.list_has_count = place.has_count;
  form.pages = static_cast<std::uint16_t>(form.sorted + 8);
  form.sorted_length = static_cast<std::uint16_t>(place.has_count ? 0 : form.sorted + 24);
  form.range = static_cast<std::uint16_t>(form.sorted + (place.has_count ? 24 : 32));
  return found;
}

}  // namespace heapattach::ruby
