#include "report/type_names.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include <fmt/format.h>

#include "report/glob.h"
#include "report/short_names.h"
#include "report/similar_names.h"

namespace heapattach {

namespace {

constexpr std::size_t kMostSuggestions = 5;
constexpr std::size_t kLongestCompared = 120;  // of a name: some are templates of kilobytes

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return result;
}

// "RequestLog" of "Blog::RequestLog", "Entry(A::B)" of "Blog::Entry(A::B)", "leaf" of "struct
// leaf"; the whole of a name such as "(buffer of A::B)".
std::string_view without_namespaces(std::string_view name) {
  const std::string_view path = name.substr(0, name.find_first_of("(<"));
  const std::size_t colons = path.rfind("::");
  if (colons != std::string_view::npos) return name.substr(colons + 2);
  for (const std::string_view word : {"struct ", "class ", "union "}) {
    if (name.starts_with(word)) return name.substr(word.size());
  }
  return name;
}

std::string quoted(std::vector<std::string_view> names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  }
  return text + (names.size() > most ? ", …" : "");
}

// Names with few wrong letters, and then those that hold the name, whatever its case.
std::string suggestions(std::string_view wanted,
                        std::span<const std::string_view> known,
                        std::string_view listed_by) {
  struct Like {
    std::size_t distance = 0;
    std::string_view name;
  };
  std::vector<Like> like;
  const std::string sought = lower(wanted.substr(0, kLongestCompared));
  const std::size_t allowed = std::max<std::size_t>(1, sought.size() / 4);
  for (const std::string_view name : known) {
    const std::string whole = lower(name.substr(0, kLongestCompared));
    const std::string last = lower(without_namespaces(name).substr(0, kLongestCompared));
    const std::size_t distance =
        std::min(letters_between(sought, whole), letters_between(sought, last));
    if (distance <= allowed || whole.find(sought) != std::string::npos) {
      like.push_back({std::min(distance, allowed + 1), name});
    }
  }
  std::sort(like.begin(), like.end(), [](const Like& a, const Like& b) {
    return std::tuple(a.distance, a.name.size(), a.name) <
           std::tuple(b.distance, b.name.size(), b.name);
  });
  if (like.empty()) return std::string(listed_by);
  std::vector<std::string_view> names;
  names.reserve(like.size());
  for (const Like& one : like) names.push_back(one.name);
  return "did you mean " + quoted(std::move(names), kMostSuggestions) + "?";
}

using Matches = bool (*)(std::string_view wanted, std::string_view name);

NamedType find_name(std::string_view thing,
                    Matches matches,
                    std::string_view listed_by,
                    std::string_view wanted,
                    std::span<const std::string_view> known) {
  std::vector<std::string_view> ending;
  bool is_known = wanted == "*";  // even of a heap that holds nothing
  for (const std::string_view name : known) {
    if (name == wanted || matches(wanted, name)) is_known = true;
    if (without_namespaces(name) == wanted || without_namespaces(short_type_name(name)) == wanted) {
      ending.push_back(name);
    }
  }
  if (is_known) return {std::string(wanted), {}};
  std::sort(ending.begin(), ending.end());
  ending.erase(std::unique(ending.begin(), ending.end()), ending.end());
  if (ending.size() == 1) return {std::string(ending[0]), {}};
  if (ending.empty()) {
    return {{},
            fmt::format("no {} is called '{}'; {}", thing, wanted,
                        suggestions(wanted, known, listed_by))};
  }
  return {{},
          fmt::format("'{}' is short for several {}s: {}; name one of them, or '*::{}' for all",
                      wanted, thing, quoted(ending, kMostSuggestions), wanted)};
}

}  // namespace

bool is_labelled(std::string_view wanted, std::string_view name) {
  return !wanted.empty() && name.starts_with(wanted) && name.ends_with(')') &&
         name.substr(wanted.size()).starts_with(" (");
}

bool matches_type(std::string_view wanted, std::string_view name) {
  if (name == wanted || is_labelled(wanted, name) || matches_glob(wanted, name)) return true;
  const std::string short_name = short_type_name(name);
  return short_name != name && (short_name == wanted || matches_glob(wanted, short_name));
}

NamedType find_type_name(std::string_view wanted,
                         std::span<const std::string_view> known,
                         std::string_view listed_by) {
  return find_name("type", matches_type, listed_by, as_named_now(wanted), known);
}

std::string unnamed_in(std::string_view holder) {
  constexpr std::string_view kVowels = "AEIO";
  const bool has_vowel = !holder.empty() && kVowels.find(holder[0]) != std::string_view::npos;
  return fmt::format("(unnamed, in {} {})", has_vowel ? "an" : "a", holder);
}

std::string named_by_size(std::uint64_t bytes) {
  return fmt::format("({} bytes)", bytes);
}

std::string_view size_in_name(std::string_view name) {
  constexpr std::string_view kEnd = " bytes)";
  if (!name.starts_with('(') || !name.ends_with(kEnd)) return {};
  const std::string_view digits = name.substr(1, name.size() - 1 - kEnd.size());
  const bool is_size =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  return is_size ? name.substr(1, name.size() - 2) : std::string_view();
}

std::string as_named_now(std::string_view name) {
  constexpr std::string_view kBefore = "(held by ";
  if (!name.starts_with(kBefore) || !name.ends_with(')')) return std::string(name);
  return unnamed_in(name.substr(kBefore.size(), name.size() - kBefore.size() - 1));
}

NamedType find_root_name(std::string_view wanted, std::span<const std::string_view> known) {
  return find_name("root", matches_glob, "--why and --suspects begin each path with one", wanted,
                   known);
}

NamedType TypeNames::find(std::string_view wanted, std::string_view listed_by) const {
  const std::vector<std::string_view> names(names_.begin(), names_.end());
  return find_type_name(wanted, names, listed_by);
}

}  // namespace heapattach
