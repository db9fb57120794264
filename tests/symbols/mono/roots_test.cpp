#include "symbols/mono/roots.h"

#include <doctest/doctest.h>

#include "tests/fakes/fake_memory.h"

namespace heapattach {
namespace {

constexpr RemoteAddr kTable{0x10'0000};    // the variable, and then
constexpr RemoteAddr kThreads{0x10'0008};  // that of the list of threads
constexpr RemoteAddr kHash{0x10'0100};     // the table itself: two functions, slots, counts
constexpr RemoteAddr kSlots{0x10'0200};
constexpr RemoteAddr kEntries{0x10'0300};
constexpr RemoteAddr kFirstInfo{0x10'1000};
constexpr RemoteAddr kSecondInfo{0x10'2000};
constexpr RemoteAddr kNative{0x10'3000};  // what glibc has about both threads
constexpr RemoteAddr kHandles{0x10'4000};
constexpr std::uint64_t kHandlesAt = 0x108;

// Two registered ranges, one in the other's slot, and two threads, of which one has handles in two
// chunks.
struct Process {
  FakeMemory memory;

  Process() {
    memory.map_zero(kTable, 0x8000);
    memory.put(kTable, kHash);
    memory.put(kHash + 0x10, kSlots);
    memory.put(kHash + 0x18, std::uint32_t{3});
    memory.put(kHash + 0x1c, std::uint32_t{2});
    memory.put(kSlots + 8, kEntries);
    put_entry(kEntries, 0x7000'0000, 0x7000'0021, kEntries + 0x20);
    put_entry(kEntries + 0x20, 0x7100'0000, 0x7100'0009, {});
    memory.put(kThreads, kFirstInfo);
    put_info(kFirstInfo, kSecondInfo, kNative);
    put_info(kSecondInfo, {}, kNative + 0x100);
    const RemoteAddr second = kHandles + 0x100;
    put_stack(kFirstInfo, kHandles, second);
    put_chunk(kHandles, 3, {}, second);
    put_chunk(second, 1, kHandles, {});
  }

  void put_entry(RemoteAddr at, std::uint64_t start, std::uint64_t end, RemoteAddr next) {
    memory.put(at, start);
    memory.put(at + 8, end);
    memory.put(at + 16, next);
  }
  // The lowest bit of a link is a tag.
  void put_info(RemoteAddr at, RemoteAddr next, RemoteAddr native) {
    memory.put(at, next.value == 0 ? next : next + 1);
    memory.put(at + 8, native);
    memory.put(native + 0x10, native);
  }
  void put_stack(RemoteAddr info, RemoteAddr bottom, RemoteAddr top) {
    const RemoteAddr stack = kHandles + 0x400;
    memory.put(info + kHandlesAt, stack);
    memory.put(stack, top);
    memory.put(stack + 8, bottom);
  }
  void put_chunk(RemoteAddr at, std::uint32_t count, RemoteAddr before, RemoteAddr next) {
    memory.put(at, count);
    memory.put(at + 8, before);
    memory.put(at + 16, next);
  }

  [[nodiscard]] std::optional<mono::RootVariables> find() const {
    return mono::root_variables({kThreads, kTable}, {RemoteAddr{}, kThreads}, memory);
  }
};

TEST_CASE("the ranges that Mono has registered and its threads' handles are roots") {
  const Process process;
  const auto variables = process.find();
  REQUIRE(variables);
  CHECK(variables->registered == kTable);
  CHECK(variables->threads == kThreads);
  CHECK(variables->handles_at == kHandlesAt);
  const auto roots = mono::read_roots(*variables, process.memory);
  CHECK(roots.registered ==
        std::vector<Range>{{RemoteAddr{0x7000'0000}, 0x20}, {RemoteAddr{0x7100'0000}, 8}});
  CHECK(roots.handles == std::vector<Range>{{kHandles + 0x18, 24}, {kHandles + 0x118, 8}});
}

TEST_CASE("roots that a stopped thread was changing are said to be missing") {
  Process process;
  const auto variables = process.find();
  REQUIRE(variables);
  CHECK(mono::read_roots(*variables, process.memory).are_all);
  std::size_t registered = 2;
  std::size_t handles = 2;
  SUBCASE("a range is in the table, but not counted yet") {
    process.memory.put(kHash + 0x1c, std::uint32_t{1});
    registered = 0;
  }
  SUBCASE("a thread is about to end") {
    process.memory.put(kNative + 0x110, std::uint64_t{0});
    handles = 0;
  }
  SUBCASE("a chunk of handles is about to be linked") {
    process.memory.put(kHandles + 0x108, std::uint64_t{0});
    handles = 0;
  }
  const auto roots = mono::read_roots(*variables, process.memory);
  CHECK_FALSE(roots.are_all);
  CHECK(roots.registered.size() == registered);
  CHECK(roots.handles.size() == handles);
}

TEST_CASE("variables that are not those of Mono's roots are not taken for them") {
  Process process;
  SUBCASE("the table has fewer entries than it says") {
    process.memory.put(kHash + 0x1c, std::uint32_t{3});
  }
  SUBCASE("an entry ends before it starts") {
    process.put_entry(kEntries, 0x7000'0000, 0x6000'0000, {});
  }
  SUBCASE("the entries are in a circle") {
    process.put_entry(kEntries + 0x20, 0x7100'0000, 0x7100'0009, kEntries);
  }
  SUBCASE("the second thread does not exist") {
    process.memory.put(kNative + 0x110, std::uint64_t{0});
  }
  SUBCASE("the threads are in a circle") {
    process.memory.put(kSecondInfo, kFirstInfo);
  }
  SUBCASE("no thread has handles") {
    process.memory.put(kFirstInfo + kHandlesAt, std::uint64_t{0});
  }
  SUBCASE("a chunk of handles does not point back") {
    process.memory.put(kHandles + 0x108, std::uint64_t{0});
  }
  CHECK_FALSE(process.find());
}

}  // namespace
}  // namespace heapattach
