#include "report/short_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include <fmt/format.h>

// A name is a sequence of paths ("std::map<…>::iterator") and of anything between them. A path is
// read component by component; the arguments of each are shortened first, so that the patterns
// below compare short forms.

namespace heapattach {

namespace {

constexpr std::size_t kLongestName = 1 << 13;
constexpr int kDeepest = 64;
constexpr int kMostUnclosed = 32;

bool shows_full_names = false;

bool is_of_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || (static_cast<unsigned char>(c) & 0x80) != 0;
}

// The constant in quotes that begins at `at`, such as '<'; 1 if none does.
std::size_t quoted_bytes(std::string_view text, std::size_t at) {
  const std::size_t from = at + 1 < text.size() && text[at + 1] == '\\' ? at + 3 : at + 2;
  const std::size_t end = text.find('\'', from);
  return end == std::string_view::npos ? 1 : end + 1 - at;
}

// The bytes of the operator's signs if "operator" ends at `at`: 2 in "operator<<".
std::size_t operator_bytes(std::string_view text, std::size_t at) {
  constexpr std::string_view kOperator = "operator";
  const std::string_view before = text.substr(0, at);
  if (!before.ends_with(kOperator)) return 0;
  const std::size_t start = at - kOperator.size();
  if (start > 0 && is_of_word(text[start - 1])) return 0;
  for (const std::string_view signs :
       {"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "<", ">"}) {
    if (text.substr(at).starts_with(signs)) return signs.size();
  }
  return 0;
}

// A list in angle brackets: where each argument begins and ends, and where the list ends.
struct Arguments {
  std::vector<std::string_view> all;
  std::size_t end = 0;  // after the closing bracket
};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The list that opens at text[open]; none if nothing closes it.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): a scanner, a branch for each sign
std::optional<Arguments> arguments_at(std::string_view text, std::size_t open) {
  std::string closing;  // of the brackets that are open
  Arguments found;
  std::size_t begin = open + 1;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (const std::size_t signs = at == open ? 0 : operator_bytes(text, at); signs > 0) {
      at += signs - 1;
      continue;
    }
    const char c = text[at];
    const bool is_closing = c == ')' || c == ']' || c == '}';
    if (c == '\'') {
      at += quoted_bytes(text, at) - 1;
    } else if (c == '<') {
      closing += '>';
    } else if (c == '(' || c == '[' || c == '{') {
      closing += c == '(' ? ')' : static_cast<char>(c + 2);
    } else if (is_closing) {
      while (!closing.empty() && closing.back() == '>') closing.pop_back();  // "less than"
      if (closing.empty() || closing.back() != c) return std::nullopt;
      closing.pop_back();
    } else if (c == ',' && closing.size() == 1) {
      found.all.push_back(trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
    } else if (c == '>' && !closing.empty() && closing.back() == '>' && text[at - 1] != '-') {
      closing.pop_back();
      if (!closing.empty()) continue;
      const std::string_view last = trimmed(text.substr(begin, at - begin));
      if (!last.empty() || !found.all.empty()) found.all.push_back(last);
      found.end = at + 1;
      return found;
    }
  }
  return std::nullopt;
}

using Texts = std::vector<std::string>;

// A template of the standard library, without "std::" and inline namespaces: how many arguments it
// always has, and the defaults of the others, in which {0} is the first argument, and so on.
struct Template {
  std::string_view name;
  std::size_t given;
  std::array<std::string_view, 3> defaults{};
};

constexpr std::string_view kAllocator = "std::allocator<{0}>";
constexpr std::string_view kPairs = "std::allocator<std::pair<{0} const, {1}>>";
constexpr std::string_view kLess = "std::less<{0}>";
constexpr std::string_view kHash = "std::hash<{0}>";
constexpr std::string_view kEqual = "std::equal_to<{0}>";
constexpr std::string_view kTraits = "std::char_traits<{0}>";

constexpr std::array kTemplates = {
    Template{"vector", 1, {kAllocator}},
    Template{"deque", 1, {kAllocator}},
    Template{"list", 1, {kAllocator}},
    Template{"forward_list", 1, {kAllocator}},
    Template{"set", 1, {kLess, kAllocator}},
    Template{"multiset", 1, {kLess, kAllocator}},
    Template{"map", 2, {kLess, kPairs}},
    Template{"multimap", 2, {kLess, kPairs}},
    Template{"unordered_set", 1, {kHash, kEqual, kAllocator}},
    Template{"unordered_multiset", 1, {kHash, kEqual, kAllocator}},
    Template{"unordered_map", 2, {kHash, kEqual, kPairs}},
    Template{"unordered_multimap", 2, {kHash, kEqual, kPairs}},
    Template{"stack", 1, {"std::deque<{0}>"}},
    Template{"queue", 1, {"std::deque<{0}>"}},
    Template{"priority_queue", 1, {"std::vector<{0}>", kLess}},
    Template{"unique_ptr", 1, {"std::default_delete<{0}>"}},
    Template{"basic_string", 1, {kTraits, kAllocator}},
    Template{"basic_string_view", 1, {kTraits}},
    Template{"basic_ios", 1, {kTraits}},
    Template{"basic_streambuf", 1, {kTraits}},
    Template{"basic_istream", 1, {kTraits}},
    Template{"basic_ostream", 1, {kTraits}},
    Template{"basic_iostream", 1, {kTraits}},
    Template{"basic_filebuf", 1, {kTraits}},
    Template{"basic_ifstream", 1, {kTraits}},
    Template{"basic_ofstream", 1, {kTraits}},
    Template{"basic_fstream", 1, {kTraits}},
    Template{"basic_stringbuf", 1, {kTraits, kAllocator}},
    Template{"basic_istringstream", 1, {kTraits, kAllocator}},
    Template{"basic_ostringstream", 1, {kTraits, kAllocator}},
    Template{"basic_stringstream", 1, {kTraits, kAllocator}},
    Template{"basic_regex", 1, {"std::regex_traits<{0}>"}},
};

// A node of a container: its argument is the element, or the key and value in a pair.
struct Node {
  std::string_view name;
  std::string_view of_values;
  std::string_view of_pairs = {};
  std::string_view pair = {};     // the template of the key and the value
  std::string_view key_end = {};  // after the key
};

constexpr std::array kNodes = {
    Node{"_List_node", "list"},
    Node{"_Fwd_list_node", "forward_list"},
    Node{"_Rb_tree_node", "set", "map", "std::pair<", " const"},
    Node{"__detail::_Hash_node", "unordered_set", "unordered_map", "std::pair<", " const"},
    Node{"__list_node", "list"},
    Node{"__forward_list_node", "forward_list"},
    Node{"__tree_node", "set", "map", "std::__value_type<"},
    Node{"__hash_node", "unordered_set", "unordered_map", "std::__hash_value_type<"},
};

// "{0} const" with the arguments in it.
std::string filled(std::string_view pattern, const Texts& arguments) {
  std::string text;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '{') {
      text += pattern[at];
      continue;
    }
    text += arguments[static_cast<std::size_t>(pattern[at + 1] - '0')];
    at += 2;
  }
  return text;
}

