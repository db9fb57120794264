#include "symbols/cxx/class_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

// A name is split into words, numbers, character constants and single signs. Spaces count only
// before and after a parenthesis, where they mean something: "void (T::*)(int) const".

namespace heapattach::cxx {
namespace {

struct Token {
  std::string text;
  bool is_word = false;    // or a number
  bool has_space = false;  // a space precedes it
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_of_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         c == '.' || (c & 0x80) != 0;
}

// "5UL" is "5": only some compilers write a constant's type.
std::string_view without_suffix(std::string_view word) {
  if (!is_digit(word.front())) return word;
  const std::size_t end = word.find_last_not_of("uUlL");
  return word.substr(0, end + 1);
}

std::vector<Token> tokens_of(std::string_view name) {
  std::vector<Token> tokens;
  bool has_space = false;
  while (!name.empty()) {
    if (name.front() == ' ') {
      has_space = true;
      name.remove_prefix(1);
      continue;
    }
    std::size_t length = 1;
    const bool is_word = is_of_word(name.front());
    if (is_word) {
      while (length < name.size() && is_of_word(name[length])) ++length;
    } else if (name.front() == '\'' && name.size() > 2) {
      const std::size_t end = name.find('\'', name[1] == '\\' ? 3 : 2);
      if (end != std::string_view::npos) length = end + 1;
    }
    const std::string_view text = name.substr(0, length);
    tokens.push_back({std::string(is_word ? without_suffix(text) : text), is_word, has_space});
    has_space = false;
    name.remove_prefix(length);
  }
  return tokens;
}

bool is_of_number(const Token& token) {
  static constexpr std::array<std::string_view, 8> kWords = {
      "unsigned", "signed", "long", "short", "int", "char", "double", "__int128"};
  return std::find(kWords.begin(), kWords.end(), token.text) != kWords.end();
}

// The usual name of a number type whose words come in any order: "unsigned long" for "long unsigned
// int".
std::string number_name(const std::vector<Token>& words, std::size_t first, std::size_t last) {
  const auto count = [&](std::string_view wanted) {
    return std::count_if(words.begin() + static_cast<std::ptrdiff_t>(first),
                         words.begin() + static_cast<std::ptrdiff_t>(last),
                         [&](const Token& word) { return word.text == wanted; });
  };
  std::string name;
  const auto add = [&name](std::string_view word) {
    name += name.empty() ? "" : " ";
    name += word;
  };
  if (count("unsigned") > 0) add("unsigned");
  if (count("signed") > 0 && count("char") > 0) add("signed");
  if (count("short") > 0) add("short");
  for (auto i = count("long"); i > 0; --i) add("long");
  bool is_complete = count("short") + count("long") > 0;
  for (const std::string_view word : {"char", "double", "__int128"}) {
    if (count(word) == 0) continue;
    add(word);
    is_complete = true;
  }
  if (!is_complete) add("int");
  return name;
}

std::vector<Token> with_numbers_named(const std::vector<Token>& tokens) {
  std::vector<Token> named;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    named.push_back(tokens[i]);
    if (!is_of_number(tokens[i])) continue;
    std::size_t end = i + 1;
    while (end < tokens.size() && is_of_number(tokens[end])) ++end;
    named.back().text = number_name(tokens, i, end);
    i = end - 1;
  }
  return named;
}

// Returns the position after the type's own name, which begins at `first`: after "ns::list<int>" in
// "ns::list<int>* const".
std::size_t end_of_type(const std::vector<Token>& tokens, std::size_t first) {
  int depth = 0;
  for (std::size_t i = first; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    if (text == "<") ++depth;
    if (depth == 0 && !tokens[i].is_word && text != ":") {
      const bool is_nameless = text == "(" && i == first && i + 3 < tokens.size();
      if (!is_nameless) return i;
      i += 3;  // "(anonymous namespace)"
    }
    if (text == ">") --depth;
  }
  return tokens.size();
}

// "pair<const int>" becomes "pair<int const>", as the demangler and g++ write it.
std::vector<Token> with_const_after(std::vector<Token> tokens) {
  for (std::size_t i = tokens.size(); i-- > 1;) {  // inner ones first
    const std::string& before = tokens[i - 1].text;
    const bool is_first = before == "<" || before == "," || before == "(";
    if (tokens[i].text != "const" || !is_first) continue;
    const std::size_t end = end_of_type(tokens, i + 1);
    const auto at = tokens.begin() + static_cast<std::ptrdiff_t>(i);
    tokens[i].has_space = true;
    std::rotate(at, at + 1, tokens.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return tokens;
}

bool needs_space(const Token& before, const Token& after) {
  const char last = before.text.back();
  const char first = after.text.front();
  if (last == ',' || (last == '>' && first == '>')) return true;
  if (after.is_word)
    return before.is_word || last == '*' || last == '&' ||
           ((last == ')' || last == '>') && after.has_space);
  return first == '(' && before.is_word && after.has_space;
}

}  // namespace

std::string one_spelling(std::string_view name) {
  if (name == "_Bool") return "bool";
  std::string spelled;
  const std::vector<Token> tokens = with_const_after(with_numbers_named(tokens_of(name)));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && needs_space(tokens[i - 1], tokens[i])) spelled += ' ';
    spelled += tokens[i].text;
  }
  return spelled;
}

}  // namespace heapattach::cxx
