#include "report/analyze/find_matches.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/analyze/edge_names.h"
#include "report/analyze/find.h"
#include "report/glob.h"
#include "report/model/find_values.h"

namespace heapattach::analyze {

namespace {

using snapshot::ObjectIndex;
using snapshot::Snapshot;
using Kind = FindValue::Kind;

constexpr std::string_view kNoValues =
    "the snapshot was taken without values; take it again with --values";

enum class Truth : std::uint8_t { No, Unknown, Yes };

// The value at the end of a path.
struct Seen {
  enum class What : std::uint8_t { Nothing, Unread, Nil, Object, Text, Plain };
  What what = What::Nothing;  // Nothing: the object has no such field; Unread: perhaps with a value
  ObjectIndex object = 0;
  std::string_view text;
  bool is_cut = false;
  bool is_string = false;  // a String of Ruby, not a Symbol
};

// A path without the signs that languages set before names: "@user.@name" is "user.name".
std::string plain_path(std::string_view path) {
  std::string plain;
  for (const char letter : path) {
    if (letter != '@') plain += letter;
  }
  return plain;
}

// The rest of a path after a field: "[3].name" of "items[3].name" after "items". Nothing if the
// path does not begin with the field.
std::optional<std::string_view> rest_of(std::string_view path, std::string_view field) {
  if (field.empty() || !path.starts_with(field)) return std::nullopt;
  std::string_view rest = path.substr(field.size());
  if (rest.empty() || rest.front() == '[') return rest;
  if (rest.front() != '.') return std::nullopt;
  return rest.substr(1);
}

// A number without an exponent, of any length: integers of 64 bits do not fit in a double, and a
// decimal may have 96 bits.
struct Digits {
  bool is_negative = false;
  std::string_view whole;     // without zeros in front
  std::string_view fraction;  // without zeros at the end

  static std::optional<Digits> of(std::string_view text) {
    Digits digits;
    digits.is_negative = text.starts_with('-');
    if (digits.is_negative) text.remove_prefix(1);
    const bool is_plain = text.find_first_not_of("0123456789.") == std::string_view::npos;
    const std::size_t point = std::min(text.find('.'), text.size());
    if (!is_plain || point == 0 || text.find('.', point + 1) < text.size()) return std::nullopt;
    digits.whole = text.substr(0, point);
    digits.whole.remove_prefix(std::min(digits.whole.find_first_not_of('0'), point));
    if (point < text.size()) digits.fraction = text.substr(point + 1);
    const std::size_t last = digits.fraction.find_last_not_of('0');
    digits.fraction = digits.fraction.substr(0, last + 1);  // npos + 1 is 0
    if (digits.whole.empty() && digits.fraction.empty()) digits.is_negative = false;
    return digits;
  }

