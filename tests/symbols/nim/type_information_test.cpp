#include "symbols/nim/type_information.h"

#include <string>

#include <doctest/doctest.h>

namespace heapattach {

namespace {

using nim::FieldRecord;
using nim::TypeRecord;

// The addresses of a program's type records.
enum Place : std::uint64_t {
  kRoot = 0x1000,
  kNumber = 0x2000,
  kText = 0x3000,
  kSession = 0x4000,
  kSessionRef = 0x5000,
  kSessions = 0x6000,
  kAdmin = 0x7000,
  kPair = 0x8000,
  kPairs = 0x9000,
  kClosure = 0xa000,
  kVariant = 0xb000,
};

std::string symbol(const std::string& name, bool has_symbols) {
  return has_symbols ? "NTI" + name + "__3C432l8dtj72vGq21apgmA_" : "";
}

std::vector<TypeRecord> records(bool has_symbols) {
  const auto field = [](std::string name, std::uint64_t offset, std::uint64_t type) {
    return FieldRecord{std::move(name), offset, type, 0};
  };
  return {{kRoot, 8, 8, nim::kObjectType, 0, "", {}, {}},
          {kNumber, 8, 8, nim::kIntType, 0, "", {}, {}},
          {kText, 8, 8, nim::kStringType, 0, "", {}, {}},
          {kSession,
           32,
           8,
           nim::kObjectType,
           kRoot,
           symbol("session58objecttype", has_symbols),
           {field("name", 8, kText), field("visits", 16, kNumber), field("next", 24, kSessionRef)},
           {}},
          {kSessionRef, 8, 8, nim::kRefType, kSession, "", {}, {}},
          {kSessions, 8, 8, nim::kSequenceType, kSessionRef, "", {}, {}},
          {kAdmin,
           40,
           8,
           nim::kObjectType,
           kSession,
           symbol("object", has_symbols),
           {field("level", 32, kNumber)},
           {}},
          {kPair,
           16,
           8,
           nim::kTupleType,
           0,
           "",
           {field("Field0", 0, kNumber), field("Field1", 8, kSessions)},
           {}},
          {kPairs, 8, 8, nim::kSequenceType, kPair, "", {}, {}},
          {kClosure,
           24,
           8,
           nim::kObjectType,
           kRoot,
           "",
           {field(":state", 8, kNumber), field("price1", 16, kNumber)},
           {}},
          {kVariant,
           24,
           8,
           nim::kTupleType,
           0,
           "",
           {field("kind", 0, kNumber),
            {"text", 8, kText, 1},
            {"number", 8, kNumber, 2},
            {"same", 16, kText, 1},
            {"like", 16, kText, 2}},
           {}}};
}

struct Described {
  explicit Described(bool has_symbols)
      : model(nim::describe_records(records(has_symbols), modules)),
        names(nim::shown_names(model)) {}

  [[nodiscard]] bool has(const std::string& name) const {
    return std::any_of(names.begin(), names.end(),
                       [&](const auto& one) { return one.second == name; });
  }
  [[nodiscard]] const types::Type& named(const std::string& name) const {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& one) { return one.second == name; });
    REQUIRE(found != names.end());
    return model[found->first];
  }

  Modules modules{{}};
  types::TypeModel model;
  nim::ShownNames names;
};

}  // namespace

TEST_CASE("Nim's own records describe types as debug information does") {
  const Described nim(true);
  const types::Type& session = nim.named("session");
  CHECK(session.bytes == 32);
  REQUIRE(session.members.size() == 4);
  CHECK(session.members[0].is_base);
  CHECK(session.members[1].name == "name");
  const types::Type& text = nim.model[session.members[1].type];
  CHECK(nim.model[text.target].name == nim::kString);
  CHECK(nim.model[session.members[3].type].target == nim.model.find(session.name));
  CHECK(session.known_from == std::vector<std::string>{"runtime-type-info"});
  CHECK(nim.has("seq[session]"));
  CHECK(nim.has("string"));
  CHECK(nim.has("tuple[int, seq[session]]"));
  CHECK(nim.has("seq[tuple[int, seq[session]]]"));
}

TEST_CASE("a type without a name is named by its fields") {
  const Described with_symbols(true);
  CHECK(with_symbols.has("(object with level, name, visits, next)"));
  const Described nim(false);
  CHECK(nim.has("(object with name, visits, next)"));
  CHECK(nim.has("(object with level, name, visits, next)"));
  CHECK(nim.has("(closure with price1)"));
  CHECK(nim.has("(object with kind, text, number, same …)"));
  CHECK(nim.has("seq[(object with name, visits, next)]"));
}

TEST_CASE("two types with the same fields are told apart by their records") {
  auto twice = records(false);
  TypeRecord other = twice[3];
  other.at = 0xc000;
  twice.push_back(other);
  const auto names = nim::shown_names(nim::describe_records(twice, Modules{{}}));
  int found = 0;
  for (const auto& [ref, name] : names) {
    if (name == "(object with name, visits, next)") ++found;
    if (name == "(object with name, visits, next; 0xc000)") ++found;
  }
  CHECK(found == 2);
}

TEST_CASE("what different branches of a variant object have in one place has no type") {
  const Described nim(false);
  const types::Type& variant = nim.named("(object with kind, text, number, same …)");
  std::vector<std::string> members;
  for (const types::Member& member : variant.members) members.push_back(member.name);
  CHECK(members == std::vector<std::string>{"kind", "same", "like"});
}

TEST_CASE("a program without records has no types") {
  CHECK(nim::describe_records({}, Modules{{}}).empty());
}

}  // namespace heapattach
