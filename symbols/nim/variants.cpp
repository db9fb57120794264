#include "symbols/nim/variants.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "attach/base/word.h"
#include "symbols/nim/types.h"

namespace heapattach::nim {

namespace {

using types::Choice;
using types::kNoType;
using types::Member;
using types::Shape;
using types::Type;
using types::TypeModel;
using types::TypeRef;

constexpr std::string_view kBranch = "branch ";
constexpr std::string_view kOf = " of ";

// Adds the choices of one type.
class Choices {
 public:
  Choices(TypeModel& model, const TypeRecord& record, const MemberOf& member_of)
      : model_(model), record_(record), member_of_(member_of) {}

  // Returns whether there are few enough of them.
  bool add(TypeRef whole) {
    name_ = model_[whole].name;
    return decide(whole, cases_in(0));
  }

 private:
  using Cases = std::vector<const CaseRecord*>;

  [[nodiscard]] Cases cases_in(std::uint32_t branch) const {
    Cases found;
    for (const CaseRecord& one : record_.cases) {
      if (record_.fields[one.discriminator].branch == branch) found.push_back(&one);
    }
    return found;
  }

  // Adds the choice that the first of the cases makes. The others remain for each of its branches.
  bool decide(TypeRef type, const Cases& cases) {
    if (cases.empty()) return true;
    const CaseRecord& first = *cases.front();
    const FieldRecord& discriminator = record_.fields[first.discriminator];
    const auto member = member_of_(discriminator);
    const bool is_known = member && member->type < model_.types().size();
    const std::uint64_t bytes = is_known ? model_[member->type].bytes.value_or(0) : 0;
    if (bytes == 0 || bytes > kWordBytes) return true;
    Choice choice{discriminator.offset, bytes, {}};
    for (const CaseRecord::Branch& branch : first.branches) {
      const auto refined = refine(type, branch.branch);
      if (!refined) return false;
      Cases left(cases.begin() + 1, cases.end());
      for (const CaseRecord* const inner : cases_in(branch.branch)) left.push_back(inner);
      if (!decide(*refined, left)) return false;
      choice.branches.push_back({branch.values, *refined});
    }
    model_[type].choice = std::move(choice);
    return true;
  }

  // The type of the instances of `type` that have the fields of this branch, too.
  std::optional<TypeRef> refine(TypeRef type, std::uint32_t branch) {
    constexpr int kMost = 256;
    if (++count_ > kMost) return std::nullopt;
    const TypeRef refined = model_.intern(fmt::format("{}{}{}{}", kBranch, count_, kOf, name_));
    Type copy = model_[type];
    copy.name = model_[refined].name;
    for (const FieldRecord& field : record_.fields) {
      if (field.branch != branch) continue;
      if (auto member = member_of_(field)) copy.members.push_back(std::move(*member));
    }
    model_[refined] = std::move(copy);
    return refined;
  }

  TypeModel& model_;
  const TypeRecord& record_;
  const MemberOf& member_of_;
  std::string name_;
  int count_ = 0;
};

// A field in the union of a variant object.
struct Field {
  std::string name;  // in C
  std::uint64_t offset = 0;
  TypeRef type = kNoType;
};

bool is_union(const TypeModel& model, const Member& member) {
  return member.name.empty() && !member.is_base && member.type < model.types().size() &&
         model[member.type].shape == Shape::Union;
}

bool is_variant(const TypeModel& model, const Type& type) {
  return type.shape == Shape::Struct && object_name(type.name) &&
         std::any_of(type.members.begin(), type.members.end(),
                     [&](const Member& member) { return is_union(model, member); });
}

// Whether this is the compiler's structure around a branch with several fields: "_kind_1".
bool is_branch(const TypeModel& model, const Member& member) {
  return member.name.starts_with('_') && member.type < model.types().size() &&
         model[member.type].shape == Shape::Struct && model[member.type].name.starts_with('(');
}

class Unions {
 public:
  Unions(TypeModel& model, const std::vector<TypeRecord>& records) : model_(model) {
    for (const TypeRecord& record : records) {
      by_at_.emplace(record.at, &record);
      if (const auto name = info_name(record.symbol)) by_hash_.emplace(name->hash, &record);
    }
  }

  void run() {
    std::vector<TypeRef> found;
    for (TypeRef ref = 0; ref < model_.types().size(); ++ref) {
      if (is_variant(model_, model_[ref])) found.push_back(ref);
    }
    for (const TypeRef ref : found) describe(ref);
  }

 private:
  void describe(TypeRef ref) {
    const std::vector<Field> fields = take_unions(ref);
    const auto record = by_hash_.find(object_name(model_[ref].name)->hash);
    if (record != by_hash_.end() && record->second->bytes == model_[ref].bytes) {
      name_values(ref, *record->second);
      add_choices(model_, ref, *record->second,
                  [&](const FieldRecord& field) { return field_of(ref, field, fields); });
    }
    if (!model_[ref].choice) keep_uncontested(ref, fields);
  }

