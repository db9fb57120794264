#include "tests/symbols/types/written_dwarf.h"

#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/format.h>
#include <sys/inotify.h>

#include "attach/base/sanitized.h"
#include "symbols/dwarf/dwarf_types.h"
#include "symbols/elf/module_contents.h"
#include "tests/support/temporary_directory.h"

namespace heapattach::types {

// Reads debug information that is well formed, but describes impossible or far too many types.
namespace {

using W = WrittenDwarf;

// Checks that the chain of types by value ends, that references are valid, and that no type exceeds
// the largest size.
void walk(const TypeModel& model, TypeRef at, int depth) {
  REQUIRE(depth < 200);
  REQUIRE(at < model.types().size());
  const Type& type = model[at];
  CHECK(type.bytes.value_or(0) <= std::uint64_t{1} << 40U);
  if (type.shape == Shape::Array && type.target != kNoType) walk(model, type.target, depth + 1);
  for (const Member& member : type.members) {
    CHECK(member.offset <= std::uint64_t{1} << 40U);
    if (member.type != kNoType) walk(model, member.type, depth + 1);
  }
}

TypeModel read(const Fd& file, bool use_sandbox, TypeOptions options = {}) {
  options.use_sandbox = use_sandbox;
  TypeModel model = read_types_of(file, 0, options);
  for (TypeRef at = 0; at < model.types().size(); ++at) {
    if (model[at].members.size() < 1000) walk(model, at, 0);
  }
  REQUIRE_FALSE(model.notes.empty());
  return model;
}

// Reads the types with and without the sandbox, which must agree.
TypeModel read_twice(W& dwarf) {
  const Fd file = dwarf.file();
  const TypeModel without = read(file, false);
  TypeModel with = read(file, true);
  CHECK(without.types().size() == with.types().size());
  CHECK(without.globals.size() == with.globals.size());
  return with;
}

bool has_note(const TypeModel& model, std::string_view part) {
  return std::any_of(model.notes.begin(), model.notes.end(), [part](const std::string& note) {
    return note.find(part) != std::string::npos;
  });
}

void add_struct_with_member(W& dwarf, std::string_view name, W::Label self, W::Label member) {
  dwarf.place(self);
  dwarf.open(DW_TAG_structure_type, {W::text(DW_AT_name, name), W::number(DW_AT_byte_size, 16)});
  dwarf.entry(DW_TAG_member, {W::text(DW_AT_name, "inside"), W::ref(DW_AT_type, member),
                              W::number(DW_AT_data_member_location, 0)});
  dwarf.close();
}

}  // namespace

TEST_CASE("types that contain themselves are cut where the cycle closes") {
  W dwarf;
  const W::Label a = dwarf.label();
  const W::Label b = dwarf.label();
  SUBCASE("a struct in itself") {
    add_struct_with_member(dwarf, "a", a, a);
  }
  SUBCASE("two in each other") {
    add_struct_with_member(dwarf, "a", a, b);
    add_struct_with_member(dwarf, "b", b, a);
  }
  SUBCASE("an array of structs that hold it") {
    add_struct_with_member(dwarf, "a", a, b);
    dwarf.place(b);
    dwarf.open(DW_TAG_array_type, {W::ref(DW_AT_type, a)});
    dwarf.entry(DW_TAG_subrange_type, {W::number(DW_AT_count, 3)});
    dwarf.close();
  }
  dwarf.global("everything", a);
  const TypeModel model = read_twice(dwarf);
  CHECK(model.find("struct a") != kNoType);
  CHECK(model.globals.size() == 1);
}

TEST_CASE("types that are defined only by themselves do not count as types") {
  for (const unsigned tag :
       {DW_TAG_typedef, DW_TAG_const_type, DW_TAG_pointer_type, DW_TAG_array_type,
        DW_TAG_subroutine_type, DW_TAG_ptr_to_member_type, DW_TAG_reference_type}) {
    CAPTURE(tag);
    W dwarf;
    const W::Label a = dwarf.label();
    const W::Label b = dwarf.label();
    dwarf.place(a);
    dwarf.entry(tag, {W::ref(DW_AT_type, b), W::ref(DW_AT_containing_type, a)});
    dwarf.place(b);
    dwarf.entry(tag, {W::ref(DW_AT_type, a), W::ref(DW_AT_containing_type, b)});
    dwarf.global("nothing", a);
    const TypeModel model = read_twice(dwarf);
    CHECK(model.types().size() <= 1);
    for (const Type& type : model.types()) CHECK(type.name == "(nested too deep)");
  }
}

TEST_CASE("entries that are declared by themselves still have names") {
  W dwarf;
  const W::Label a = dwarf.label();
  for (const unsigned attribute : {DW_AT_specification, DW_AT_abstract_origin, DW_AT_signature}) {
    const W::Label self = dwarf.label();
    dwarf.place(self);
    dwarf.entry(DW_TAG_structure_type, {W::ref(attribute, self), W::number(DW_AT_byte_size, 8)});
    dwarf.global("made of it", self);
  }
  dwarf.place(a);
  dwarf.entry(DW_TAG_variable, {W::ref(DW_AT_specification, a),
                                W::ref(DW_AT_type, a),
                                {DW_AT_location, DW_FORM_exprloc, 0x5000, {}}});
  const TypeModel model = read_twice(dwarf);
  CHECK(model.find("(struct at an unknown location)") != kNoType);
  CHECK(model.find("(unknown type)") != kNoType);
}

TEST_CASE("siblings that point back do not cause endless loops") {
  W dwarf;
  const W::Label first = dwarf.label();
  const W::Label second = dwarf.label();
  dwarf.place(first);
  dwarf.entry(DW_TAG_structure_type, {W::text(DW_AT_name, "first"), W::number(DW_AT_byte_size, 8)});
  dwarf.place(second);
  dwarf.open(DW_TAG_structure_type, {W::text(DW_AT_name, "second"), W::number(DW_AT_byte_size, 8),
                                     W::ref(DW_AT_sibling, first)});
  dwarf.entry(DW_TAG_member, {W::text(DW_AT_name, "m")});
  dwarf.close();
  const TypeModel model = read_twice(dwarf);
  CHECK(model.find("struct second") != kNoType);
}

TEST_CASE("entries that are also their parents' siblings are visited once") {
  W dwarf;
  // Each level doubles the walk of a reader that trusts the debug information.
  for (int depth = 0; depth < 100; ++depth) {
    const W::Label inside = dwarf.label();
    dwarf.open(DW_TAG_lexical_block, {W::ref(DW_AT_sibling, inside)});
    dwarf.place(inside);
  }
  dwarf.entry(DW_TAG_structure_type, {W::text(DW_AT_name, "deep"), W::number(DW_AT_byte_size, 8)});
  for (int depth = 0; depth < 100; ++depth) dwarf.close();
  const TypeModel model = read_twice(dwarf);
  CHECK(model.find("struct deep") != kNoType);
}

TEST_CASE("sizes of 2^63 are ignored") {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 63U;
  W dwarf;
  const W::Label number = dwarf.label();
  const W::Label array = dwarf.label();
  const W::Label whole = dwarf.label();
  dwarf.place(number);
  dwarf.entry(DW_TAG_base_type, {W::text(DW_AT_name, "int"), W::number(DW_AT_byte_size, kHuge),
                                 W::number(DW_AT_encoding, DW_ATE_signed)});
  for (const std::uint64_t count : {kHuge, ~std::uint64_t{0}, kHuge / 4}) {
    const W::Label one = dwarf.label();
    dwarf.place(one);
    dwarf.open(DW_TAG_array_type, {W::ref(DW_AT_type, whole)});
    dwarf.entry(DW_TAG_subrange_type, {W::number(DW_AT_count, count)});
    dwarf.entry(DW_TAG_subrange_type, {W::number(DW_AT_upper_bound, count)});
    dwarf.close();
    dwarf.global("array", one);
  }
  dwarf.place(array);
  dwarf.open(DW_TAG_array_type, {W::ref(DW_AT_type, number)});
  dwarf.entry(DW_TAG_subrange_type, {W::number(DW_AT_upper_bound, kHuge)});
  dwarf.close();
  dwarf.place(whole);
  dwarf.open(DW_TAG_structure_type,
             {W::text(DW_AT_name, "huge"), W::number(DW_AT_byte_size, kHuge)});
  for (const std::uint64_t at : {std::uint64_t{0}, kHuge, ~std::uint64_t{0}}) {
    dwarf.entry(DW_TAG_member, {W::text(DW_AT_name, "m"), W::ref(DW_AT_type, array),
                                W::number(DW_AT_data_member_location, at)});
    dwarf.entry(DW_TAG_member, {W::text(DW_AT_name, "bits"), W::ref(DW_AT_type, number),
                                W::number(DW_AT_bit_size, at + 1), W::number(DW_AT_bit_offset, at),
                                W::number(DW_AT_data_member_location, at)});
    dwarf.entry(DW_TAG_member,
                {W::text(DW_AT_name, "bits"), W::ref(DW_AT_type, number),
                 W::number(DW_AT_bit_size, 3), W::number(DW_AT_data_bit_offset, at)});
  }
  dwarf.close();
  dwarf.open(DW_TAG_enumeration_type,
             {W::text(DW_AT_name, "e"), W::number(DW_AT_byte_size, kHuge)});
  dwarf.entry(DW_TAG_enumerator, {W::text(DW_AT_name, "x"), W::number(DW_AT_const_value, kHuge)});
  dwarf.close();
  const TypeModel model = read_twice(dwarf);
  const TypeRef huge = model.find("struct huge");
  REQUIRE(huge != kNoType);
  CHECK_FALSE(model[huge].bytes);
}

TEST_CASE("a million members are read, and those beyond the limit are counted") {
  const std::size_t count = kIsSanitized ? 50'000 : 1'000'000;
  for (const std::size_t most : {count, count - 10}) {
    W dwarf;
    const W::Label number = dwarf.label();
    dwarf.place(number);
    dwarf.entry(DW_TAG_base_type, {W::text(DW_AT_name, "char"), W::number(DW_AT_byte_size, 1),
                                   W::number(DW_AT_encoding, DW_ATE_signed_char)});
    dwarf.open(DW_TAG_structure_type,
               {W::text(DW_AT_name, "many"), W::number(DW_AT_byte_size, count)});
    for (std::size_t i = 0; i < count; ++i) {
      dwarf.entry(DW_TAG_member, {W::text(DW_AT_name, "m"), W::ref(DW_AT_type, number),
                                  W::number(DW_AT_data_member_location, count - i - 1)});
    }
    dwarf.close();
    TypeOptions options;
    options.limits.members_of_one = most;
    const TypeModel model = read(dwarf.file(), true, options);
    const TypeRef many = model.find("struct many");
    REQUIRE(many != kNoType);
    CHECK(model[many].members.size() == most);
    CHECK(has_note(model, "left out because of a limit") == (count > most));
  }
}

TEST_CASE("types beyond the limit are left out, and every user is warned") {
  constexpr std::size_t kTypes = 20;
  for (const std::size_t most : {kTypes - 5, kTypes}) {
    W dwarf;
    for (std::size_t i = 0; i < kTypes; ++i) {
      dwarf.entry(DW_TAG_structure_type,
                  {W::text(DW_AT_name, fmt::format("s{}", i)), W::number(DW_AT_byte_size, 8)});
    }
    TypeOptions options;
    options.limits.types = most;
    std::vector<std::string> warnings;
    options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
    const TypeModel model = read(dwarf.file(), true, options);
    CHECK(model.types().size() == most);
    CHECK(warnings.size() == (most < kTypes ? 1 : 0));
    for (const std::string& warning : warnings) {
      CHECK_MESSAGE(warning.starts_with("not all of its types were read"), warning);
    }
  }
}

TEST_CASE("names of any bytes and of any length are names") {
  W dwarf;
  const std::string controls = "a\x1b[2J\n\r\x07\x7f\xc2\x9b\xff\xfe\xe2\x80\xae\"\\b";
  const std::string endless(1U << 20U, 'x');
  for (const std::string& name : {controls, endless, std::string()}) {
    const W::Label self = dwarf.label();
    add_struct_with_member(dwarf, name, self, self);
    dwarf.global(name, self);
  }
  const TypeModel model = read_twice(dwarf);
  CHECK(model.find("struct " + controls) != kNoType);
  for (const Type& type : model.types()) CHECK(type.name.size() <= (64U << 10U) + 16);
  for (const Variable& global : model.globals) CHECK(global.name.size() <= 64U << 10U);
}

TEST_CASE("a reference to a supplementary file opens no file") {
  const TemporaryDirectory directory;
  const std::string planted = directory.file("planted");
  std::ofstream(planted) << "nothing";
  const Fd watch(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  REQUIRE(inotify_add_watch(watch.get(), planted.c_str(), IN_OPEN | IN_ACCESS) >= 0);
  const auto was_opened = [&watch] {
    std::array<char, 4096> events{};
    return ::read(watch.get(), events.data(), events.size()) > 0;
  };
  W dwarf;
  dwarf.section(".gnu_debugaltlink", planted + '\0' + "an id of 20 bytes !!");
  dwarf.open(DW_TAG_structure_type, {W::text(DW_AT_name, "s"), W::number(DW_AT_byte_size, 8)});
  dwarf.entry(DW_TAG_member, {W::text(DW_AT_name, "m"), W::alt_ref(DW_AT_type, 11),
                              W::number(DW_AT_data_member_location, 0)});
  dwarf.close();
  const Fd file = dwarf.file();
  const TypeModel model = read(file, true);
  CHECK_FALSE(was_opened());
  CHECK(model.find("struct s") != kNoType);
  read(file, false);
  CHECK(was_opened());  // proves that this test notices an opened file
}

TEST_CASE("a debug link with a directory in it is not followed") {
  for (const std::string_view link : {"../../etc/shadow", "/etc/shadow", "./x", "", "a/"}) {
    CAPTURE(link);
    W dwarf;
    std::string bytes = std::string(link) + '\0';
    bytes.resize((bytes.size() + 3) / 4 * 4 + 4);
    dwarf.section(".gnu_debuglink", bytes);
    const auto elf = ElfFile::open(dwarf.file());
    REQUIRE(elf);
    REQUIRE(elf->debug_link());
    CHECK(elf->debug_link()->file == link);
    CHECK(debug_candidates(*elf, "/opt/app/bin/app", {}).empty());
  }
}

}  // namespace heapattach::types
