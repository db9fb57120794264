#include "symbols/cxx/virtual_bases.h"

#include <cstring>

#include <doctest/doctest.h>

#include "symbols/types/model_checks.h"
#include "tests/support/type_model_builder.h"

namespace heapattach::types {

namespace {

constexpr RemoteAddr kTypeInfo{0x5000};

// struct Part {…}; struct Left : virtual Part {…}; struct Right : virtual Part {…};
// struct Whole : Left, Right {…}: Left is at 0, Right at 16, Whole's own member at 32, Part at 40.
struct Diamond {
  Diamond() {
    const TypeRef pointer = build.pointer(build.number("int", 4));
    part = build.klass("Part", 16, {{"of_part", 8, pointer}});
    left = build.klass("Left", 32, {{"of_left", 8, pointer}});
    right = build.klass("Right", 32, {{"of_right", 8, pointer}});
    whole = build.klass("Whole", 56,
                        {{"", 0, left, true}, {"", 16, right, true}, {"of_whole", 32, pointer}});
    build.model[left].virtual_bases = {{part, 24}};
    build.model[right].virtual_bases = {{part, 24}};
    make_sound(build.model);
  }
  // The members that are made for virtual bases: "Part at 40, …".
  std::string place(const std::vector<std::uint64_t>& words) {
    const auto bytes = std::as_bytes(std::span(words));
    cxx::place_virtual_bases_of(whole, bytes, kTypeInfo, build.model);
    make_sound(build.model);
    std::string text;
    for (const Member& member : build.model[whole].members) {
      if (!member.is_virtual_base) continue;
      text += (text.empty() ? "" : ", ") + build.model[member.type].name + " at " +
              std::to_string(member.offset);
    }
    return text;
  }

  ModelBuilder build;
  TypeRef part = kNoType;
  TypeRef left = kNoType;
  TypeRef right = kNoType;
  TypeRef whole = kNoType;
};

std::uint64_t minus(std::uint64_t number) {
  return 0 - number;
}

}  // namespace

TEST_CASE("a virtual base occurs once, at the offset in the vtable of the whole class") {
  Diamond diamond;
  CHECK(diamond.build.model[diamond.whole].has_virtual_bases);
  CHECK(diamond.place({
            40, 0, kTypeInfo.value, 0x1000,                // Left's and its own
            24, minus(16), kTypeInfo.value, 0x1000,        // Right's
            minus(40), minus(40), kTypeInfo.value, 0x1000  // Part's
        }) == "Part at 40");
}

TEST_CASE("it is found through the table of the base that names it") {
  Diamond diamond;
  diamond.build.model[diamond.left].virtual_bases.clear();
  CHECK(diamond.place({40, 0, kTypeInfo.value, 0x1000, 24, minus(16), kTypeInfo.value}) ==
        "Part at 40");
}

TEST_CASE("a vtable that makes no sense places no virtual base") {
  CHECK(Diamond().place({}).empty());
  CHECK(Diamond().place({kTypeInfo.value}).empty());
  CHECK(Diamond().place({0, kTypeInfo.value, 0}).empty());               // nothing is below
  CHECK(Diamond().place({56, 0, kTypeInfo.value}).empty());              // after its end
  CHECK(Diamond().place({minus(8), 0, kTypeInfo.value}).empty());        // before its start
  CHECK(Diamond().place({40, 0, kTypeInfo.value + 8, 0x1000}).empty());  // of another class
  Diamond diamond;
  diamond.build.model[diamond.left].virtual_bases = {{diamond.part, minus(8)}, {77777, 24}};
  diamond.build.model[diamond.right].virtual_bases = {{diamond.part, 20}};
  CHECK(diamond.place({40, 0, kTypeInfo.value, 0, 24, minus(16), kTypeInfo.value}).empty());
}

TEST_CASE("classes that are virtual bases of each other come to an end") {
  Diamond diamond;
  TypeModel& model = diamond.build.model;
  model[diamond.part].virtual_bases = {{diamond.whole, 24}, {diamond.part, 24}};
  CHECK(diamond.place({40, 0, kTypeInfo.value, 0, 0, minus(40), kTypeInfo.value, 0}) ==
        "Part at 40");
}

}  // namespace heapattach::types
