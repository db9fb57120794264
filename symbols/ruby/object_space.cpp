#include "symbols/ruby/object_space.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace heapattach::ruby {

namespace {

constexpr std::uint64_t kReach = 512;  // bytes to search after the layout's offset
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 20;

// The first check that failed; empty if all passed.
using Misfit = std::string_view;

class Space {
 public:
  Space(const Layout& layout, const Values& values, std::uint64_t at)
      : layout_(layout), values_(values), at_(at) {}

  [[nodiscard]] Misfit misfit(std::span<const Value> known) {
    if (!is_reference(at_)) return "it is not an address";
    if (const Misfit wrong = header_misfit(); !wrong.empty()) return wrong;
    if (!read_list()) return "its page list cannot be read";
    if (!is_page(list_.front()) || !is_page(list_.back())) {
      return "the first or last entry of its page list is not a page";
    }
    for (const Value object : known) {
      if (!has_page_of(object)) return "its page list lacks the page of a core class";
    }
    return {};
  }

 private:
  struct Page {
    std::uint64_t start = 0;
    std::uint64_t slots = 0;
    std::uint64_t slot_bytes = 0;
  };

  [[nodiscard]] std::uint64_t member(std::uint64_t offset) const {
    return values_.word(at_ + offset).value_or(0);
  }

  Misfit header_misfit() {
    const auto& form = layout_.objspace;
    pages_ = member(form.pages);
    sorted_ = member(form.sorted);
    lowest_ = member(form.range);
    highest_ = member(form.range + 8U);
    if (pages_ == 0 || pages_ > kMostPages) return "its page count is implausible";
    if (member(form.sorted_length) < pages_) return "it has more pages than its page list can hold";
    if (!is_reference(sorted_)) return "it has no page list";
    return lowest_ < highest_ ? Misfit() : "its address range is empty";
  }

  bool read_list() {
    list_.resize(pages_);
    return values_.memory()
        .read(RemoteAddr{sorted_}, std::as_writable_bytes(std::span(list_)))
        .has_value();
  }

  // Returns nothing if this is not the record of a page that points back to it.
  [[nodiscard]] std::optional<Page> page_of(std::uint64_t record) const {
    if (!is_reference(record)) return std::nullopt;
    const auto& form = layout_.page;
    const auto start = values_.word(record + form.start);
    const auto slots = values_.as<std::uint16_t>(record + form.slots);
    const auto bytes = values_.as<std::uint16_t>(record + form.slot_size);
    if (!start || !slots || !bytes || *slots == 0 || *bytes == 0) return std::nullopt;
    if (!is_reference(*start) || values_.word(*start - *start % layout_.page_bytes) != record) {
      return std::nullopt;
    }
    return Page{*start, *slots, *bytes};
  }

  [[nodiscard]] bool is_page(std::uint64_t record) const {
    const auto page = page_of(record);
    return page && page->start >= lowest_ && page->start < highest_;
  }

  [[nodiscard]] bool has_page_of(Value object) const {
    const auto record = values_.word(object - object % layout_.page_bytes);
    if (!record || std::find(list_.begin(), list_.end(), *record) == list_.end()) return false;
    const auto page = page_of(*record);
    if (!page || object < page->start) return false;
    const std::uint64_t before = object - page->start;
    return before % page->slot_bytes == 0 && before / page->slot_bytes < page->slots;
  }

  const Layout& layout_;
  const Values& values_;
  std::uint64_t at_;
  std::uint64_t pages_ = 0;
  std::uint64_t sorted_ = 0;
  std::uint64_t lowest_ = 0;
  std::uint64_t highest_ = 0;
  std::vector<std::uint64_t> list_;
};

// The offsets of all words up to a little after `of_table`, nearest first.
std::vector<std::uint64_t> places(std::uint64_t of_table) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t at = 0; at < of_table + kReach; at += 8) all.push_back(at);
  const auto distance = [&](std::uint64_t at) {
    return at < of_table ? of_table - at : at - of_table;
  };
  std::stable_sort(all.begin(), all.end(), [&](std::uint64_t left, std::uint64_t right) {
    return distance(left) < distance(right);
  });
  return all;
}

Error not_found(std::string what) {
  return {ErrorKind::Malformed, std::move(what)};
}

}  // namespace

Result<std::uint64_t> find_object_space(const Layout& layout,
                                        const MemoryReader& memory,
                                        std::uint64_t vm,
                                        std::span<const Value> known) {
  const Values values(memory, layout.values);
  const std::uint64_t of_table = layout.vm.objspace;
  const auto words = values.words_in({RemoteAddr{vm}, of_table + kReach});
  std::optional<std::uint64_t> found;
  Misfit of_table_misfit;
  std::uint64_t found_at = 0;
  for (const std::uint64_t at : places(of_table)) {
    const std::uint64_t word = words[at / 8];
    if (word == found) continue;
    const Misfit misfit = Space(layout, values, word).misfit(known);
    if (at == of_table) of_table_misfit = misfit;
    if (!misfit.empty()) continue;
    if (found) {
      return not_found(
          fmt::format("its virtual machine has two matching object spaces, at offsets {} and {}",
                      found_at, at));
    }
    found = word;
    found_at = at;
  }
  if (found) return *found;
  return not_found(fmt::format("no object space matches in its virtual machine (at offset {}: {})",
                               of_table, of_table_misfit));
}

}  // namespace heapattach::ruby
