#include "symbols/boehm/accessors.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <link.h>

#include "attach/arch/processors.h"
#include "symbols/elf/module.h"
#include "tests/fakes/own_memory.h"

namespace heapattach::boehm {

namespace {

// The words of `truth` in accessor_functions.c.
struct Truth {
  std::uint64_t top, block_shift, bottom_bits, top_bits, all_nils, key, chain, size, kind, flags,
      descriptor, heap, large_free, unmapped;
};

// One compiled form of accessor_functions.c. It is loaded if it is a shared library; a program is
// only read.
class Compiled {
 public:
  explicit Compiled(const std::string& path)
      : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)), module_(open(path)) {}
  ~Compiled() {
    if (library_ != nullptr) dlclose(library_);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  [[nodiscard]] const Module& module() const { return module_; }
  [[nodiscard]] RemoteAddr operator[](std::string_view name) const {
    const auto symbol = module_.find_symbol(name);
    REQUIRE_MESSAGE(symbol, name);
    return symbol->address;
  }
  [[nodiscard]] Truth truth() const {
    Truth truth{};
    const auto bytes = module_.file_bytes((*this)["truth"]);
    REQUIRE(bytes.size() >= sizeof truth);
    std::memcpy(&truth, bytes.data(), sizeof truth);
    return truth;
  }

 private:
  Module open(const std::string& path) const {
    std::uint64_t bias = 0;
    if (library_ != nullptr) bias = static_cast<const link_map*>(library_)->l_addr;
    auto module = Module::from_file(Fd::open(path, O_RDONLY).value(), path, bias);
    REQUIRE(module);
    return std::move(module).value();
  }

  void* library_;  // null for a program
  Module module_;
};

std::vector<std::string> compiled_forms() {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(ACCESSOR_DIR, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("gcc_") || name.starts_with("clang_")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void check_layout_of(const Compiled& compiled, AccessorReader& reader) {
  const auto learned = reader.read_layout(compiled["object_size"], compiled["kind_and_size"]);
  REQUIRE_MESSAGE(learned, (learned ? "" : learned.error().message()));
  const Truth truth = compiled.truth();
  const RemoteAddr arrays = compiled["arrays"];
  const Layout& layout = learned->layout;
  CHECK(layout.top_index.value == (arrays + truth.top).value);
  CHECK(layout.top_shift == truth.block_shift + truth.bottom_bits);
  CHECK(layout.top_mask == (1U << truth.top_bits) - 1);
  CHECK(layout.block_shift == truth.block_shift);
  CHECK(layout.bottom_mask == (1U << truth.bottom_bits) - 1);
  CHECK(layout.has_hash_chain);
  CHECK(layout.bottom_key == truth.key);
  CHECK(layout.bottom_next == truth.chain);
  CHECK(layout.header_size == truth.size);
  CHECK(layout.header_kind == truth.kind);
  CHECK(layout.header_flags == truth.flags);
  CHECK(layout.header_descriptor == truth.descriptor);
  CHECK(learned->all_nils_is_variable);
  CHECK(learned->all_nils.value == (arrays + truth.all_nils).value);
}

void check_counters_of(const Compiled& compiled, AccessorReader& reader) {
  const Truth truth = compiled.truth();
  const RemoteAddr arrays = compiled["arrays"];
  const auto heap = reader.read_counter(compiled["heap_size"]);
  REQUIRE(heap);
  CHECK(heap->variable.value == (arrays + truth.heap).value);
  REQUIRE(heap->less);
  CHECK(heap->less->value == (arrays + truth.unmapped).value);
  const auto free = reader.read_counter(compiled["free_bytes"]);
  REQUIRE(free);
  CHECK(free->variable.value == (arrays + truth.large_free).value);
  const auto unmapped = reader.read_counter(compiled["unmapped_bytes"]);
  REQUIRE(unmapped);
  CHECK(unmapped->variable.value == (arrays + truth.unmapped).value);
  CHECK_FALSE(unmapped->less);
  const auto count = reader.read_counter(compiled["collection_count"]);
  REQUIRE(count);
  CHECK(count->variable == compiled["collections"]);
  const auto mode = reader.read_counter(compiled["is_incremental_mode"]);
  REQUIRE(mode);
  CHECK(mode->variable == compiled["incremental"]);
  CHECK(reader.read_constant(compiled["version"]) == 0x80202);
}

void check_activity_of(const Compiled& compiled, AccessorReader& reader) {
  const auto activity = reader.read_activity(compiled["collect_a_little"]);
  CHECK(activity.collecting == compiled["collecting"]);
  CHECK(activity.mark_state == compiled["mark_state"]);
  CHECK(reader.read_activity(compiled["in_progress"]).mark_state == compiled["mark_state"]);
}

void check_tables_of(const Compiled& compiled, AccessorReader& reader) {
  CHECK(reader.read_flag_table(compiled["register_displacement"]) == compiled["displacements"]);
  CHECK_FALSE(reader.read_flag_table(compiled["collect_a_little"]));
}

}  // namespace

TEST_CASE("the layout is learned from the accessors as gcc and clang compile them") {
  const auto paths = compiled_forms();
  if (paths.empty()) {
    MESSAGE("skipped: neither gcc nor clang is available to compile the accessor functions");
    return;
  }
  auto disassembler = Disassembler::open(kOwnProcessor);
  REQUIRE(disassembler);
  const OwnMemory memory;
  for (const std::string& path : paths) {
    CAPTURE(path);
    const Compiled compiled(path);
    const CodeSource source = code_of(compiled.module(), memory);
    AccessorReader reader(*disassembler, source);
    check_layout_of(compiled, reader);
    check_counters_of(compiled, reader);
    check_activity_of(compiled, reader);
    check_tables_of(compiled, reader);
  }
}

TEST_CASE("a function of another shape teaches no layout") {
  auto disassembler = Disassembler::open(kOwnProcessor);
  REQUIRE(disassembler);
  // mov rax, [rdi]; ret
  const std::array code = {std::byte{0x48}, std::byte{0x8b}, std::byte{0x07}, std::byte{0xc3}};
  CodeSource source;
  source.code = [&](RemoteAddr at) {
    return at.value < 0x1000 || at.value >= 0x1000 + code.size()
               ? std::span<const std::byte>()
               : std::span<const std::byte>(code).subspan(at.value - 0x1000);
  };
  source.constant = [](RemoteAddr) { return std::nullopt; };
  AccessorReader reader(*disassembler, source);
  const auto learned = reader.read_layout(RemoteAddr{0x1000}, std::nullopt);
  REQUIRE_FALSE(learned);
  CHECK(learned.error().kind == ErrorKind::Malformed);
  CHECK_FALSE(reader.read_counter(RemoteAddr{0x1000}));
  CHECK_FALSE(reader.read_constant(RemoteAddr{0x2000}));
}

}  // namespace heapattach::boehm
