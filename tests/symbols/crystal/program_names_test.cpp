// Reads the type names that programs of current Crystal contain, from small programs of the same
// shapes (inputs/current_shapes.s).

#include "symbols/crystal/program_names.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "symbols/crystal/allocators.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach::crystal {

namespace {

// One of these programs, as if it had been loaded at the address for which it was linked.
struct Loaded {
  explicit Loaded(const std::string& name) {
    const std::string path = std::string(SHAPES_DIR) + "/" + name;
    auto file = Fd::open(path, O_RDONLY);
    REQUIRE(file.has_value());
    auto module = Module::from_file(std::move(file).value(), path, 0);
    REQUIRE(module.has_value());
    std::vector<Module> all;
    all.push_back(std::move(module).value());
    modules.emplace(std::move(all));
    for (const Segment& segment : program().segments()) {
      const auto bytes = program().file_bytes(segment.range.start);
      memory.map(segment.range.start, {bytes.begin(), bytes.end()});
    }
  }
  [[nodiscard]] const Module& program() const { return modules->all().front(); }
  [[nodiscard]] ProgramNames names() const { return read_program_names(program(), memory); }

  std::optional<Modules> modules;
  FakeMemory memory;
};

const Type* find(const AllocatorScan& scan, std::uint32_t id) {
  for (const Type& type : scan.types) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

std::string name_of(const ProgramNames& names, std::uint32_t id) {
  const std::string* name = names.find(id);
  return name == nullptr ? "" : *name;
}

}  // namespace

TEST_CASE("the symbols of type ids give their names, including those of values") {
  const ProgramNames names = Loaded("symbols_only").names();
  CHECK(name_of(names, 2) == "Shop::Session");
  CHECK(name_of(names, 4) == "Shop::Tag");
  CHECK(name_of(names, 12) == "Int32");
  CHECK(name_of(names, 7).empty());
  CHECK(names.from_table.empty());
  CHECK_FALSE(names.is_no_class(12));
}

TEST_CASE("the table of class names shows which ids are classes, stripped or not") {
  // This also works if the linker has put constants and code into one segment.
  for (const char* program :
       {"symbols_and_table", "stripped", "one_segment", "one_segment_stripped"}) {
    CAPTURE(program);
    const ProgramNames names = Loaded(program).names();
    CHECK(name_of(names, 1) == "String");
    CHECK(name_of(names, 6) == "Channel(Job)");
    CHECK(name_of(names, 7) == "Shop::Order");
    CHECK(names.last_class == 8);
    CHECK(names.from_table.size() == 8);
    CHECK_FALSE(names.from_table.contains(12));
    CHECK(names.is_no_class(12));
    CHECK_FALSE(names.is_no_class(8));
  }
}

TEST_CASE("ids loaded from their globals give sizes to named classes") {
  const Loaded loaded("symbols_only");
  const auto scan = scan_program(*loaded.modules, loaded.program(), loaded.memory);
  REQUIRE(scan.has_value());
  const Type* session = find(*scan, 2);
  REQUIRE(session != nullptr);
  CHECK(session->name == "Shop::Session");
  CHECK(session->instance_bytes == 0x28);
  CHECK(session->is_atomic == false);
  const Type* cart = find(*scan, 3);
  REQUIRE(cart != nullptr);
  CHECK(cart->name == "Shop::Cart");
  CHECK(cart->instance_bytes == 0x20);
  const Type* tag = find(*scan, 4);
  REQUIRE(tag != nullptr);
  CHECK(tag->instance_bytes == 0xc);
  CHECK(tag->is_atomic == true);
  // Without the table, only code shows which types are classes.
  CHECK(find(*scan, 12) == nullptr);
}

TEST_CASE("a cut symbol names its class only if nothing is inlined") {
  const Loaded loaded("symbols_only");
  const auto scan = scan_program(*loaded.modules, loaded.program(), loaded.memory);
  REQUIRE(scan.has_value());
  const Type* channel = find(*scan, 6);
  REQUIRE(channel != nullptr);
  CHECK(channel->name == "Channel(Job)");
  const Type* order = find(*scan, 7);
  REQUIRE(order != nullptr);
  CHECK(order->name.empty());
  CHECK(order->instance_bytes == 0x40);
}

TEST_CASE("the table names classes that no function is named after") {
  const Loaded loaded("symbols_and_table");
  const auto scan = scan_program(*loaded.modules, loaded.program(), loaded.memory);
  REQUIRE(scan.has_value());
  const Type* order = find(*scan, 7);
  REQUIRE(order != nullptr);
  CHECK(order->name == "Shop::Order");
  CHECK(order->instance_bytes == 0x40);
  CHECK(order->known_from == std::vector{KnownFrom::ClassNameTable, KnownFrom::AllocationSite});
  CHECK(find(*scan, 2)->known_from ==
        std::vector{KnownFrom::TypeIdSymbol, KnownFrom::ClassNameTable, KnownFrom::AllocationSite});
}

}  // namespace heapattach::crystal