// "<A, B>". A space keeps "operator>" and the bracket apart.
std::string in_brackets(const Texts& arguments) {
  std::string text = "<";
  for (const std::string& one : arguments) text += (text.size() == 1 ? "" : ", ") + one;
  const bool is_operator = text.ends_with("operator>") || text.ends_with("operator<");
  return text + (is_operator ? " >" : ">");
}

void drop_defaults(std::string_view name, Texts& arguments) {
  const auto* const found = std::find_if(kTemplates.begin(), kTemplates.end(),
                                         [&](const Template& one) { return one.name == name; });
  if (found == kTemplates.end()) return;
  while (arguments.size() > found->given) {
    const std::size_t at = arguments.size() - 1 - found->given;
    if (at >= found->defaults.size() || found->defaults[at].empty()) return;
    if (arguments.back() != filled(found->defaults[at], arguments)) return;
    arguments.pop_back();
  }
}

// "string" of "basic_string" and its only argument "char"; empty if there is no such name.
std::string name_of_characters(std::string_view name, const Texts& arguments) {
  constexpr std::string_view kBasic = "basic_";
  if (!name.starts_with(kBasic) || arguments.size() != 1) return {};
  const std::string_view kind = name.substr(kBasic.size());
  const bool is_string = kind == "string" || kind == "string_view";
  struct Prefix {
    std::string_view character;
    std::string_view text;
    bool is_of_strings_only = true;
  };
  constexpr std::array kPrefixes = {Prefix{"char", "", false}, Prefix{"wchar_t", "w", false},
                                    Prefix{"char8_t", "u8"}, Prefix{"char16_t", "u16"},
                                    Prefix{"char32_t", "u32"}};
  for (const Prefix& one : kPrefixes) {
    if (one.character != arguments.front() || (one.is_of_strings_only && !is_string)) continue;
    return fmt::format("{}{}", one.text, kind);
  }
  return {};
}

// "map<K, V> node"; empty for any other template.
std::string node_name(std::string_view name, const Texts& arguments) {
  const auto* const found =
      std::find_if(kNodes.begin(), kNodes.end(), [&](const Node& one) { return one.name == name; });
  if (found == kNodes.end() || arguments.empty()) return {};
  const std::string& value = arguments.front();
  if (!found->pair.empty() && value.starts_with(found->pair)) {
    const auto pair = arguments_at(value, found->pair.size() - 1);
    if (pair && pair->end == value.size() && pair->all.size() == 2 &&
        pair->all[0].ends_with(found->key_end)) {
      const std::string_view key =
          pair->all[0].substr(0, pair->all[0].size() - found->key_end.size());
      return fmt::format("std::{}<{}, {}> node", found->of_pairs, key, pair->all[1]);
    }
  }
  return fmt::format("std::{}<{}> node", found->of_values, value);
}

