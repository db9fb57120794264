#include "symbols/dwarf/dwarf_types.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/symbols/types/typed_program.h"

namespace heapattach::types {

namespace {

TypeModel types_of(const std::string& program, bool use_sandbox = false) {
  auto file = Fd::open(program, O_RDONLY);
  REQUIRE(file);
  TypeOptions options;
  options.use_sandbox = use_sandbox;
  return read_types_of(*file, 0x10000, options);
}

const Type& type_named(const TypeModel& model, std::string_view name) {
  CAPTURE(std::string(name));
  const TypeRef at = model.find(name);
  REQUIRE(at != kNoType);
  return model[at];
}

// "offset name: type" for each member, with the bits of bit fields.
std::vector<std::string> members_of(const TypeModel& model, const std::string& name) {
  std::vector<std::string> lines;
  for (const Member& member : type_named(model, name).members) {
    const std::string bits =
        member.bit_count == 0 ? "" : fmt::format(" {}@{}", member.bit_count, member.bit_offset);
    lines.push_back(fmt::format("{} {}{}: {}{}", member.offset, member.is_base ? "base" : "",
                                member.name, model[member.type].name, bits));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("the members of a C struct have names, offsets and types") {
  for (const std::string& program : typed_programs("c")) {
    CAPTURE(program);
    const TypeModel model = types_of(program);
    CHECK(members_of(model, "struct node") ==
          Lines{"0 next: struct node *", "8 name: char *", "16 low: unsigned int 3@0",
                "16 high: unsigned int 13@3", "20 values: int[2][3]", "48 : (union at shapes.c:8)",
                "56 compare: int (*)(struct node *, void *)", "64 color: enum color"});
    CHECK(type_named(model, "struct node").bytes == 72);
    CHECK(members_of(model, "(union at shapes.c:8)") ==
          Lines{"0 number: int", "0 pointer: void *"});
    CHECK(type_named(model, "(union at shapes.c:8)").shape == Shape::Union);
    CHECK(members_of(model, "point_t") == Lines{"0 x: long", "8 y: double"});
    CHECK(members_of(model, "struct buffer") ==
          Lines{"0 size: unsigned long", "8 items: struct node *[]"});
  }
}

TEST_CASE("pointers, arrays, functions and numbers have their shapes") {
  for (const std::string& program : typed_programs("c")) {
    CAPTURE(program);
    const TypeModel model = types_of(program);
    const Type& pointer = type_named(model, "struct node *");
    CHECK(pointer.shape == Shape::Pointer);
    CHECK(model[pointer.target].name == "struct node");
    CHECK_FALSE(pointer.is_reference);
    CHECK(type_named(model, "void *").target == kNoType);
    CHECK(type_named(model, "int (*)(struct node *, void *)").shape == Shape::Code);
    const Type& matrix = type_named(model, "int[2][3]");
    CHECK(matrix.count == 2);
    CHECK(matrix.bytes == 24);
    CHECK(model[matrix.target].name == "int[3]");
    CHECK(model[matrix.target].bytes == 12);
    CHECK_FALSE(type_named(model, "struct node *[]").count.has_value());
    CHECK(type_named(model, "unsigned int").encoding == Encoding::Unsigned);
    CHECK(type_named(model, "double").encoding == Encoding::Float);
    CHECK(type_named(model, "struct hidden").shape == Shape::Opaque);
    CHECK(type_named(model, "struct node").known_from == Lines{"dwarf"});
  }
}

TEST_CASE("the values of an enumeration have names and signs") {
  for (const std::string& program : typed_programs("c")) {
    const TypeModel model = types_of(program);
    const Type& color = type_named(model, "enum color");
    REQUIRE(color.enumerators.size() == 3);
    CHECK(color.enumerators[0].name == "BLUE");
    CHECK(color.enumerators[0].value == -1);
    CHECK(color.enumerators[2].value == 7);
  }
  for (const std::string& program : typed_programs("cxx")) {
    const TypeModel model = types_of(program);
    const Type& level = type_named(model, "ns::Level");
    REQUIRE(level.enumerators.size() == 2);
    CHECK(level.enumerators[1].value == 200);
    CHECK(level.bytes == 1);
  }
}

TEST_CASE("a C++ class has its bases, and a header if it has virtual functions") {
  for (const std::string& program : typed_programs("cxx")) {
    CAPTURE(program);
    const TypeModel model = types_of(program);
    CHECK(members_of(model, "Derived") == Lines{"0 base: Base", "16 base: Other", "24 d: int"});
    CHECK(type_named(model, "Derived").has_header);
    CHECK(type_named(model, "Base").has_header);
    CHECK_FALSE(type_named(model, "Other").has_header);
    CHECK(members_of(model, "ns::Outer::Secret") == Lines{"0 level: ns::Level"});
  }
}

TEST_CASE("a virtual base is described by the vtable slot that contains its offset") {
  for (const std::string& program : typed_programs("cxx")) {
    CAPTURE(program);
    const TypeModel model = types_of(program);
    const Lines members = members_of(model, "Shared");
    CHECK(members.size() == 2);
    CHECK(members.back() == "8 s: int");
    const Type& shared = type_named(model, "Shared");
    REQUIRE(shared.virtual_bases.size() == 1);
    CHECK(model[shared.virtual_bases[0].type].name == "Base");
    CHECK(shared.virtual_bases[0].slot == 24);
    CHECK(shared.has_virtual_bases);
  }
}

TEST_CASE("a Crystal member has its true offset, even if LLVM wrote it as a bit field") {
  for (const std::string& program : typed_programs("crystal")) {
    const TypeModel model = types_of(program);
    CHECK(members_of(model, "Nested") ==
          Lines{"4 @flag: Bool", "8 @id: Int32", "16 @owner: Owner *",
                "24 @fixed: StaticArray(Owner, 3)", "48 @small: StaticArray(UInt8, 100)",
                "152 @tail: Owner *"});
  }
}

TEST_CASE("global variables are at their addresses in the target") {
  for (const std::string& program : typed_programs("cxx")) {
    CAPTURE(program);
    const TypeModel model = types_of(program);
    const auto found =
        std::find_if(model.globals.begin(), model.globals.end(),
                     [](const Variable& v) { return v.name == "ns::Outer::instance"; });
    REQUIRE(found != model.globals.end());
    CHECK(model[found->type].name == "ns::Outer *");
    CHECK(found->address.value > 0x10000);
  }
  for (const std::string& program : typed_programs("c")) {
    const TypeModel model = types_of(program);
    CHECK(std::any_of(model.globals.begin(), model.globals.end(),
                      [](const Variable& v) { return v.name == "cache"; }));
    CHECK(std::none_of(model.globals.begin(), model.globals.end(),
                       [](const Variable& v) { return v.name == "l"; }));
  }
}

TEST_CASE("the sandbox gives the same types") {
  for (const std::string& program : typed_programs("cxx")) {
    const TypeModel inside = types_of(program, true);
    const TypeModel outside = types_of(program, false);
    CHECK(inside.types().size() == outside.types().size());
    CHECK(inside.globals.size() == outside.globals.size());
    CHECK(members_of(inside, "Derived") == members_of(outside, "Derived"));
  }
}

TEST_CASE("only the C library's modules are left out") {
  for (const char* path :
       {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/lib/ld-2.31.so",
        "/usr/lib/x86_64-linux-gnu/libm-2.31.so", "/lib/x86_64-linux-gnu/libgcc_s.so.1",
        "/lib/x86_64-linux-gnu/libnss_files.so.2", "/lib/ld-musl-x86_64.so.1"}) {
    CAPTURE(path);
    CHECK(is_of_c_library(path));
  }
  for (const char* path :
       {"/opt/app/libutil.so.1", "/usr/lib/x86_64-linux-gnu/libgc.so.1", "/usr/lib/app/libc",
        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/bin/ld", "/usr/lib/app/libm-tree.so",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", ""}) {
    CAPTURE(path);
    CHECK_FALSE(is_of_c_library(path));
  }
}

TEST_CASE("the modules that are left out are named") {
  std::vector<Module> modules;
  for (const char* path : {"/lib/libc.so.6", "/lib/libm.so.6"}) {
    const std::string program = typed_programs("c").front();
    auto module = Module::from_file(Fd::open(program, O_RDONLY).value(), path, 0);
    REQUIRE(module);
    modules.push_back(std::move(module).value());
  }
  const TypeModel model = read_types(Modules(std::move(modules)), {});
  CHECK(model.empty());
  REQUIRE(model.notes.size() == 1);
  CHECK(model.notes.front().ends_with("libc.so.6, libm.so.6"));
}

TEST_CASE("types for which there is no time are left out, with one warning for all modules") {
  std::vector<Module> modules;
  for (const char* path : {"/opt/one", "/opt/two"}) {
    const std::string program = typed_programs("c").front();
    auto module = Module::from_file(Fd::open(program, O_RDONLY).value(), path, 0);
    REQUIRE(module);
    modules.push_back(std::move(module).value());
  }
  Lines warnings;
  TypeOptions options;
  options.until = std::chrono::steady_clock::now();
  options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
  CHECK(read_types(Modules(std::move(modules)), options).empty());
  CHECK(warnings == Lines{"the types of 2 modules were not read, to leave time for the report"});
}

TEST_CASE("a file without debug information gives no types and a note") {
  auto file = Fd::open("/proc/self/cmdline", O_RDONLY);
  REQUIRE(file);
  const TypeModel model = read_types_of(*file, 0, {});
  CHECK(model.empty());
  CHECK(model.notes == Lines{"no debug information"});
}

}  // namespace heapattach::types
