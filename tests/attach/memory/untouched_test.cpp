#include "attach/memory/untouched.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/base/page.h"
#include "attach/memory/live_memory.h"

namespace heapattach {

namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;

// Memory of this process, which a child inherits.
class Mapped {
 public:
  explicit Mapped(int flags, int file = -1)
      : at_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, file, 0)) {
    REQUIRE(at_ != MAP_FAILED);
  }
  ~Mapped() { munmap(at_, kBytes); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  [[nodiscard]] RemoteAddr start() const { return {reinterpret_cast<std::uintptr_t>(at_)}; }
  [[nodiscard]] Range range() const { return {start(), kBytes}; }
  void write(std::size_t offset) { static_cast<char*>(at_)[offset] = 'x'; }

 private:
  void* at_;
};

// A child that only waits, so that nothing but a reader touches its memory.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ == 0) {
      for (;;) pause();
    }
    REQUIRE(pid_ > 0);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] Process process() const {
    auto process = Process::open(pid_);
    REQUIRE(process);
    return std::move(process).value();
  }
  [[nodiscard]] std::size_t present_pages(Range range) const {
    std::ifstream pagemap("/proc/" + std::to_string(pid_) + "/pagemap", std::ios::binary);
    std::vector<std::uint64_t> pages(range.bytes / page_bytes());
    pagemap.seekg(static_cast<std::streamoff>(range.start.value / page_bytes() * 8));
    pagemap.read(reinterpret_cast<char*>(pages.data()),
                 static_cast<std::streamsize>(pages.size() * 8));
    std::size_t present = 0;
    for (const std::uint64_t page : pages) present += page >> 63;
    return present;
  }

 private:
  pid_t pid_;
};

std::size_t written(const std::vector<std::byte>& bytes) {
  return static_cast<std::size_t>(
      std::count_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; }));
}

}  // namespace

TEST_CASE("anonymous memory that was never touched is not read") {
  Mapped memory(MAP_PRIVATE | MAP_ANONYMOUS);
  madvise(reinterpret_cast<void*>(memory.start().value), kBytes, MADV_NOHUGEPAGE);
  memory.write(1 << 20);
  memory.write(kBytes - 1);
  const Child child;
  const Process process = child.process();
  const auto touched = child.present_pages(memory.range());
  CHECK(touched == 2);

  const UntouchedMemory untouched = UntouchedMemory::of(process);
  const auto parts = untouched.first_parts(memory.range());
  REQUIRE(parts.size() == 4);
  CHECK(parts[0].is_untouched);
  CHECK(parts[0].bytes == 1 << 20);
  CHECK_FALSE(parts[1].is_untouched);
  CHECK(parts[1].bytes == page_bytes());
  CHECK(parts[2].is_untouched);
  CHECK_FALSE(parts[3].is_untouched);
  CHECK(parts[3].bytes == page_bytes());
  // A part of a page at either end counts like the whole page.
  const auto within = untouched.first_parts({memory.start() + (1 << 20) + 5, (1 << 20) - 7});
  REQUIRE(within.size() == 2);
  CHECK(within[0].bytes == page_bytes() - 5);
  CHECK(within[0].bytes + within[1].bytes == (1 << 20) - 7);
  // A short range is always read.
  const auto small = untouched.first_parts({memory.start(), 4096});
  REQUIRE(small.size() == 1);
  CHECK_FALSE(small[0].is_untouched);

  auto mem = LiveMemory::open_mem(process);
  REQUIRE(mem);
  const LiveMemory live(process, std::move(mem).value());
  std::vector<std::byte> bytes(kBytes, std::byte{1});
  REQUIRE(live.read(memory.start(), bytes));
  CHECK(written(bytes) == 2);
  CHECK(bytes[1 << 20] == std::byte{'x'});
  CHECK(bytes[kBytes - 1] == std::byte{'x'});
  std::fill(bytes.begin(), bytes.end(), std::byte{1});
  const Copy copy{memory.start() + 3, std::span(bytes).first(kBytes - 3)};
  const auto holes = live.copy_all(std::span(&copy, 1), {});
  REQUIRE(holes);
  CHECK(holes->empty());
  CHECK(bytes[(1 << 20) - 3] == std::byte{'x'});
  CHECK(bytes[kBytes - 4] == std::byte{'x'});
  CHECK(bytes[0] == std::byte{0});
  CHECK(child.present_pages(memory.range()) == touched);
}

