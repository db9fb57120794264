#include "report/model/json_keys.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_set>

#include "report/text/json_text.h"

namespace heapattach {

namespace {

constexpr std::size_t kMostNumberBytes = 24;

char* put_text(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

char* put_decimal(char* at, std::uint64_t value) {
  return std::to_chars(at, at + kMostNumberBytes, value).ptr;
}

// Appends a path in the form that it has in a JSON string. Returns false if it cannot be a key.
bool append_path(std::string& out, std::string_view path) {
  std::string quoted;
  const bool is_lossy = append_json_string(quoted, path);
  out.append(quoted, 1, quoted.size() - 2);
  return !is_lossy;
}

}  // namespace

JsonKeys::JsonKeys(const snapshot::Type& type) {
  add_named(type);
  add_fixed(type);
  add_elements(type);
  const auto lengthen = [this](std::size_t bytes) { longest_ = std::max(longest_, bytes); };
  for (const Key& key : fixed_) lengthen(key.text.size());
  for (const Key& key : in_element_) {
    lengthen(before_element_.size() + key.text.size() + kMostNumberBytes);
  }
  for (const Named& key : named_) {
    lengthen(key.before.size() + key.after.size() + kMostNumberBytes);
  }
  lengthen(kMostNumberBytes + 4);
}

void JsonKeys::add_named(const snapshot::Type& type) {
  for (const auto& key : type.keys) {
    Named named{"\"", {}, key.unit};
    append_path(named.before, key.before);
    append_path(named.after, key.after);
    named.after += "\":";
    if (key.unit == 0) first_numbered_ = named_.size() + 1;
    named_.push_back(std::move(named));
  }
}

char* JsonKeys::put_named(char* at, std::uint64_t number) const {
  if (number < first_numbered_) {
    at = put_text(at, named_[number].before);
    return put_text(at, named_[number].after);
  }
  const std::uint64_t behind = number - first_numbered_;
  const std::uint64_t kinds = named_.size() - first_numbered_;
  const Named& key = named_[first_numbered_ + behind % kinds];
  at = put_text(at, key.before);
  at = put_decimal(at, behind / kinds * key.unit);
  return put_text(at, key.after);
}

void JsonKeys::add_fixed(const snapshot::Type& type) {
  // A path that begins with the name of the array and a bracket could look like that of an element.
  const std::string element = type.elements.name + "[";
  std::unordered_set<std::string> seen;
  for (const auto& path : type.paths) {
    if (path.text.empty() || path.text.front() == '+') continue;
    if (type.elements.bytes != 0 && path.text.starts_with(element)) continue;
    Key key{path.offset, std::string(1, '"')};
    if (!append_path(key.text, path.text) || !seen.insert(key.text).second) continue;
    key.text += "\":";
    fixed_.push_back(std::move(key));
  }
  std::stable_sort(fixed_.begin(), fixed_.end(),
                   [](const Key& a, const Key& b) { return a.offset < b.offset; });
}

void JsonKeys::add_elements(const snapshot::Type& type) {
  if (type.elements.bytes == 0) return;
  before_element_.assign(1, '"');
  if (!append_path(before_element_, type.elements.name)) return;
  if (before_element_.starts_with("\"+")) return;
  before_element_ += '[';
  elements_at_ = type.elements.at;
  std::unordered_set<std::string> seen;
  for (const auto& path : type.elements.paths) {
    Key key{path.offset, std::string(1, ']')};
    if (!path.text.empty() && path.text.front() != '[') key.text += '.';
    if (!append_path(key.text, path.text) || !seen.insert(key.text).second) continue;
    key.text += "\":";
    in_element_.push_back(std::move(key));
  }
  std::stable_sort(in_element_.begin(), in_element_.end(),
                   [](const Key& a, const Key& b) { return a.offset < b.offset; });
  if (!in_element_.empty()) element_bytes_ = type.elements.bytes;
}

char* JsonKeys::Cursor::put(char* at, std::uint64_t offset) {
  if (!keys_.named_.empty()) return keys_.put_named(at, offset / 8);
  const auto& fixed = keys_.fixed_;
  while (next_ < fixed.size() && fixed[next_].offset < offset) ++next_;
  if (next_ < fixed.size() && fixed[next_].offset == offset) return put_text(at, fixed[next_].text);
  if (keys_.element_bytes_ != 0 && offset >= keys_.elements_at_) {
    const std::uint64_t behind = offset - keys_.elements_at_;
    const std::uint64_t element = behind / keys_.element_bytes_;
    const std::uint64_t rest = behind % keys_.element_bytes_;
    const auto& inner = keys_.in_element_;
    if (element != element_) next_in_element_ = 0;
    element_ = element;
    while (next_in_element_ < inner.size() && inner[next_in_element_].offset < rest) {
      ++next_in_element_;
    }
    if (next_in_element_ < inner.size() && inner[next_in_element_].offset == rest) {
      at = put_text(at, keys_.before_element_);
      at = put_decimal(at, element);
      return put_text(at, inner[next_in_element_].text);
    }
  }
  at = put_text(at, "\"+");
  at = put_decimal(at, offset);
  return put_text(at, "\":");
}

}  // namespace heapattach
