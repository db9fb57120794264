#include "report/format/export/heapsnapshot_names.h"

#include <algorithm>

#include <fmt/format.h>

namespace heapattach {

namespace {

// Words up to this number without a name in the type are properties "+16"; later ones, of which a
// buffer may have millions, are elements by number.
constexpr std::uint64_t kPlainWords = 512;

template <class Path>
void sort_by_offset(std::vector<Path>& paths) {
  std::stable_sort(paths.begin(), paths.end(),
                   [](const Path& a, const Path& b) { return a.offset < b.offset; });
}

template <class Path>
const Path* find_path(const std::vector<Path>& paths, std::uint64_t offset) {
  const auto at =
      std::lower_bound(paths.begin(), paths.end(), offset,
                       [](const Path& path, std::uint64_t wanted) { return path.offset < wanted; });
  return at != paths.end() && at->offset == offset ? &*at : nullptr;
}

}  // namespace

HeapsnapshotStrings::HeapsnapshotStrings() {
  number_of("<dummy>");
  number_of("");
  for (std::uint64_t word = 0; word < kPlainWords; ++word) number_of(fmt::format("+{}", word * 8));
}

std::uint32_t HeapsnapshotStrings::number_of(std::string_view text) {
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  texts_.emplace_back(text);
  const auto number = static_cast<std::uint32_t>(texts_.size() - 1);
  numbers_.emplace(texts_.back(), number);
  return number;
}

HeapsnapshotEdgeNames::HeapsnapshotEdgeNames(const snapshot::Type& type,
                                             HeapsnapshotStrings& strings)
    : first_plain_(strings.number_of("+0")) {
  add_keys(type, strings);
  for (const auto& path : type.paths) {
    if (!path.text.empty()) fixed_.push_back({path.offset, strings.number_of(path.text)});
  }
  elements_at_ = type.elements.at;
  element_bytes_ = type.elements.bytes;
  for (const auto& path : type.elements.paths) {
    in_element_.push_back(
        {path.offset, path.text.empty() ? 0 : strings.number_of("[]." + path.text)});
  }
  sort_by_offset(fixed_);
  sort_by_offset(in_element_);
}

// "items[3].key" becomes "[].key", as for a type with a known layout.
void HeapsnapshotEdgeNames::add_keys(const snapshot::Type& type, HeapsnapshotStrings& strings) {
  for (const snapshot::Type::Key& key : type.keys) {
    Key named{0, key.unit, key.before == "+"};
    if (key.unit == 0) {
      named.text = strings.number_of(key.before + key.after);
      first_numbered_ = keys_.size() + 1;
    } else if (!named.is_offset && key.after != "]") {
      named.text = strings.number_of("[" + key.after);
    }
    keys_.push_back(named);
  }
}

HeapsnapshotEdgeNames::Name HeapsnapshotEdgeNames::of_key(std::uint64_t number) const {
  if (number < first_numbered_) return {false, keys_[number].text};
  const std::uint64_t behind = number - first_numbered_;
  const std::uint64_t kinds = keys_.size() - first_numbered_;
  const Key& key = keys_[first_numbered_ + behind % kinds];
  const std::uint64_t value = behind / kinds * key.unit;
  if (key.is_offset) return of_plain(value);
  if (key.text != 0) return {false, key.text};
  return {true, static_cast<std::uint32_t>(value)};
}

HeapsnapshotEdgeNames::Name HeapsnapshotEdgeNames::of_plain(std::uint64_t offset) const {
  const std::uint64_t word = offset / 8;
  if (word < kPlainWords) return {false, first_plain_ + static_cast<std::uint32_t>(word)};
  return {true, static_cast<std::uint32_t>(word)};
}

HeapsnapshotEdgeNames::Name HeapsnapshotEdgeNames::of(std::uint64_t offset) const {
  if (!keys_.empty()) return of_key(offset / 8);
  if (const Path* path = find_path(fixed_, offset)) return {false, path->text};
  if (element_bytes_ != 0 && offset >= elements_at_) {
    const std::uint64_t behind = offset - elements_at_;
    if (const Path* path = find_path(in_element_, behind % element_bytes_)) {
      if (path->text != 0) return {false, path->text};
      return {true, static_cast<std::uint32_t>(behind / element_bytes_)};
    }
  }
  return of_plain(offset);
}

}  // namespace heapattach