  // Removes the unions, and returns what is in them.
  std::vector<Field> take_unions(TypeRef ref) {
    std::vector<Field> fields;
    std::vector<Member>& members = model_[ref].members;
    for (const Member& member : members) {
      if (is_union(model_, member)) collect(member, member.offset, 0, fields);
    }
    std::erase_if(members, [&](const Member& member) { return is_union(model_, member); });
    return fields;
  }

  void collect(const Member& around,
               std::uint64_t at,
               int depth,
               std::vector<Field>& fields) const {
    constexpr int kDeepest = 16;
    if (depth > kDeepest) return;
    for (const Member& member : model_[around.type].members) {
      const std::uint64_t offset = at + member.offset;
      if (is_union(model_, member) || is_branch(model_, member)) {
        collect(member, offset, depth + 1, fields);
      } else {
        fields.push_back({member.name, offset, member.type});
      }
    }
  }

  void keep_uncontested(TypeRef ref, const std::vector<Field>& fields) {
    for (const Field& field : fields) {
      const bool is_contested = std::any_of(fields.begin(), fields.end(), [&](const Field& other) {
        return &other != &field && other.offset < end_of(field) && field.offset < end_of(other);
      });
      if (!is_contested) model_[ref].members.push_back({field.name, field.offset, field.type});
    }
  }

  [[nodiscard]] std::uint64_t end_of(const Field& field) const {
    const std::uint64_t least = 1;
    if (field.type >= model_.types().size()) return field.offset + least;
    const bool is_word = model_[field.type].shape == Shape::Pointer;
    const std::uint64_t bytes = model_[field.type].bytes.value_or(is_word ? kWordBytes : least);
    return field.offset + std::max(bytes, least);
  }

  // The field as debug information describes it, with the name from the record. C has another name
  // for a field that is a word of C.
  std::optional<Member> field_of(TypeRef whole,
                                 const FieldRecord& field,
                                 const std::vector<Field>& fields) {
    std::optional<Member> found;
    for (const Member& member : model_[whole].members) {
      if (member.offset == field.offset && !member.is_base && field.branch == 0) found = member;
    }
    int best = 0;
    for (const Field& one : fields) {
      const int likeness = one.offset == field.offset ? likeness_of(one.name, field.name) : 0;
      if (field.branch == 0 || likeness <= best) continue;
      found = Member{field.name, field.offset, one.type};
      best = likeness;
    }
    const auto values = found ? values_of(field.type) : std::nullopt;
    if (values && is_as_large(*values, found->type)) found->type = *values;
    return found;
  }

  // How likely this is the name of the field in C; 0: it is not.
  static int likeness_of(std::string_view in_c, std::string_view name) {
    if (in_c == name) return 2;
    return in_c.starts_with(name) && in_c.substr(name.size()).starts_with('_') ? 1 : 0;
  }

  // Gives the members that all instances have the names of their values.
  void name_values(TypeRef ref, const TypeRecord& record) {
    for (const FieldRecord& field : record.fields) {
      const auto values = field.branch == 0 ? values_of(field.type) : std::nullopt;
      if (!values) continue;
      for (Member& member : model_[ref].members) {
        if (member.offset == field.offset && is_as_large(*values, member.type)) {
          member.type = *values;
        }
      }
    }
  }

  [[nodiscard]] bool is_as_large(TypeRef values, TypeRef number) const {
    return number < model_.types().size() && model_[number].shape == Shape::Number &&
           model_[number].bytes == model_[values].bytes;
  }

  std::optional<TypeRef> values_of(std::uint64_t type) {
    const auto record = by_at_.find(type);
    const auto name = record != by_at_.end() ? info_name(record->second->symbol) : std::nullopt;
    if (!name || record->second->kind != kEnumType) return std::nullopt;
    return describe_values(model_, enum_name(*name), *record->second);
  }

  TypeModel& model_;
  std::unordered_map<std::uint64_t, const TypeRecord*> by_at_;
  std::unordered_map<std::string, const TypeRecord*> by_hash_;
};

}  // namespace

std::string_view type_of_branch(std::string_view name) {
  const std::size_t of = name.find(kOf);
  if (!name.starts_with(kBranch) || of == std::string_view::npos) return {};
  return name.substr(of + kOf.size());
}

void add_choices(TypeModel& model,
                 TypeRef whole,
                 const TypeRecord& record,
                 const MemberOf& member_of) {
  if (!Choices(model, record, member_of).add(whole)) model[whole].choice.reset();
}

bool has_variants(const TypeModel& model) {
  return std::any_of(model.types().begin(), model.types().end(),
                     [&](const Type& type) { return is_variant(model, type); });
}

void describe_variants(TypeModel& model, const std::vector<TypeRecord>& records) {
  Unions(model, records).run();
}

TypeRef describe_values(TypeModel& model, const std::string& name, const TypeRecord& record) {
  const TypeRef ref = model.intern(name);
  model[ref].shape = Shape::Enumeration;
  model[ref].bytes = record.bytes;
  model[ref].encoding = types::Encoding::Unsigned;
  model[ref].enumerators.clear();
  for (const FieldRecord& value : record.fields) {
    model[ref].enumerators.push_back({value.name, static_cast<std::int64_t>(value.offset)});
  }
  return ref;
}

}  // namespace heapattach::nim
