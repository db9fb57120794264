#include "symbols/nim/variants.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "symbols/nim/type_information.h"
#include "symbols/nim/types.h"
#include "tests/support/type_model_builder.h"

namespace heapattach {

namespace {

using nim::TypeRecord;
using types::Choice;

const std::string kVariant = "struct tyObject_VariantcolonObjectType___jeXwqUh0K36ctKn1A4mqLA";

enum Place : std::uint64_t {
  kNumberAt = 0x2000,
  kTextAt = 0x3000,
  kKindAt = 0x4000,
  kBoolAt = 0x5000,
  kVariantAt = 0x6000,
};

constexpr std::uint64_t kMost = ~std::uint64_t{0};

// What the program says about this type:
//
//     case kind: Kind
//     of kNumber, kOther: number: int
//     of kText:
//       text: string
//       case isLong: bool
//       of true: rest: string
//       of false: size: int
//     else: discard
std::vector<TypeRecord> records() {
  const std::string values = "NTIkind__IRloPYM4OapLFKrBqUiyGQ_";
  const std::string variant = "NTIvariant58objecttype__jeXwqUh0K36ctKn1A4mqLA_";
  return {
      {kNumberAt, 8, 8, nim::kIntType, 0, "", {}, {}},
      {kTextAt, 8, 8, nim::kStringType, 0, "", {}, {}},
      {kKindAt, 1, 1, nim::kEnumType, 0, values, {{"kNumber", 0}, {"kText", 1}, {"kOther", 2}}, {}},
      {kBoolAt, 1, 1, nim::kBoolType, 0, "", {}, {}},
      {kVariantAt,
       32,
       8,
       nim::kTupleType,
       0,
       variant,
       {{"kind", 0, kKindAt, 0},
        {"number", 8, kNumberAt, 1},
        {"text", 8, kTextAt, 2},
        {"isLong", 16, kBoolAt, 2},
        {"rest", 24, kTextAt, 3},
        {"size", 24, kNumberAt, 4}},
       {{0, {{1, {{0, 0}, {2, 2}}}, {2, {{1, 1}}}, {5, {{3, kMost}}}}},
        {3, {{4, {{0, 0}}}, {3, {{1, 1}}}}}}}};
}

// The same type as debug information of C describes it.
struct Debugged : ModelBuilder {
  Debugged() {
    const auto byte = number("unsigned char", 1);
    const auto truth = number("_Bool", 1);
    const auto integer = number("long", 8);
    const auto text = pointer(structure("struct NimStringDesc", 16));
    const auto rest = any_of("(union at shop.c:4)", 8, {{"rest", 0, text}, {"size", 0, integer}});
    const auto branch = structure("(struct at shop.c:5)", 24,
                                  {{"text", 0, text}, {"isLong", 8, truth}, {"", 16, rest}});
    const auto either =
        any_of("(union at shop.c:3)", 24, {{"number", 0, integer}, {"_kind_2", 0, branch}});
    variant = structure(kVariant, 32, {{"kind", 0, byte}, {"", 8, either}});
  }
  types::TypeRef variant = 0;
};

std::string names_of(const types::Type& type) {
  std::string names;
  for (const types::Member& member : type.members) names += member.name + " ";
  return names;
}

// The type of instances with this number.
types::TypeRef chosen(const types::TypeModel& model, types::TypeRef of, std::uint64_t number) {
  REQUIRE(model[of].choice);
  for (const Choice::Branch& branch : model[of].choice->branches) {
    for (const Choice::Range& range : branch.numbers) {
      if (range.first <= number && number <= range.last) return branch.type;
    }
  }
  return types::kNoType;
}

void check_choices(const types::TypeModel& model, types::TypeRef variant) {
  CHECK(names_of(model[variant]) == "kind ");
  CHECK(model[variant].choice->offset == 0);
  CHECK(model[variant].choice->bytes == 1);
  CHECK(names_of(model[chosen(model, variant, 0)]) == "kind number ");
  CHECK(chosen(model, variant, 2) == chosen(model, variant, 0));
  CHECK(names_of(model[chosen(model, variant, 77)]) == "kind ");
  const types::TypeRef text = chosen(model, variant, 1);
  CHECK(names_of(model[text]) == "kind text isLong ");
  CHECK(model[text].choice->offset == 16);
  CHECK(names_of(model[chosen(model, text, 0)]) == "kind text isLong size ");
  CHECK(names_of(model[chosen(model, text, 1)]) == "kind text isLong rest ");
  CHECK(model[text].members[1].offset == 8);
  CHECK(model[chosen(model, text, 1)].members[3].offset == 24);
  const types::Type& kind = model[model[variant].members.front().type];
  REQUIRE(kind.enumerators.size() == 3);
  CHECK(kind.enumerators[1].name == "kText");
  const nim::ShownNames names = nim::shown_names(model);
  CHECK(names.at(text) == names.at(variant));
  CHECK(names.at(chosen(model, text, 1)) == names.at(variant));
}

}  // namespace

TEST_CASE("the discriminator of a variant object chooses its branch, also with debug information") {
  Debugged nim;
  CHECK(nim::has_variants(nim.model));
  nim::describe_variants(nim.model, records());
  CHECK_FALSE(nim::has_variants(nim.model));
  check_choices(nim.model, nim.variant);
  CHECK(nim::shown_names(nim.model).at(nim.variant) == "Variant");
}

TEST_CASE("the discriminator of a variant object chooses its branch without debug information") {
  const auto model = nim::describe_records(records(), Modules{{}});
  check_choices(model, model.find("struct tyObject_variant__jeXwqUh0K36ctKn1A4mqLA"));
}

TEST_CASE("without its record, a variant object has no fields whose memory branches share") {
  Debugged nim;
  SUBCASE("there are no records") {
    nim::describe_variants(nim.model, {});
  }
  SUBCASE("the record is that of another type") {
    auto others = records();
    others.back().bytes = 40;
    nim::describe_variants(nim.model, others);
  }
  CHECK_FALSE(nim.model[nim.variant].choice);
  CHECK(names_of(nim.model[nim.variant]) == "kind isLong ");
}

TEST_CASE("a field that has the name of a word of C is recognised") {
  Debugged nim;
  const auto either = nim.model.find("(union at shop.c:3)");
  nim.model[either].members.front().name = "number_0";
  nim::describe_variants(nim.model, records());
  check_choices(nim.model, nim.variant);
}

TEST_CASE("a type with too many combinations of branches has no choice") {
  auto all = records();
  TypeRecord& variant = all.back();
  variant.fields.clear();
  variant.cases.clear();
  std::uint32_t branch = 0;
  for (std::uint64_t i = 0; i < 10; ++i) {
    variant.fields.push_back({"is", i, kBoolAt, 0});
    variant.cases.push_back({i, {{++branch, {{0, 0}}}, {++branch, {{1, 1}}}}});
  }
  const auto model = nim::describe_records(all, Modules{{}});
  const auto& type = model[model.find("struct tyObject_variant__jeXwqUh0K36ctKn1A4mqLA")];
  CHECK_FALSE(type.choice);
  CHECK(type.members.size() == 10);
}

}  // namespace heapattach
