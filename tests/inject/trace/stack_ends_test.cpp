// Tests what the blob is told about threads and stacks.

#include "inject/trace/stack_ends.h"

#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "inject/trace/thread_table.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach::trace {

namespace {

NumberedThread thread_with(std::uint32_t number, const std::vector<std::size_t>& at) {
  NumberedThread thread{.number = number, .memory = std::vector<std::byte>(2048)};
  for (const std::size_t offset : at) {
    std::memcpy(thread.memory.data() + offset, &number, sizeof number);
  }
  return thread;
}

Mapping mapping(std::uint64_t begin, std::uint64_t end, bool is_usable = true) {
  Mapping one;
  one.range = {RemoteAddr{begin}, end - begin};
  one.readable = is_usable;
  one.writable = is_usable;
  return one;
}

}  // namespace

TEST_CASE("the offset of a thread's number is that of the usual libraries, or one that all share") {
  const auto offset = [](std::vector<NumberedThread> threads) { return offset_of_number(threads); };
  CHECK(offset({thread_with(4711, {0x18, 0x2d0})}) == 0x2d0);
  CHECK(offset({thread_with(4711, {0x30})}) == 0x30);
  CHECK(offset({thread_with(1, {0x18})}) == 0);  // one thread may have its number there by chance
  CHECK(offset({thread_with(1, {0x18, 0x400}), thread_with(2, {0x400})}) == 0x400);
  CHECK(offset({thread_with(1, {0x18}), thread_with(2, {0x400})}) == 0);
  CHECK(offset({}) == 0);
}

TEST_CASE("a span of memory has no gap and nothing that cannot be written") {
  const MemoryMap map({mapping(0x1000, 0x2000), mapping(0x2000, 0x3000, false),
                       mapping(0x3000, 0x5000), mapping(0x5000, 0x6000), mapping(0x7000, 0x8000)});
  CHECK(begin_of_span(map, 0x6000) == 0x3000);
  CHECK(begin_of_span(map, 0x5800) == 0x3000);
  CHECK(begin_of_span(map, 0x5000) == 0x3000);
  CHECK(begin_of_span(map, 0x7800) == 0x7000);
  CHECK(begin_of_span(map, 0x2000) == 0x1000);
  CHECK(begin_of_span(map, 0x2800) == 0x2800);
  CHECK(begin_of_span(map, 0x6800) == 0x6800);
  CHECK(begin_of_span(map, 0x9000) == 0x9000);
  CHECK(begin_of_span(map, 0x800) == 0x800);
}

TEST_CASE("a thread's own stack is known from what its C library has noted") {
  constexpr std::uint64_t kPointer = 0x7f00000ff6c0;
  std::vector<std::byte> memory(2048);
  const auto put = [&](std::size_t at, std::uint64_t first, std::uint64_t second) {
    const std::uint64_t words[] = {first, second};
    std::memcpy(memory.data() + at, words, sizeof words);
  };
  put(0, kPointer, 0x5500000004d0);
  put(16, kPointer, 1);
  CHECK_FALSE(stack_of_thread(memory, kPointer));
  put(0x300, 0x7effffd00000, 0x1000);                  // ends below the pointer
  put(0x320, 0x7effffd00000, std::uint64_t{1} << 30);  // ends too far above it
  CHECK_FALSE(stack_of_thread(memory, kPointer));
  put(0x70, 0x7f00000ff000, 0x20000);  // as in musl
  REQUIRE(stack_of_thread(memory, kPointer));
  CHECK(stack_of_thread(memory, kPointer)->start == RemoteAddr{0x7f00000df000});
  CHECK(stack_of_thread(memory, kPointer)->bytes == 0x20000);
  put(0x690, 0x7f00000c0000, 0x40000);  // as in glibc
  REQUIRE(stack_of_thread(memory, kPointer));
  CHECK(stack_of_thread(memory, kPointer)->start == RemoteAddr{0x7f00000c0000});
  CHECK_FALSE(stack_of_thread({}, kPointer));
}

