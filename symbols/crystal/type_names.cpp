#include "symbols/crystal/type_names.h"

#include <algorithm>
#include <array>

namespace heapattach::crystal {
namespace {

constexpr std::size_t kLongestSymbol = 1U << 20U;

bool ends_a_name(char c) {
  return c == ')' || c == ',' || c == ' ' || c == '|';
}

bool is_operator(std::string_view name, std::size_t plus) {
  if (plus == 0) return true;
  const char before = name[plus - 1];
  return !(before == ')' || before == '_' || (before >= '0' && before <= '9') ||
           (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') ||
           (static_cast<unsigned char>(before) & 0x80U) != 0);
}

// Symbols prefix a private type with the path of its file: "/srv/app/x.cr::Hidden". The length of
// that prefix at `at`.
std::size_t private_path_bytes(std::string_view name, std::size_t at) {
  const bool is_start = at == 0 || name[at - 1] == '(' || name[at - 1] == ' ';
  if (!is_start || name[at] != '/') return 0;
  constexpr std::string_view kEnd = ".cr::";
  const std::size_t end = name.find(kEnd, at);
  return end == std::string_view::npos ? 0 : end + kEnd.size() - at;
}

// The last single colon outside of brackets separates the method from its result:
// "*A::new:named<B>:C".
std::size_t result_colon(std::string_view symbol) {
  int depth = 0;
  for (std::size_t i = symbol.size(); i-- > 1;) {
    const char c = symbol[i];
    if (c == ')' || c == '}' || c == ']') ++depth;
    if (c == '(' || c == '{' || c == '[') --depth;
    if (depth < 0) return std::string_view::npos;
    if (c != ':' || depth != 0) continue;
    if (symbol[i - 1] != ':') return i;
    --i;  // "::" is part of a name
  }
  return std::string_view::npos;
}

// Values that may be returned in a register like a reference, but are not references.
constexpr std::array<std::string_view, 8> kValuePrefixes = {
    "Pointer(", "Slice(", "Proc(", "Tuple(", "NamedTuple(", "StaticArray(", "struct.", "union."};

bool is_exact_class(std::string_view name) {
  if (name.empty() || name.back() == '+' || name.ends_with(".class") || name.ends_with(":Module")) {
    return false;
  }
  if (std::any_of(kValuePrefixes.begin(), kValuePrefixes.end(),
                  [&](std::string_view prefix) { return name.starts_with(prefix); })) {
    return false;
  }
  const char first = name.front();  // a file's private type begins with its path
  return (first >= 'A' && first <= 'Z') || first == '/' ||
         (static_cast<unsigned char>(first) & 0x80U) != 0;
}

}  // namespace

std::string canonical_name(std::string_view name) {
  std::string plain;
  plain.reserve(name.size());
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (const std::size_t path = private_path_bytes(name, i); path > 0) i += path;
    if (i == name.size()) break;
    const bool at_end = i + 1 == name.size() || ends_a_name(name[i + 1]);
    if (name[i] == '+' && at_end && !is_operator(name, i)) continue;
    plain.push_back(name[i]);
  }
  return plain;
}

std::string reference_to(std::string_view class_name) {
  return std::string(class_name) + " *";
}

std::string_view class_returned_by(std::string_view symbol) {
  if (symbol.size() < 4 || symbol.size() > kLongestSymbol || symbol.front() != '*') return {};
  const std::size_t colon = result_colon(symbol);
  if (colon == std::string_view::npos) return {};
  const std::string_view result = symbol.substr(colon + 1);
  return is_exact_class(result) ? result : std::string_view{};
}

std::string_view class_of_cut(std::string_view symbol) {
  if (symbol.size() < 2 || symbol.size() > kLongestSymbol || symbol.front() != '*') return {};
  const std::string_view receiver = symbol.substr(1);
  int depth = 0;
  for (const char c : receiver) {
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
    if (depth == 0 && (c == '#' || c == '<' || c == '@')) return {};
  }
  const bool is_whole = depth == 0 && result_colon(symbol) == std::string_view::npos;
  return is_whole && is_exact_class(receiver) ? receiver : std::string_view{};
}

std::vector<std::string_view> split_list(std::string_view list, std::string_view separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
    if (depth != 0 || !list.substr(i).starts_with(separator)) continue;
    parts.push_back(list.substr(start, i - start));
    i += separator.size() - 1;
    start = i + 1;
  }
  parts.push_back(list.substr(start));
  return parts;
}

std::vector<std::string_view> union_parts(std::string_view name) {
  std::string_view inner = name;
  if (inner.starts_with('(') && inner.ends_with(')')) inner = inner.substr(1, inner.size() - 2);
  std::vector<std::string_view> parts = split_list(inner, " | ");
  std::erase(parts, "Nil");
  return parts;
}

}  // namespace heapattach::crystal
