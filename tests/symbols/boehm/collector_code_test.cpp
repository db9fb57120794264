#include "symbols/boehm/collector_code.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "symbols/elf/function_ranges.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach::boehm {

namespace {

std::vector<std::string> compiled_forms() {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(ACCESSOR_DIR, error)) {
    if (entry.path().filename().string().starts_with("code_")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  REQUIRE_FALSE(paths.empty());
  return paths;
}

struct Compiled {
  explicit Compiled(const std::string& path)
      : module(Module::from_file(Fd::open(path, O_RDONLY).value(),
                                 path,
                                 path.ends_with("_no-pie") ? 0 : 0x550000000000)
                   .value()) {
    const auto arrays = module.find_symbol("arrays");
    REQUIRE(arrays);
    collector.excluded = {{arrays->address, arrays->bytes}};
  }
  [[nodiscard]] RemoteAddr operator[](std::string_view name) const {
    const auto symbol = module.find_symbol(name);
    REQUIRE_MESSAGE(symbol, name);
    return symbol->address;
  }

  Module module;
  Collector collector;
};

bool has(const std::vector<RemoteAddr>& words, RemoteAddr at) {
  return std::find(words.begin(), words.end(), at) != words.end();
}

}  // namespace

TEST_CASE("functions are found without symbols and without an index") {
  for (const std::string& path : compiled_forms()) {
    CAPTURE(path);
    const Compiled compiled(path);
    const auto functions = function_ranges(compiled.module);
    for (const char* name : {"user_10", "push_default", "push_own", "_start"}) {
      const auto symbol = compiled.module.find_symbol(name);
      REQUIRE(symbol);
      CHECK(std::find(functions.begin(), functions.end(), Range{symbol->address, symbol->bytes}) !=
            functions.end());
    }
  }
}

TEST_CASE("a variable is the collector's if only the collector's functions use it") {
  for (const std::string& path : compiled_forms()) {
    CAPTURE(path);
    const Compiled compiled(path);
    const auto code = find_collector_code(compiled.module, compiled.collector);
    REQUIRE(code);
    CHECK(has(code->variables, compiled["hint"]));
    CHECK_FALSE(has(code->variables, compiled["limit"]));
    CHECK(has(code->used, compiled["limit"]));
    CHECK_FALSE(has(code->used, compiled["mine"]));
    CHECK_FALSE(has(code->used, compiled["arrays"]));
  }
}

TEST_CASE("without the collector's tables nothing is known of its code") {
  for (const std::string& path : compiled_forms()) {
    Compiled compiled(path);
    compiled.collector.excluded = {{compiled["mine"], 8}};
    CHECK_FALSE(find_collector_code(compiled.module, compiled.collector));
    compiled.collector.excluded.clear();
    CHECK_FALSE(find_collector_code(compiled.module, compiled.collector));
  }
}

TEST_CASE("a function for more roots that the program has set is known from the default one") {
  for (const std::string& path : compiled_forms()) {
    CAPTURE(path);
    const Compiled compiled(path);
    const auto code = find_collector_code(compiled.module, compiled.collector);
    REQUIRE(code);
    CHECK(code->default_hook == compiled["push_default"]);
    FakeMemory memory;
    for (const Segment& segment : compiled.module.segments()) {
      if (segment.writable) memory.map_zero(segment.range.start, segment.range.bytes);
    }
    memory.put(compiled["hook"], compiled["push_default"].value);
    CHECK_FALSE(has_replaced_hook(*code, memory));
    memory.put(compiled["hook"], compiled["push_own"].value);
    // The program keeps the default hook's address, to call it from its own hook.
    memory.put(compiled["mine"], compiled["push_default"].value);
    CHECK(has_replaced_hook(*code, memory));
  }
}

}  // namespace heapattach::boehm
