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
  const auto first = untouched.first_part(memory.range());
  CHECK(first.is_untouched);
  CHECK(first.bytes == 1 << 20);
  const auto second = untouched.first_part({memory.start() + first.bytes, kBytes - first.bytes});
  CHECK_FALSE(second.is_untouched);
  CHECK(second.bytes == page_bytes());
  // What is short is read.
  CHECK_FALSE(untouched.first_part({memory.start(), 4096}).is_untouched);

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

// A child's page tables say nothing about such memory until the child touches it.
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

TEST_CASE("without a pagemap all memory counts as touched") {
  const UntouchedMemory unknown{Fd(), Fd()};
  const auto part = unknown.first_part({RemoteAddr{0x10000}, kBytes});
  CHECK(part.bytes == kBytes);
  CHECK_FALSE(part.is_untouched);
  CHECK(unknown.first_part({RemoteAddr{0x10000}, 0}).bytes == 0);
}

}  // namespace heapattach
