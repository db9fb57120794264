#include "symbols/ruby/values.h"

#include <algorithm>
#include <span>

#include "attach/base/page.h"

namespace heapattach::ruby {

namespace {

constexpr std::uint64_t kWord = 8;
// Flags that say where the contents are.
constexpr unsigned kNotInSlot = 1;  // of a String: FL_USER1
constexpr unsigned kInSlot = 1;     // of an Array: FL_USER1

constexpr std::uint64_t kMostInSlot = 640;  // of the largest slots

constexpr std::uint64_t kDeleted = ~std::uint64_t{0};  // an entry's hash

// struct st_table: entry_power, bin_power, size_ind, rebuilds_num; type; num_entries; until 4.0,
// bins; entries_start; entries_bound; entries.
using TableHead = std::array<std::uint64_t, 7>;

struct PlaceOfEntries {
  std::uint64_t first, bound, entries, count;
};

// Nothing if the table's numbers contradict each other. In a table without bins, head[5] is an
// address, which is greater than the table's room.
std::optional<PlaceOfEntries> place_of_entries(const TableHead& head) {
  constexpr unsigned kMostPower = 40;
  const unsigned power = head[0] & 0xff;
  if (power > kMostPower) return std::nullopt;
  const std::uint64_t room = std::uint64_t{1} << power;
  const bool has_bins = head[5] <= room;
  const PlaceOfEntries place = has_bins ? PlaceOfEntries{head[4], head[5], head[6], head[2]}
                                        : PlaceOfEntries{head[3], head[4], head[5], head[2]};
  const bool fits = place.first <= place.bound && place.bound <= room &&
                    place.count <= place.bound - place.first + 1;  // while one is deleted
  return fits ? std::optional(place) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> Values::word(std::uint64_t at) const {
  if (at % kWord != 0) return std::nullopt;
  return as<std::uint64_t>(at);
}

std::vector<std::uint64_t> Values::words_in(Range range) const {
  std::vector<std::uint64_t> words(range.bytes / kWord);
  const auto bytes = std::as_writable_bytes(std::span(words));
  for (std::size_t at = 0; at < bytes.size();) {
    const auto got = memory_.read_some(range.start + at, bytes.subspan(at));
    const bool has_read = got && *got != 0;  // it may end where a part of a core file ends
    at += has_read ? *got : kLeastPageBytes - (range.start.value + at) % kLeastPageBytes;
  }
  return words;
}

std::optional<Slot> Values::slot(Value value) const {
  if (!is_reference(value)) return std::nullopt;
  return as<Slot>(value);
}

std::optional<std::string> Values::text(Value value) const {
  const auto string = slot(value);
  if (!string || string->kind() != Kind::String) return std::nullopt;
  std::uint64_t at = form_.is_wide ? value + 24 : value + 16;
  std::uint64_t length = form_.is_wide ? string->words[2] : string->flags() >> 14 & 0x1f;
  if (string->has(kNotInSlot)) {
    length = string->words[2];
    at = string->words[3];
  } else if (length > (form_.is_wide ? kMostInSlot : 24)) {
    return std::nullopt;
  }
  std::string text(std::min(length, kMostText), '\0');
  if (!memory_.read(RemoteAddr{at}, std::as_writable_bytes(std::span(text)))) return std::nullopt;
  return text;
}

std::optional<std::string> Values::c_text(std::uint64_t at) const {
  std::array<char, 128> bytes{};
  const auto got = memory_.read_some(RemoteAddr{at}, std::as_writable_bytes(std::span(bytes)));
  if (!got) return std::nullopt;
  const auto end =
      std::find(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*got), '\0');
  if (end == bytes.begin() + static_cast<std::ptrdiff_t>(*got)) return std::nullopt;
  return std::string(bytes.begin(), end);
}

std::optional<Values::Elements> Values::elements(Value array) const {
  const auto found = slot(array);
  if (!found || found->kind() != Kind::Array) return std::nullopt;
  if (found->has(kInSlot)) return Elements{array + 16, found->flags() >> 15 & form_.array_length};
  return Elements{found->words[4], found->words[2]};
}

std::optional<Value> Values::element(Value array, std::uint64_t index) const {
  const auto all = elements(array);
  if (!all || index >= all->count) return std::nullopt;
  return word(all->at + index * kWord);
}

std::vector<Values::Entry> Values::entries(std::uint64_t table) const {
  return this->table(table, kMostEntries).value_or(std::vector<Entry>());
}

std::optional<std::uint64_t> Values::words_of_table(std::uint64_t at) const {
  const auto head = is_reference(at) ? as<TableHead>(at) : std::nullopt;
  const auto place = head ? place_of_entries(*head) : std::nullopt;
  if (!place) return std::nullopt;
  return (place->bound - place->first) * sizeof(Entry) / kWord;
}

std::optional<std::vector<Values::Entry>> Values::table(std::uint64_t at,
                                                        std::uint64_t most) const {
  const auto head = is_reference(at) ? as<TableHead>(at) : std::nullopt;
  const auto place = head ? place_of_entries(*head) : std::nullopt;
  if (!place || place->bound - place->first > most) return std::nullopt;
  std::vector<Entry> found;
  // A wrong number must not cost memory, so a large table is read in steps.
  constexpr std::uint64_t kStep = 4096;
  std::vector<Entry> step;
  for (std::uint64_t first = place->first; first < place->bound; first += step.size()) {
    step.resize(std::min(kStep, place->bound - first));
    const RemoteAddr from{place->entries + first * sizeof(Entry)};
    if (!memory_.read(from, std::as_writable_bytes(std::span(step)))) return std::nullopt;
    for (const Entry& entry : step) {
      if (entry.hash != kDeleted) found.push_back(entry);
    }
    if (found.size() > place->count + 1) return std::nullopt;  // while one is added
  }
  return found;
}

}  // namespace heapattach::ruby
