#include "inject/trace/reader.h"

#include <csignal>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heapattach::trace {

namespace {

constexpr std::size_t kPage = 4096;

// A process with heapattach's name that reads the ring in `file`. The ring comes after `lines`
// other lines in its maps.
class Reader {
 public:
  Reader(int file, std::size_t lines) {
    int ready[2] = {-1, -1};
    REQUIRE(pipe(ready) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      // The kernel lists the lower addresses first, and merges neighbours that are alike.
      void* const room =
          mmap(nullptr, (lines + 1) * kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      auto* const begin = static_cast<std::byte*>(room);
      for (std::size_t i = 0; i < lines; i += 2) mprotect(begin + i * kPage, kPage, PROT_NONE);
      mmap(begin + lines * kPage, kPage, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0);
      static_cast<void>(write(ready[1], "", 1));
      for (;;) pause();
    }
    char word = 0;
    REQUIRE(read(ready[0], &word, 1) == 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Reader() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// The maps of a process that has mapped the ring.
MemoryMap map_with(const Fd& file) {
  void* const ring = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file.get(), 0);
  REQUIRE(ring != MAP_FAILED);
  const Fd maps = Fd::open("/proc/self/maps", O_RDONLY).value();
  const std::string text = read_all(maps, std::size_t{64} << 20).value();
  munmap(ring, kPage);
  return parse_maps(text).value();
}

}  // namespace

TEST_CASE("the reader of a ring is searched for no longer than the limits allow") {
  const Fd file(memfd_create(kRingName, MFD_CLOEXEC));
  REQUIRE(ftruncate(file.get(), kPage) == 0);
  const Process target = Process::open(getppid()).value();
  const MemoryMap map = map_with(file);
  constexpr std::size_t kLines = 8000;
  constexpr std::size_t kSome = std::size_t{64} << 10;
  CHECK(reader_of(target, map, {}) == 0);
  const Reader reader(file.get(), kLines);
  CHECK(reader_of(target, map, {}, {.time = std::chrono::minutes(1)}) == reader.pid());
  CHECK(reader_of(target, map, {}, {.maps_bytes = kSome}) == 0);
  CHECK(reader_of(target, map, {}, {.all_bytes = kSome}) == 0);
  CHECK(reader_of(target, map, {}, {.time = std::chrono::milliseconds(0)}) == 0);
}

}  // namespace heapattach::trace