TEST_CASE(
    "the collector's table of threads is known by its records, which are all in their places") {
  // The forms of 8.3, and of 7.6 to 8.2.
  const std::vector<ThreadRecordForm> forms = {{2, 3, 0x33, 1, 2}, {1, 5, 0xff'ffff'011f, 0, 6}};
  constexpr std::uint64_t kData = 0x10000;
  constexpr std::uint64_t kTable = kData + 0x400;
  constexpr std::uint64_t kRecords = 0x20000;
  constexpr std::uint64_t kStacks = 0x7f0000000000;
  FakeMemory memory;
  memory.map_zero(RemoteAddr{kData}, 0x2000);
  memory.map_zero(RemoteAddr{kRecords}, 0x1000);
  memory.map_zero(RemoteAddr{kStacks}, 0x10000);
  const MemoryMap map({mapping(kData, kData + 0x2000), mapping(kRecords, kRecords + 0x1000),
                       mapping(kStacks, kStacks + 0x10000)});
  const auto add = [&](std::uint64_t thread, std::uint64_t record, std::uint64_t list) {
    memory.put(RemoteAddr{record + 8}, thread);
    memory.put(RemoteAddr{record + 6 * 8}, kStacks + 0x10000);  // 7.6 to 8.2
    memory.put(RemoteAddr{kTable + list * 8}, record);
  };
  constexpr std::uint64_t kFirst = kStacks + 0x1740;
  constexpr std::uint64_t kSecond = kStacks + 0x26c0;
  const auto find = [&] {
    return find_thread_table(memory, map, RemoteAddr{kData + 8}, {kSecond}, forms);
  };
  add(kFirst, kRecords, 0x40 ^ 0x17);
  CHECK_FALSE(find());
  add(kSecond, kRecords + 0x100, 0xc0 ^ 0x26);
  const auto table = find();
  REQUIRE(table);
  CHECK(table->at == RemoteAddr{kTable});
  CHECK(table->id_at == 8);
  CHECK(table->end_at == 6 * 8);
  CHECK(table->part_at == 0);
  CHECK(table->list_of(kFirst) == RemoteAddr{kTable + (0x40 ^ 0x17) * 8});
  // A record in the wrong list proves that this is not the table.
  add(kFirst, kRecords, 3);
  CHECK_FALSE(find());
}

namespace {

class CountedMemory final : public MemoryReader {
 public:
  explicit CountedMemory(const MemoryReader& memory) : memory_(memory) {}
  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override {
    ++reads;
    return memory_.read_some(from, into);
  }

  mutable std::size_t reads = 0;

 private:
  const MemoryReader& memory_;
};

}  // namespace

TEST_CASE("data that looks like a table of threads everywhere costs a bounded number of reads") {
  const std::vector<ThreadRecordForm> forms = {{1, 5, 0xff'ffff'011f, 0, 6}};
  constexpr std::uint64_t kData = 0x10000;
  constexpr std::uint64_t kWords = 16'384;
  constexpr std::uint64_t kRecord = 0x100000;
  // Both hashes put this thread in the first list.
  constexpr std::uint64_t kThread = 0x7f0000000000;
  FakeMemory memory;
  memory.map_zero(RemoteAddr{kData}, kWords * 8);
  memory.map_zero(RemoteAddr{kRecord}, 0x1000);
  memory.map_zero(RemoteAddr{kThread}, 0x1000);
  const MemoryMap map({mapping(kData, kData + kWords * 8), mapping(kRecord, kRecord + 0x1000),
                       mapping(kThread, kThread + 0x1000)});
  for (std::uint64_t i = 0; i < kWords; ++i) memory.put(RemoteAddr{kData + i * 8}, kRecord);
  memory.put(RemoteAddr{kRecord}, kRecord);  // and so on without end
  memory.put(RemoteAddr{kRecord + 8}, kThread);
  memory.put(RemoteAddr{kRecord + 6 * 8}, kThread + 0x1000);
  const CountedMemory counted(memory);
  CHECK_FALSE(find_thread_table(counted, map, RemoteAddr{kData}, {kThread}, forms));
  CHECK(counted.reads > 50'000);  // the lists were followed
  CHECK(counted.reads < 250'000);
}

}  // namespace heapattach::trace
