// The cache (symbols/dwarf/type_cache.h) gives the same types as the program's debug information,
// and never those of another program.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "symbols/dwarf/dwarf_types.h"
#include "symbols/dwarf/type_cache.h"
#include "symbols/types/model_bytes.h"
#include "tests/support/temporary_directory.h"
#include "tests/symbols/types/cache_in.h"
#include "tests/symbols/types/typed_program.h"

namespace heapattach::types {

namespace {

namespace fs = std::filesystem;

Module module_of(const std::string& program, std::uint64_t bias = 0) {
  auto file = Fd::open(program, O_RDONLY);
  REQUIRE(file);
  auto module = Module::from_file(std::move(*file), program, bias);
  REQUIRE(module);
  return std::move(module).value();
}

struct Types {
  std::vector<std::byte> bytes;  // the model without its notes
  std::string notes;

  [[nodiscard]] bool say(std::string_view words) const {
    return notes.find(words) != std::string::npos;
  }
};

Types types_of(const std::string& program, const TypeCache* cache, std::uint64_t bias = 0) {
  std::vector<Module> modules;
  modules.push_back(module_of(program, bias));
  TypeOptions options;
  options.cache = cache;
  TypeModel model = read_types(Modules(std::move(modules)), options);
  Types types;
  for (const std::string& note : std::exchange(model.notes, {})) types.notes += note + '\n';
  CHECK_FALSE(model.empty());
  types.bytes = to_bytes(model);
  return types;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("the cache gives the types that the debug information gave") {
  std::vector<std::string> programs;
  for (const char* source : {"c", "cxx", "crystal"}) {
    for (std::string& program : typed_programs(source)) programs.push_back(std::move(program));
  }
  REQUIRE_FALSE(programs.empty());
  const TemporaryDirectory home;
  const TypeCache cache = cache_in(home);
  int kept = 0;
  for (const std::string& program : programs) {
    CAPTURE(program);
    const Types plain = types_of(program, nullptr, 0x10000);
    const Types first = types_of(program, &cache);
    const Types second = types_of(program, &cache, 0x10000);
    CHECK(second.bytes == plain.bytes);
    CHECK_FALSE(first.say("from the cache"));
    kept += first.say("kept in the cache") ? 1 : 0;
    CHECK(first.say("kept in the cache") == second.say("from the cache"));
  }
  CHECK(kept > 0);
}

TEST_CASE("nothing is written for a small program") {
  const TemporaryDirectory home;
  const TypeCache cache = cache_in(home, {});
  const Types types = types_of(typed_programs("cxx").front(), &cache);
  CHECK_FALSE(types.say("cache"));
  CHECK(home.entries() == 0);
}

TEST_CASE("the cache is for one file, unchanged, and one set of limits") {
  const TemporaryDirectory home;
  const TypeCache cache = cache_in(home);
  const std::string copy = home.file("program");
  fs::copy_file(typed_programs("cxx").front(), copy);
  const auto entry = cache.entry_of(module_of(copy), "limits");
  REQUIRE(entry);
  CHECK(entry->file.starts_with(module_of(copy).build_id() + "-"));
  CHECK(cache.entry_of(module_of(copy), "limits")->key == entry->key);
  CHECK(cache.entry_of(module_of(copy), "other limits")->key != entry->key);
  const auto time = fs::last_write_time(copy);
  SUBCASE("another file with its build id, size and time") {
    const std::string other = home.file("other");
    fs::copy_file(copy, other);
    fs::last_write_time(other, time);
    CHECK(cache.entry_of(module_of(other), "limits")->key != entry->key);
    // Each program has a file of its own in the cache.
    CHECK(cache.entry_of(module_of(other), "limits")->file != entry->file);
  }
  SUBCASE("a change that is hidden by the old time") {
    const auto changed = [&] {
      write_file(copy, read_file(copy));
      fs::last_write_time(copy, time);
      return cache.entry_of(module_of(copy), "limits")->key != entry->key;
    };
    // The kernel's clock for the times of files ticks only every few milliseconds.
    bool is_seen = changed();
    for (int i = 0; i < 1'000'000 && !is_seen; ++i) is_seen = changed();
    CHECK(is_seen);
  }
}

TEST_CASE("a file without a build id is not kept") {
  const TemporaryDirectory home;
  const std::string program = home.file("program");
  std::string bytes = read_file(typed_programs("cxx").front());
  const std::size_t note = bytes.find(std::string("\3\0\0\0GNU\0", 8));
  REQUIRE(note != std::string::npos);
  bytes[note] = '\x7f';  // makes the note's kind unknown
  write_file(program, bytes);
  CHECK(module_of(program).build_id() == "");
  const TypeCache cache = cache_in(home);
  CHECK_FALSE(types_of(program, &cache).say("cache"));
  CHECK(home.entries() == 1);
}

TEST_CASE("types are read again and kept again if a kept file is damaged") {
  const std::string program = typed_programs("cxx").front();
  const TemporaryDirectory home;
  const TypeCache cache = cache_in(home);
  const Types plain = types_of(program, &cache);
  REQUIRE(plain.say("kept in the cache"));
  const std::string path = home.file("heapattach/" + cache.entry_of(module_of(program), "")->file);
  const std::string whole = read_file(path);
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 10) {
    std::string wrong = whole;
    wrong[at] = static_cast<char>(~wrong[at]);
    write_file(path, wrong);
    const Types again = types_of(program, &cache);
    CHECK(again.say("is damaged"));
    CHECK(again.say("kept in the cache"));
    CHECK(again.bytes == plain.bytes);
    CHECK(read_file(path) == whole);
  }
  CHECK(types_of(program, &cache).say("from the cache"));
}

}  // namespace heapattach::types