// A component of a path that no program writes.
bool is_inline_namespace(std::string_view word) {
  constexpr std::array<std::string_view, 4> kAll = {"__cxx11", "__1", "__ndk1", "_V2"};
  return std::find(kAll.begin(), kAll.end(), word) != kAll.end();
}

class Shortener {
 public:
  // Shortens a whole text.
  std::string shorten(std::string_view text, int depth) {
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
      if (const std::size_t signs = operator_bytes(text, at); signs > 0) {
        out += text.substr(at, signs);
        at += signs;
      } else if (text[at] == '\'') {
        const std::size_t bytes = quoted_bytes(text, at);
        out += text.substr(at, bytes);
        at += bytes;
      } else if (is_of_word(text[at])) {
        at = take_path(text, at, depth, out);
      } else if (text[at] == '<') {
        at = take_nameless(text, at, depth, out);
      } else {
        out += text[at++];
      }
    }
    return out;
  }

 private:
  // As arguments_at(), but a name with many brackets that nothing closes is not searched for ever.
  std::optional<Arguments> list_at(std::string_view text, std::size_t at, int depth) {
    if (depth >= kDeepest || unclosed_ >= kMostUnclosed) return std::nullopt;
    auto list = arguments_at(text, at);
    if (!list) ++unclosed_;
    return list;
  }

  // Appends the short form of the path at `at`, and returns its end.
  // NOLINTNEXTLINE(readability-function-cognitive-complexity): a scanner, a branch for each sign
  std::size_t take_path(std::string_view text, std::size_t at, int depth, std::string& out) {
    const bool is_continued = at >= 2 && text.substr(at - 2, 2) == "::";
    std::string path;  // without inline namespaces
    std::string name;  // the same since "std::"; only if it begins so
    bool is_std = false;
    for (bool is_first = true;; is_first = false) {
      std::size_t end = at;
      while (end < text.size() && is_of_word(text[end])) ++end;
      const std::string_view word = text.substr(at, end - at);
      if (is_first && word == "std" && !is_continued) is_std = true;
      const bool is_hidden =
          is_std && !is_first && is_inline_namespace(word) && text.substr(end).starts_with("::");
      if (!is_hidden) path += word;
      if (!is_hidden && !is_first) name += word;
      at = end;
      const bool goes_on =
          text.substr(at).starts_with("::") && at + 2 < text.size() && is_of_word(text[at + 2]);
      if (!goes_on) break;
      if (!is_hidden) path += "::";
      if (!is_hidden && !is_first) name += "::";
      at += 2;
    }
    if (at < text.size() && text[at] == '<' && operator_bytes(text, at) == 0) {
      if (const auto list = list_at(text, at, depth)) {
        out += with_arguments(path, is_std ? name : "", shortened(list->all, depth));
        return list->end;
      }
    }
    out += path;
    return at;
  }

  // A component without a name, such as "<lambda(int)>".
  std::size_t take_nameless(std::string_view text, std::size_t at, int depth, std::string& out) {
    const auto list = list_at(text, at, depth);
    if (!list) {
      out += text[at];
      return at + 1;
    }
    out += in_brackets({shorten(text.substr(at + 1, list->end - at - 2), depth + 1)});
    return list->end;
  }

  Texts shortened(const std::vector<std::string_view>& arguments, int depth) {
    Texts texts;
    for (const std::string_view one : arguments) texts.push_back(shorten(one, depth + 1));
    return texts;
  }

  // `name` is that of a template of the standard library, or empty.
  static std::string with_arguments(const std::string& path,
                                    std::string_view name,
                                    Texts arguments) {
    if (name.empty()) return path + in_brackets(arguments);
    if (std::string node = node_name(name, arguments); !node.empty()) return node;
    drop_defaults(name, arguments);
    if (const std::string short_name = name_of_characters(name, arguments); !short_name.empty()) {
      return "std::" + short_name;
    }
    return path + in_brackets(arguments);
  }

  int unclosed_ = 0;
};

}  // namespace

std::string short_type_name(std::string_view full) {
  if (full.size() > kLongestName || full.find_first_of("<:") == std::string_view::npos) {
    return std::string(full);
  }
  return Shortener().shorten(full, 0);
}

std::string shown_type_name(std::string_view full) {
  return shows_full_names ? std::string(full) : short_type_name(full);
}

void show_full_type_names(bool full) noexcept {
  shows_full_names = full;
}

}  // namespace heapattach