// A child's page tables lack the pages of files and of shared memory until the child touches them.
TEST_CASE("absent pages of files and of shared memory are read") {
  const int file = memfd_create("untouched", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  REQUIRE(ftruncate(file, kBytes) == 0);
  REQUIRE(pwrite(file, "x", 1, 2 << 20) == 1);
  Mapped shared(MAP_SHARED | MAP_ANONYMOUS);
  shared.write(2 << 20);
  const Mapped of_file(MAP_PRIVATE, file);
  const Child child;
  const Process process = child.process();
  CHECK(child.present_pages(shared.range()) == 0);
  CHECK(child.present_pages(of_file.range()) == 0);
  auto mem = LiveMemory::open_mem(process);
  REQUIRE(mem);
  const LiveMemory live(process, std::move(mem).value());
  for (const Range range : {shared.range(), of_file.range()}) {
    std::vector<std::byte> bytes(kBytes);
    REQUIRE(live.read(range.start, bytes));
    CHECK(bytes[2 << 20] == std::byte{'x'});
  }
  close(file);
}

TEST_CASE("memory that the process must not read is still unreadable") {
  Mapped memory(MAP_PRIVATE | MAP_ANONYMOUS);
  REQUIRE(mprotect(reinterpret_cast<void*>(memory.start().value), kBytes, PROT_NONE) == 0);
  const Child child;
  const Process process = child.process();
  auto mem = LiveMemory::open_mem(process);
  REQUIRE(mem);
  const LiveMemory live(process, std::move(mem).value());
  std::vector<std::byte> bytes(kBytes);
  CHECK_FALSE(live.read(memory.start(), bytes));
  const Copy copy{memory.start(), bytes};
  const auto holes = live.copy_all(std::span(&copy, 1), {});
  REQUIRE(holes);
  CHECK(*holes == std::vector<Range>{memory.range()});
}

// The memory of a child is only changed by the child itself; this one does so on request.
TEST_CASE("memory is judged by what it is, not by what it was") {
  Mapped memory(MAP_PRIVATE | MAP_ANONYMOUS);
  const int file = memfd_create("later", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  REQUIRE(ftruncate(file, kBytes) == 0);
  REQUIRE(pwrite(file, "x", 1, 2 << 20) == 1);
  int ask[2];
  int answer[2];
  REQUIRE(pipe(ask) == 0);
  REQUIRE(pipe(answer) == 0);
  void* const at = reinterpret_cast<void*>(memory.start().value);
  const pid_t pid = fork();
  if (pid == 0) {
    char letter = 0;
    if (read(ask[0], &letter, 1) != 1) _exit(1);
    if (mmap(at, kBytes, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) != at) _exit(1);
    if (write(answer[1], &letter, 1) != 1) _exit(1);
    for (;;) pause();
  }
  const auto process = Process::open(pid);
  REQUIRE(process);
  auto mem = LiveMemory::open_mem(*process);
  REQUIRE(mem);
  const LiveMemory live(*process, std::move(mem).value());
  std::vector<std::byte> bytes(kBytes);
  REQUIRE(live.read(memory.start(), bytes));
  CHECK(written(bytes) == 0);
  char letter = 'x';
  REQUIRE(write(ask[1], &letter, 1) == 1);
  REQUIRE(read(answer[0], &letter, 1) == 1);
  REQUIRE(live.read(memory.start(), bytes));
  CHECK(written(bytes) == 1);
  std::fill(bytes.begin(), bytes.end(), std::byte{1});
  const Copy copy{memory.start(), bytes};
  REQUIRE(live.copy_all(std::span(&copy, 1), {}));
  CHECK(bytes[2 << 20] == std::byte{'x'});
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  for (const int end : {ask[0], ask[1], answer[0], answer[1], file}) close(end);
}

TEST_CASE("without a pagemap all memory counts as touched") {
  const UntouchedMemory unknown{Fd(), Fd()};
  const auto parts = unknown.first_parts({RemoteAddr{0x10000}, kBytes});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].bytes == kBytes);
  CHECK_FALSE(parts[0].is_untouched);
  CHECK(unknown.first_parts({RemoteAddr{0x10000}, 0}).empty());
  const auto past_the_end = UntouchedMemory::of(Child().process())
                                .first_parts({RemoteAddr{~std::uint64_t{0} - 100}, kBytes});
  REQUIRE(past_the_end.size() == 1);
  CHECK_FALSE(past_the_end[0].is_untouched);
}

}  // namespace heapattach