  [[nodiscard]] std::strong_ordering compare(const Digits& other) const {
    if (is_negative != other.is_negative) {
      return is_negative ? std::strong_ordering::less : std::strong_ordering::greater;
    }
    auto size = whole.size() <=> other.whole.size();
    if (size == 0) size = whole <=> other.whole;
    if (size == 0) size = fraction <=> other.fraction;
    return is_negative ? 0 <=> size : size;
  }
};

std::optional<std::partial_ordering> order(std::string_view a, std::string_view b) {
  const auto left = Digits::of(a);
  const auto right = Digits::of(b);
  if (left && right) return left->compare(*right);
  const auto whole = [](std::string_view text, auto& number) {
    const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failure == std::errc{} && rest == text.data() + text.size();
  };
  double x = 0;
  double y = 0;
  if (whole(a, x) && whole(b, y)) return x <=> y;
  return std::nullopt;
}

Truth truth(bool is_true) {
  return is_true ? Truth::Yes : Truth::No;
}

// Compares a text. If it was cut, only its beginning is known.
Truth compare_text(const FindCondition& condition, const Seen& seen) {
  const std::string& wanted = condition.value.text;
  if (condition.op == FindOperator::Matches) {
    const bool is_match = matches_glob(wanted, std::string(seen.text));
    if (!seen.is_cut) return truth(is_match);
    return is_match && wanted.ends_with('*') ? Truth::Yes : Truth::Unknown;
  }
  const bool is_equal_op = condition.op == FindOperator::Equal;
  if (condition.value.is_symbol && seen.is_string) return truth(!is_equal_op);
  if (seen.is_cut && wanted.size() > seen.text.size() && wanted.starts_with(seen.text)) {
    return Truth::Unknown;
  }
  return truth((!seen.is_cut && seen.text == wanted) == is_equal_op);
}

Truth compare_plain(const FindCondition& condition, const Seen& seen) {
  const auto found = order(seen.text, condition.value.text);
  const bool is_same = found ? *found == 0 : seen.text == condition.value.text;
  switch (condition.op) {
    case FindOperator::Equal: return truth(is_same);
    case FindOperator::NotEqual: return truth(!is_same);
    case FindOperator::Less: return truth(found && *found < 0);
    case FindOperator::LessEqual: return truth(found && *found <= 0);
    case FindOperator::Greater: return truth(found && *found > 0);
    case FindOperator::GreaterEqual: return truth(found && *found >= 0);
    default: return Truth::No;
  }
}

// Only texts are compared with texts, and numbers with numbers.
bool is_comparable(const Seen& seen, Kind wanted) {
  return (seen.what == Seen::What::Text && wanted == Kind::Text) ||
         (seen.what == Seen::What::Plain && wanted == Kind::Plain);
}

Truth compare(const FindCondition& condition, const Seen& seen) {
  if (seen.what == Seen::What::Nothing) return Truth::No;
  if (seen.what == Seen::What::Unread) return Truth::Unknown;
  const bool is_nil = seen.what == Seen::What::Nil;
  const bool is_unequal = condition.op == FindOperator::NotEqual;
  if (condition.op == FindOperator::Exists) return truth(!is_nil);
  if (condition.value.kind == Kind::Nil) return truth(is_nil != is_unequal);
  if (!is_comparable(seen, condition.value.kind)) return truth(is_unequal);
  return seen.what == Seen::What::Text ? compare_text(condition, seen)
                                       : compare_plain(condition, seen);
}

// Whether the snapshot has values. Ruby's classes have their names as texts in any case, so these
// do not count.
bool has_values(const Snapshot& snapshot) {
  if (snapshot.header.runtime != "ruby") return !snapshot.values.empty();
  const auto has_one = [&](const snapshot::ValuePiece& piece, ObjectIndex object) {
    const auto values = piece.of(object);
    if (values.empty()) return false;
    const std::string& type = snapshot.types[snapshot.objects[object].type].name;
    return type == "String" || type == "Symbol" || values.back().path != snapshot::Value::kOwn;
  };
  return snapshot::any_with_values(snapshot, has_one);
}

class Matcher {
 public:
  Matcher(const Snapshot& snapshot, const FindExpression& expression, bool were_read)
      : snapshot_(snapshot),
        expression_(expression),
        lacks_plain_(snapshot.header.runtime == "ruby" && !were_read),
        names_(snapshot) {
    for (const auto& all : expression.any_of) {
      for (const FindCondition& one : all) {
        plain_.push_back(plain_path(one.path));
        if (std::find(matches_.paths.begin(), matches_.paths.end(), one.path) ==
            matches_.paths.end()) {
          matches_.paths.push_back(one.path);
        }
      }
    }
    was_seen_.resize(plain_.size());
    was_comparable_.resize(plain_.size());
    holds_.resize(plain_.size());
  }

  Result<FindMatches> run(const std::vector<ObjectIndex>& objects) && {
    matches_.objects = objects.size();
    matches_.type = common_name(objects);
    for (const ObjectIndex object : objects) {
      unread_.reset();
      const Truth found = judge(object);
      if (found == Truth::Unknown && unread_) return unread_error(object, *unread_);
      if (found == Truth::Unknown) ++matches_.undecided;
      if (found == Truth::Yes) matches_.found.push_back({object, values_of(object)});
    }
    HA_TRY(check_fields(objects));
    return std::move(matches_);
  }

 private:
  [[nodiscard]] std::string common_name(const std::vector<ObjectIndex>& objects) const {
    const std::string& first = type_of(objects.front()).name;
    const bool is_one = std::all_of(objects.begin(), objects.end(), [&](ObjectIndex object) {
      return type_of(object).name == first;
    });
    return is_one ? first : expression_.type;
  }

  [[nodiscard]] const snapshot::Type& type_of(ObjectIndex object) const {
    return snapshot_.types[snapshot_.objects[object].type];
  }

  Truth judge(ObjectIndex object) {
    Truth any = expression_.any_of.empty() ? Truth::Yes : Truth::No;
    std::size_t number = 0;
    for (const auto& conditions : expression_.any_of) {
      Truth all = Truth::Yes;
      for (const FindCondition& condition : conditions) {
        all = std::min(all, test(object, condition, number++));
      }
      any = std::max(any, all);
    }
    return any;
  }

  [[nodiscard]] Error unread_error(ObjectIndex object, const FindCondition& condition) const {
    if (lacks_plain_) {
      return find_error(expression_.text, condition.column,
                        fmt::format("{} may be a field of {} with a number or a Symbol; {}",
                                    condition.path, type_of(object).name, kNoValues));
    }
    return find_error(expression_.text, condition.column,
                      fmt::format("{} of {} cannot be compared: its values are not known",
                                  condition.path, type_of(object).name));
  }

