#include "symbols/cxx/function_name.h"

#include <algorithm>
#include <array>

#include "symbols/cxx/demangle.h"

namespace heapattach {

namespace {

constexpr std::string_view kOperatorLetters = "<>=!~+-*/%&|^[]?";

bool is_operator_letter(char letter) {
  return kOperatorLetters.find(letter) != std::string_view::npos;
}

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// Where the name of a method ends in a Crystal symbol: before its arguments in angle brackets, or
// before the single colon of its return type.
std::size_t end_of_crystal_name(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '(' || letter == '{') ++depth;
    if (letter == ')' || letter == '}') --depth;
    if (depth > 0) continue;
    if (letter == '#' && i + 1 < text.size() && is_operator_letter(text[i + 1])) {
      std::size_t end = i + 1;
      while (end < text.size() && is_operator_letter(text[end])) ++end;
      // "#<<Int32>" is the operator < with its argument, "#<=><Int32>" is <=>.
      const bool has_arguments = end < text.size() && text[end] != ':' && text[end - 1] == '<';
      return has_arguments ? end - 1 : end;
    }
    if (letter == '<') return i;
    if (letter == ':' && i + 1 < text.size() && text[i + 1] == ':') {
      ++i;
    } else if (letter == ':') {
      return i;
    }
  }
  return text.size();
}

// The last position of `what` outside of parentheses.
std::size_t find_outside(std::string_view text, std::string_view what) {
  int depth = 0;
  std::size_t found = std::string_view::npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (depth == 0 && text.substr(i).starts_with(what)) found = i;
  }
  return found;
}

std::string crystal_name(std::string_view text) {
  text = text.substr(0, end_of_crystal_name(text));
  const std::size_t at = find_outside(text, "@");
  if (at == std::string_view::npos) {
    if (text.ends_with('+')) text.remove_suffix(1);
    return std::string(text);
  }
  // The receiver is before the '@', and the type that defines the method after it:
  // "File@IO::Evented#wait_readable".
  std::string_view receiver = text.substr(0, at);
  if (receiver.ends_with('+')) receiver.remove_suffix(1);
  const std::string_view definition = text.substr(at + 1);
  std::size_t mark = find_outside(definition, "#");
  if (mark == std::string_view::npos) mark = find_outside(definition, "::");
  if (mark == std::string_view::npos) return std::string(text);
  return std::string(receiver) + std::string(definition.substr(mark));
}

bool is_name_letter(char letter) {
  return is_digit(letter) || letter == '_' || (letter >= 'a' && letter <= 'z') ||
         (letter >= 'A' && letter <= 'Z');
}

// Whether `name` has the word "operator" at `at`, not only as a part of a name such as in_operator.
bool is_operator_at(std::string_view name, std::size_t at) {
  constexpr std::string_view kWord = "operator";
  return name.substr(at).starts_with(kWord) && (at == 0 || !is_name_letter(name[at - 1])) &&
         (at + kWord.size() == name.size() || !is_name_letter(name[at + kWord.size()]));
}

// "f(int) const [clone .cold]" is "f".
std::string_view without_parameters(std::string_view name) {
  if (const std::size_t clone = name.find(" [clone "); clone != std::string_view::npos) {
    name = name.substr(0, clone);
  }
  for (const std::string_view mark : {" &&", " &", " const", " volatile"}) {
    if (name.ends_with(mark)) name.remove_suffix(mark.size());
  }
  if (!name.ends_with(')')) return name;
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) {
      constexpr std::size_t kOperator = 8;
      return i >= kOperator && is_operator_at(name.substr(0, i), i - kOperator) ? name
                                                                                : name.substr(0, i);
    }
  }
  return name;
}

// "void run<int>" is "run<int>": symbols of templates include the return type.
std::string_view without_return_type(std::string_view name) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char letter = name[i];
    if (depth == 0 && is_operator_at(name, i)) break;
    if (letter == '<' || letter == '(' || letter == '{' || letter == '[') ++depth;
    if (letter == '>' || letter == ')' || letter == '}' || letter == ']') --depth;
    if (depth == 0 && letter == ' ') begin = i + 1;
  }
  return name.substr(begin);
}

// "f.part.0", "f.constprop.0.isra.1", "f.llvm.123", "f@@GLIBC_2.34" are f.
std::string_view without_additions(std::string_view name) {
  if (const std::size_t at = name.find('@'); at != 0 && at != std::string_view::npos) {
    name = name.substr(0, at);
  }
  constexpr std::array<std::string_view, 6> kAdded = {".part.", ".constprop.", ".isra.",
                                                      ".cold",  ".llvm.",      ".lto_priv."};
  for (const std::string_view added : kAdded) {
    const std::size_t at = name.find(added);
    if (at != 0 && at != std::string_view::npos) name = name.substr(0, at);
  }
  // "static_function.7": compilers number names that would otherwise occur twice.
  std::size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) --end;
  if (end < name.size() && end > 1 && name[end - 1] == '.') name = name.substr(0, end - 1);
  return name;
}

}  // namespace

// A complete symbol continues after the method's name, with its arguments or return type.
bool is_cut_short(std::string_view symbol) {
  if (!symbol.starts_with('*') || symbol.size() < 2) return false;
  const std::string_view text = symbol.substr(1);
  return end_of_crystal_name(text) == text.size() && find_outside(text, "@") == text.npos &&
         find_outside(text, "#") == text.npos;
}

std::string function_name(std::string_view symbol) {
  if (symbol.starts_with("~proc")) return "(proc)";
  if (symbol.starts_with('*') && symbol.size() > 1) return crystal_name(symbol.substr(1));
  if (!symbol.starts_with("_Z")) return std::string(without_additions(symbol));
  const std::string name = cxx::demangled(without_additions(symbol));
  if (name.starts_with("_Z")) return name;
  return std::string(without_return_type(without_parameters(name)));
}

}  // namespace heapattach
