#include "attach/memory/window.h"

#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/memory/capture.h"

namespace heapattach {

namespace {

constexpr std::size_t kPage = 4096;

// Memory of this process, read as if from outside.
class Numbered {
 public:
  explicit Numbered(std::size_t pages) : bytes_(pages * kPage) {
    void* const mapped =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    words_ = static_cast<std::uint64_t*>(mapped);
    for (std::size_t i = 0; i < bytes_ / 8; ++i) words_[i] = i;
  }
  ~Numbered() { munmap(words_, bytes_); }
  Numbered(const Numbered&) = delete;
  Numbered& operator=(const Numbered&) = delete;

  [[nodiscard]] Range pages(std::size_t first, std::size_t count) const {
    return {{reinterpret_cast<std::uintptr_t>(words_) + first * kPage}, count * kPage};
  }
  std::uint64_t& operator[](std::size_t word) { return words_[word]; }

 private:
  std::size_t bytes_;
  std::uint64_t* words_ = nullptr;
};

std::unique_ptr<Window> open_window(const std::vector<Range>& ranges, std::size_t limit) {
  auto window = Window::open(Fd(open("/proc/self/mem", O_RDONLY | O_CLOEXEC)), ranges, limit);
  REQUIRE(window);
  return std::move(window).value();
}

std::uint64_t word_at(const std::byte* begin, std::size_t word) {
  std::uint64_t value = 0;
  std::memcpy(&value, begin + word * 8, sizeof value);
  return value;
}

// The number of resident pages of this process among `pages`, which begin at `begin`.
std::size_t resident_pages(const std::byte* begin, std::size_t pages) {
  std::vector<unsigned char> present(pages);
  REQUIRE(mincore(const_cast<std::byte*>(begin), pages * kPage, present.data()) == 0);
  std::size_t count = 0;
  for (const unsigned char page : present) count += page & 1U;
  return count;
}

}  // namespace

TEST_CASE("a window shows a whole memory and keeps only a part of it here") {
  constexpr std::size_t kPages = 4096;
  const Numbered memory(kPages);
  const auto window = open_window({memory.pages(0, kPages)}, 1);
  const std::byte* const begin = window->begin_of(0);
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 0; i < kPages * kPage / 8; i += 64) REQUIRE(word_at(begin, i) == i);
  }
  CHECK(resident_pages(begin, kPages) <= 512);
  CHECK(resident_pages(begin, kPages) > 0);
  window->forget();
  CHECK(resident_pages(begin, kPages) == 0);
  CHECK(word_at(begin, 77) == 77);
  CHECK(window->unread_bytes() == 0);
}

TEST_CASE("one thread at a time reads a capture with a window, until the window ends") {
  const Numbered memory(8);
  Capture capture(Arena::reserve(kPage, 0).value());
  CHECK(capture.most_readers() > 1);
  const std::vector<Range> ranges{memory.pages(0, 8)};
  REQUIRE(capture.add_window(Fd(open("/proc/self/mem", O_RDONLY | O_CLOEXEC)), ranges, 1));
  CHECK(capture.most_readers() == 1);
  CHECK(word_at(capture.bytes_from(ranges[0].start).data(), 77) == 77);
  capture.end_window();
  CHECK(capture.most_readers() > 1);
  CHECK(resident_pages(capture.window()->begin_of(0), 8) == 0);
}

TEST_CASE("many threads read through one window at once") {
  constexpr std::size_t kPages = 2048;
  const Numbered memory(kPages);
  const auto window = open_window({memory.pages(0, kPages)}, 1);
  const std::byte* const begin = window->begin_of(0);
  std::vector<std::uint64_t> wrong(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t number = 0; number < wrong.size(); ++number) {
      threads.emplace_back([&wrong, begin, number] {
        std::uint64_t word = number;
        for (int i = 0; i < 10'000; ++i) {
          word = (word * 6364136223846793005U + 1442695040888963407U) % (kPages * kPage / 8);
          wrong[number] += word_at(begin, word) == word ? 0U : 1U;
        }
      });
    }
  }
  for (const std::uint64_t count : wrong) CHECK(count == 0);
}

TEST_CASE("the ranges of a window keep their page offsets, one after the other") {
  Numbered memory(64);
  const Range middle{memory.pages(3, 1).start + 512, 5000};
  const auto window = open_window({memory.pages(0, 1), middle, memory.pages(20, 40)}, 1 << 20);
  CHECK(word_at(window->begin_of(0), 511) == 511);
  CHECK(word_at(window->begin_of(1), 0) == 3 * 512 + 64);
  CHECK(word_at(window->begin_of(1), 624) == 3 * 512 + 64 + 624);
  CHECK(reinterpret_cast<std::uintptr_t>(window->begin_of(1)) % kPage == 512);
  CHECK(word_at(window->begin_of(2), std::size_t{40} * 512 - 1) == std::uint64_t{60} * 512 - 1);
  memory[std::size_t{20} * 512] = 4711;
  CHECK(word_at(window->begin_of(2), 0) == 20 * 512);
  window->forget();
  CHECK(word_at(window->begin_of(2), 0) == 4711);
}

TEST_CASE("unreadable bytes in a window are zero, and counted") {
  const Numbered memory(32);
  const Range gone = memory.pages(4, 2);
  void* const at = reinterpret_cast<void*>(gone.start.value);  // NOLINT(performance-no-int-to-ptr)
  REQUIRE(munmap(at, gone.bytes) == 0);
  const auto window = open_window({memory.pages(0, 32)}, 1 << 20);
  CHECK(word_at(window->begin_of(0), std::size_t{4} * 512 + 1) == 0);
  CHECK(word_at(window->begin_of(0), std::size_t{6} * 512) == 6 * 512);
  CHECK(window->unread_bytes() == 2 * kPage);
}

TEST_CASE("a crash outside a window is a crash, and so is any access in a child") {
  const Numbered memory(32);
  const auto window = open_window({memory.pages(0, 32)}, 1 << 20);
  const auto ends_by = [](const auto& look) {
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGALRM, SIG_DFL);
      alarm(30);
      // The previous crash handler prints a message about this one.
      const int silence = open("/dev/null", O_WRONLY);
      dup2(silence, STDOUT_FILENO);
      dup2(silence, STDERR_FILENO);
      look();
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
  };
  const auto see = [](const std::byte* at) { return *static_cast<const volatile std::byte*>(at); };
  void* const forbidden = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(ends_by([&] { see(window->begin_of(0)); }) != 0);
  CHECK(ends_by([&] { see(static_cast<const std::byte*>(forbidden)); }) != 0);
  munmap(forbidden, kPage);
  CHECK(word_at(window->begin_of(0), 5) == 5);
}

}  // namespace heapattach