  // Notes whether a field ever holds a value of the kind that it is compared with. A nil shows
  // nothing about that.
  void note_kind(const FindCondition& condition, const Seen& seen, std::size_t number) {
    if (seen.what < Seen::What::Object) return;
    if (condition.op == FindOperator::Exists || condition.value.kind == Kind::Nil) {
      was_comparable_[number] = true;
      return;
    }
    switch (seen.what) {
      case Seen::What::Text: holds_[number] = "texts"; break;
      case Seen::What::Plain: holds_[number] = "numbers"; break;
      default: holds_[number] = "other objects"; break;
    }
    if (is_comparable(seen, condition.value.kind)) was_comparable_[number] = true;
  }

  // Tests one condition. A path with [*] leads to several values, one of which is enough.
  Truth test(ObjectIndex object, const FindCondition& condition, std::size_t number) {
    Truth any = Truth::No;
    bool was_seen = false;
    follow(object, plain_[number], [&](const Seen& seen) {
      was_seen = was_seen || seen.what != Seen::What::Nothing;
      if (seen.what == Seen::What::Unread) unread_ = condition;
      note_kind(condition, seen, number);
      any = std::max(any, compare(condition, seen));
    });
    if (was_seen) was_seen_[number] = true;
    return any;
  }

  // Calls `see` with each value that the path leads to. Every step consumes a part of the path, so
  // this ends even if objects are in a cycle.
  template <class See>
  void follow(ObjectIndex object, std::string_view path, const See& see) {
    bool is_there = see_values(object, path, see);
    for (const snapshot::Edge& edge : snapshot_.edges_of(object)) {
      const std::string field = plain_path(names_.name(object, edge.offset_words));
      auto rest = rest_of(path, field);
      if (!rest) {
        rest = rest_of(path, plain_path(names_.kind_name(names_.kind(object, edge.offset_words))));
      }
      if (!rest) continue;
      is_there = true;
      if (rest->empty()) {
        see_object(edge.to, see);
      } else {
        follow(edge.to, *rest, see);
      }
    }
    if (is_there) return;
    const snapshot::Type& type = type_of(object);
    if (lacks_plain_ || is_unread(type, path)) {
      see(Seen{Seen::What::Unread, object, {}, false, false});
    } else if (declares(type, path)) {
      see(Seen{Seen::What::Nil, object, {}, false, false});
    }
  }

  // Sees values that are in the object itself.
  template <class See>
  bool see_values(ObjectIndex object, std::string_view path, const See& see) const {
    const snapshot::ValuePiece* const piece = snapshot::piece_of(snapshot_, object);
    if (piece == nullptr) return false;
    const snapshot::Type& type = type_of(object);
    bool is_there = false;
    for (const snapshot::Value& value : piece->of(object)) {
      const bool is_it = value.path == snapshot::Value::kOwn
                             ? is_only_field(type, path)
                             : plain_path(type.value_paths[value.path]) == path;
      if (!is_it) continue;
      is_there = true;
      see(seen_of(object, *piece, value));
    }
    return is_there;
  }

  // Whether the path names the type's only field, whose value is stored as the object's own. A file
  // does not have the paths of such values.
  [[nodiscard]] bool is_only_field(const snapshot::Type& type, std::string_view path) const {
    if (snapshot_.header.runtime == "ruby") return false;
    if (!type.value_paths.empty()) return plain_path(type.value_paths.front()) == path;
    return type.fields.size() == 1 && plain_path(type.fields.front().name) == path;
  }

  [[nodiscard]] Seen seen_of(ObjectIndex object,
                             const snapshot::ValuePiece& piece,
                             const snapshot::Value& value) const {
    const bool is_own = value.path == snapshot::Value::kOwn;
    return {value.is_text ? Seen::What::Text : Seen::What::Plain, object, piece.text_of(value),
            value.is_cut,
            is_own && snapshot_.header.runtime == "ruby" && type_of(object).name != "Symbol"};
  }

  // Sees an object that a field references: its text if it is a string, otherwise the object
  // itself.
  template <class See>
  void see_object(ObjectIndex object, const See& see) const {
    if (const auto* const piece = snapshot::piece_of(snapshot_, object)) {
      for (const snapshot::Value& value : piece->of(object)) {
        if (value.path == snapshot::Value::kOwn) return see(seen_of(object, *piece, value));
      }
    }
    see(Seen{Seen::What::Object, object, {}, false, false});
  }

