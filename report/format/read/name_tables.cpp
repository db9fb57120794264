#include "report/format/read/name_tables.h"

#include <cstring>
#include <utility>

#include "report/model/split_key.h"
#include "symbols/text/json_grammar.h"

namespace heapattach::read {

namespace {

bool is_plain(const std::string& text) {
  const char* const end = text.data() + text.size();
  return end_of_plain_text(text.data(), end) == end;
}

}  // namespace

std::uint32_t KeyTable::number_of(snapshot::Type::Key key) {
  // Includes the length of the text before the number, so that no two keys get the same text here.
  std::string text = key.unit == 0
                         ? "=" + key.before
                         : std::to_string(key.before.size()) + ':' + key.before + key.after;
  const auto [at, is_new] =
      numbers_.try_emplace(std::move(text), static_cast<std::uint32_t>(keys_.size()));
  if (is_new) {
    is_plain_.push_back(is_plain(key.before) && is_plain(key.after));
    keys_.push_back(std::move(key));
    following_.push_back(kFirst);
  }
  return at->second;
}

KeyTable::Found KeyTable::intern(std::string_view text) {
  const snapshot::SplitKey split = snapshot::split_key(text);
  return {number_of({std::string(split.before), std::string(split.after), split.unit}),
          split.number};
}

void KeyTable::learn(std::uint32_t after, std::uint32_t key) {
  // A text with escapes in the file cannot be compared by its bytes.
  (after == kFirst ? first_ : following_[after]) = is_plain_[key] ? key : kFirst;
}

const char* KeyTable::guess(const char* at,
                            const char* end,
                            std::uint32_t after,
                            Found& found) const {
  const std::uint32_t key = after == kFirst ? first_ : following_[after];
  if (key == kFirst) return nullptr;
  const snapshot::Type::Key& likely = keys_[key];
  const auto matches = [&](const std::string& text) {
    const auto size = text.size();
    if (static_cast<std::size_t>(end - at) <= size) return false;
    if (std::memcmp(at, text.data(), size) != 0) return false;
    at += size;
    return true;
  };
  found = {key, 0};
  if (!matches(likely.before)) return nullptr;
  if (likely.unit != 0) {
    at = snapshot::read_number(at, end, found.number);
    if (at == nullptr || !matches(likely.after)) return nullptr;
    if (likely.unit == 8 && found.number % 8 != 0) return nullptr;
    found.number /= likely.unit;
  }
  return *at == '"' ? at : nullptr;
}

std::uint32_t SeenType::value_path(std::string_view path) {
  const auto known = value_path_numbers.find(path);
  if (known != value_path_numbers.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(value_paths.size());
  value_paths.emplace_back(path);
  value_path_numbers.emplace(path, number);
  return number;
}

std::uint32_t NameTables::type(std::string_view name, std::size_t block, std::size_t object) {
  const std::size_t ends = name.empty() ? 0
                                        : static_cast<unsigned char>(name.front()) +
                                              static_cast<unsigned char>(name.back());
  std::uint32_t& recent = recent_types_[(ends + 7 * name.size()) % recent_types_.size()];
  if (recent < types.size() && types[recent].name == name) return recent;
  return recent = search_type(name, block, object);
}

std::uint32_t NameTables::search_type(std::string_view name,
                                      std::size_t block,
                                      std::size_t object) {
  const auto known = type_numbers_.find(name);
  if (known != type_numbers_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(types.size());
  SeenType& made = types.emplace_back();
  made.name = name;
  made.first_block = block;
  made.first_object = object;
  type_numbers_.emplace(name, number);
  return number;
}

std::uint32_t NameTables::size_class(std::uint64_t bytes) {
  std::uint32_t& recent = recent_sizes_[bytes / 16 % recent_sizes_.size()];
  if (recent < sizes.size() && sizes[recent] == bytes) return recent;
  const auto [at, is_new] =
      size_numbers_.try_emplace(bytes, static_cast<std::uint32_t>(sizes.size()));
  if (is_new) sizes.push_back(bytes);
  return recent = at->second;
}

}  // namespace heapattach::read
