// The output of CRYSTAL_DUMP_TYPE_ID=1, mixed with the other output of a build:
//
//     CRYSTAL_DUMP_TYPE_ID
//     {0 - 0}: Nil
//     {1 - 730}: Object
//       {1 - 210}: Reference
//         {1 - 1}: String
//         {2 - 41}: Array
//           {2 - 2}: Array(Crystal::DWARF::Abbrev)
//
// and an empty line at the end. Lists from macro programs come before it, in the same form. A
// line's second number is the type's own id, and its range contains the ids of all types below it.
// Types below Reference are classes; a generic class without arguments ("Array") has no instances,
// and its instantiations are below it. Each id from the first to Object's own occurs once, which
// shows whether the end of the list is missing.

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "symbols/crystal/type_info.h"

namespace heapattach::crystal {
namespace {

constexpr std::string_view kTitle = "CRYSTAL_DUMP_TYPE_ID";
constexpr std::uint32_t kLargestId = 0x7fffffff;
constexpr std::size_t kLongestName = 64U << 10U;

struct Line {
  std::uint32_t min = 0;
  std::uint32_t id = 0;
  std::string_view name;

  [[nodiscard]] bool holds(const Line& other) const { return other.min >= min && other.id <= id; }
};

bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

bool take_id(std::string_view& text, std::uint32_t& id) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc{} || id > kLargestId) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::optional<Line> parse_line(std::string_view text) {
  Line line;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const bool is_complete = take(text, "{") && take_id(text, line.min) && take(text, " - ") &&
                           take_id(text, line.id) && take(text, "}: ");
  if (!is_complete || line.min > line.id || text.empty() || text.size() > kLongestName) {
    return std::nullopt;
  }
  line.name = text;
  return line;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// "Array" above "Array(String)".
bool is_generic(const Line& line, const Line& below) {
  return below.name.size() > line.name.size() && below.name.starts_with(line.name) &&
         below.name[line.name.size()] == '(';
}

class Reader {
 public:
  Result<void> add(const Line& line, std::size_t number) {
    if (line.id < seen_.size() && seen_[line.id]) {
      return Error{ErrorKind::Malformed, fmt::format("line {}: id {} twice", number, line.id)};
    }
    // Ids are dense. A list with more holes than entries is not the compiler's.
    if (line.id > kLargestSensibleId) {
      return Error{ErrorKind::Malformed, fmt::format("line {}: id {}", number, line.id)};
    }
    if (line.id >= seen_.size()) seen_.resize(std::size_t{line.id} + 1);
    seen_[line.id] = true;
    if (line.name == "Object") object_ = line;
    while (!above_.empty() && !above_.back().line.holds(line)) above_.pop_back();
    const bool is_class = !above_.empty() && above_.back().is_class;
    if (is_class && is_generic(above_.back().line, line)) drop(above_.back().line.id);
    above_.push_back({line, is_class || line.name == "Reference"});
    if (is_class) {
      Type type;
      type.id = line.id;
      type.name = line.name;
      type.known_from = {KnownFrom::TypeIdTable};
      types_.push_back(std::move(type));
    }
    return {};
  }

  Result<std::vector<Type>> finish() {
    if (!object_) return Error{ErrorKind::Malformed, "no type Object in the list"};
    for (std::uint32_t id = object_->min; id <= object_->id; ++id) {
      if (id >= seen_.size() || !seen_[id]) {
        return Error{ErrorKind::Malformed,
                     fmt::format("incomplete: ids go up to {}, {} is missing", object_->id, id)};
      }
    }
    std::erase_if(types_,
                  [&](const Type& type) { return type.id < generic_.size() && generic_[type.id]; });
    return std::move(types_);
  }

 private:
  static constexpr std::uint32_t kLargestSensibleId = 1U << 24U;

  struct Above {
    Line line;
    bool is_class;
  };

  void drop(std::uint32_t id) {
    if (id >= generic_.size()) generic_.resize(std::size_t{id} + 1);
    generic_[id] = true;
  }

  std::vector<Above> above_;  // the lines that may be parents of the next
  std::vector<bool> seen_;
  std::vector<bool> generic_;
  std::optional<Line> object_;
  std::vector<Type> types_;
};

// The text, line by line.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  // Moves past the next line that is the title. False if there is none.
  bool find_title() {
    while (!text_.empty()) {
      if (next() == kTitle) return true;
    }
    return false;
  }

  Result<TypeList> read_list() {
    Reader reader;
    while (!text_.empty()) {
      const std::string_view line = next();
      if (line.empty()) break;
      const std::optional<Line> parsed = parse_line(line);
      if (!parsed) {
        return Error{ErrorKind::Malformed,
                     fmt::format("line {}: expected \"{{min - max}}: Name\"", number_)};
      }
      HA_TRY(reader.add(*parsed, number_));
    }
    return reader.finish();
  }

 private:
  std::string_view next() {
    ++number_;
    return next_line(text_);
  }

  std::string_view text_;
  std::size_t number_ = 0;
};

}  // namespace

Result<std::vector<TypeList>> parse_type_info_text(std::string_view text) {
  Lines lines(text);
  std::vector<TypeList> lists;
  while (lines.find_title()) lists.push_back(HA_TRY(lines.read_list()));
  if (lists.empty()) {
    return Error{ErrorKind::Malformed,
                 "neither JSON nor a list that begins with CRYSTAL_DUMP_TYPE_ID"};
  }
  return lists;
}

}  // namespace heapattach::crystal
