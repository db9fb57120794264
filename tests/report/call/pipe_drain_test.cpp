// Tests that everything that is written to a pipe is taken, and that a writer which stalls is
// reported once.

#include "report/call/pipe_drain.h"

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

namespace heapattach {

namespace {

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    reading = Fd(ends[0]);
    writing = Fd(ends[1]);
  }
  void write(const std::string& text) const {
    CHECK(::write(writing.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

  Fd reading;
  Fd writing;
};

}  // namespace

TEST_CASE("a writer that writes nothing for long is told of once, and what it wrote is kept") {
  Pipe pipe;
  std::string taken;
  std::atomic<int> stalls = 0;
  PipeDrain drain(
      std::move(pipe.reading),
      [&](std::string_view text) -> Result<void> {
        taken += text;
        return {};
      },
      PipeDrain::Stall{std::chrono::milliseconds(1), [&] { ++stalls; }});
  pipe.write("first ");
  while (stalls == 0) std::this_thread::yield();
  pipe.write("second");
  CHECK(drain.finish());
  CHECK(taken == "first second");
  CHECK(drain.bytes() == taken.size());
  CHECK(stalls == 1);
}

TEST_CASE("a writer that ends early has not stalled") {
  Pipe pipe;
  std::atomic<int> stalls = 0;
  PipeDrain drain(
      std::move(pipe.reading), [](std::string_view) -> Result<void> { return {}; },
      PipeDrain::Stall{std::chrono::hours(1), [&] { ++stalls; }});
  pipe.write("all");
  pipe.writing = Fd();
  CHECK(drain.finish());
  CHECK(drain.bytes() == 3);
  CHECK(stalls == 0);
}

}  // namespace heapattach
