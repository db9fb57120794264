#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/nim/type_records.h"
#include "symbols/types/type_model.h"

// Variant objects of Nim, whose declaration has a `case`: a field of theirs, the discriminator,
// says which others an object has. Their memory is a union in C, where nothing says which member is
// valid; the program's own type information does.
namespace heapattach::nim {

// The name of a variant object's type in the model if this is the name of one of its branches: the
// type of the objects whose discriminator chooses that branch. Otherwise empty.
[[nodiscard]] std::string_view type_of_branch(std::string_view name);

// Gives a type of the model a choice for each `case` of its record. `whole` already has the members
// of all instances. `member_of` describes a field of a branch; nothing if its type is unknown.
// Types with too many combinations of branches have no choice.
using MemberOf = std::function<std::optional<types::Member>(const FieldRecord& field)>;
void add_choices(types::TypeModel& model,
                 types::TypeRef whole,
                 const TypeRecord& record,
                 const MemberOf& member_of);

// Whether a model from debug information has variant objects.
[[nodiscard]] bool has_variants(const types::TypeModel& model);

// Replaces the unions in such a model by choices, and gives discriminators the names of their
// values. Without its record, a variant object keeps only the fields that share no memory with
// those of other branches. The model must then pass make_sound() again.
void describe_variants(types::TypeModel& model, const std::vector<TypeRecord>& records);

// Makes an enumeration of a record's values.
[[nodiscard]] types::TypeRef describe_values(types::TypeModel& model,
                                             const std::string& name,
                                             const TypeRecord& record);

}  // namespace heapattach::nim