  // Whether the path begins with a field whose value may not have been read.
  static bool is_unread(const snapshot::Type& type, std::string_view path) {
    return std::any_of(type.fields.begin(), type.fields.end(), [&](const auto& field) {
      return field.is_unread && rest_of(path, plain_path(field.name)).has_value();
    });
  }

  // Whether the type has the field that the path begins with. An object without a value there has
  // nil.
  static bool declares(const snapshot::Type& type, std::string_view path) {
    const std::string_view first = path.substr(0, path.find_first_of(".["));
    const auto is_it = [&](const auto& field) {
      const std::string name = plain_path(field.name);
      return name == first || name == path;
    };
    return std::any_of(type.fields.begin(), type.fields.end(), is_it) ||
           std::any_of(type.paths.begin(), type.paths.end(),
                       [&](const auto& known) { return plain_path(known.text) == path; }) ||
           std::any_of(type.value_paths.begin(), type.value_paths.end(),
                       [&](const auto& known) { return plain_path(known) == path; });
  }

  std::vector<std::string> values_of(ObjectIndex object) {
    std::vector<std::string> values;
    for (const std::string& path : matches_.paths) {
      std::string text;
      follow(object, plain_path(path), [&](const Seen& seen) {
        if (seen.what == Seen::What::Nothing || !text.empty()) return;
        text = text_of(seen);
      });
      values.push_back(std::move(text));
    }
    return values;
  }

  [[nodiscard]] std::string text_of(const Seen& seen) const {
    switch (seen.what) {
      case Seen::What::Text: return fmt::format("\"{}{}\"", seen.text, seen.is_cut ? "…" : "");
      case Seen::What::Plain: return std::string(seen.text);
      case Seen::What::Object:
        return fmt::format("{:#x}", std::uint64_t{snapshot_.objects[seen.object].address});
      case Seen::What::Unread: return "?";
      default: return "nil";
    }
  }

  // Fails if no object has a field, or if a value is of another kind than the field's: these are
  // typos, and must not look like "none found".
  Result<void> check_fields(const std::vector<ObjectIndex>& objects) const {
    std::size_t number = 0;
    for (const auto& conditions : expression_.any_of) {
      for (const FindCondition& condition : conditions) {
        const std::size_t at = number++;
        if (!was_seen_[at]) {
          return find_error(expression_.text, condition.column,
                            fmt::format("no {} has a field {}; {}", matches_.type, condition.path,
                                        fields_text(type_of(objects.front()))));
        }
        if (was_comparable_[at] || holds_[at].empty()) continue;
        return find_error(
            expression_.text, condition.column,
            fmt::format("{} holds {}, but is compared with {}", condition.path, holds_[at],
                        condition.value.kind == Kind::Text ? "a text" : "a number"));
      }
    }
    return {};
  }

  static std::string fields_text(const snapshot::Type& type) {
    std::set<std::string> names;
    for (const auto& field : type.fields) names.insert(field.name);
    for (const auto& path : type.paths) names.insert(path.text);
    for (const auto& path : type.value_paths) names.insert(path);
    for (const auto& key : type.keys) {
      if (key.unit == 0) names.insert(key.before);
    }
    names.erase("");
    // Numbered fields are shown only if there are no others, because they say little.
    if (names.empty()) {
      for (const auto& key : type.keys) names.insert(key.before + "…");
    }
    if (names.empty()) return "its fields are unknown";
    std::string text = "it has ";
    for (const std::string& name : names) text += (name == *names.begin() ? "" : ", ") + name;
    return text;
  }

  const Snapshot& snapshot_;
  const FindExpression& expression_;
  bool lacks_plain_;  // objects may have fields with numbers that are not in the snapshot
  EdgeNames names_;
  std::vector<std::string> plain_;  // by condition: its path
  std::vector<bool> was_seen_;      // by condition: some object has the field
  // By condition: some object's field has a value of the kind that it is compared with.
  std::vector<bool> was_comparable_;
  std::vector<std::string_view> holds_;  // by condition: the last other kind of values, "texts"
  std::optional<FindCondition>
      unread_;  // the last condition that met an unread value in the object
  FindMatches matches_;
};

}  // namespace

Result<FindMatches> find_matches(const Snapshot& snapshot, const FindExpression& expression) {
  const bool were_read = has_values(snapshot);
  if (expression.needs_values() && !were_read) {
    return Error{ErrorKind::Malformed, fmt::format("--find compares values, but {}", kNoValues)};
  }
  const auto objects = HA_TRY(find_objects(snapshot, expression.type));
  return Matcher(snapshot, expression, were_read).run(objects);
}

}  // namespace heapattach::analyze
