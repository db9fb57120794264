#include "report/format/write/output_file.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temporary_directory.h"

namespace heapattach {

namespace {

Result<void> write_file(const std::string& name, const std::string& text, bool force = false) {
  OutputFile file(HA_TRY(OpenOutput::file(name, force, {})), {});
  HA_TRY(file.write(text));
  return file.finish();
}

std::string content(const std::string& name) {
  const auto fd = Fd::open(name, O_RDONLY);
  REQUIRE(fd);
  const auto text = read_all(*fd, 1 << 20);
  REQUIRE(text);
  return *text;
}

Deadline soon() {
  Deadline deadline;
  deadline.at = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  return deadline;
}

}  // namespace

TEST_CASE("a finished file appears whole, for its owner alone, and nothing else does") {
  const TemporaryDirectory directory;
  const std::string name = directory.file("heap.jsonl");
  const mode_t before = ::umask(0);
  SUBCASE("with an open umask") {}
  SUBCASE("with one that forbids everything") {
    ::umask(0777);
  }
  const auto written = write_file(name, "text");
  ::umask(before);
  REQUIRE(written);
  CHECK(content(name) == "text");
  struct stat status {};
  REQUIRE(::stat(name.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  CHECK(directory.entries() == 1);
}

TEST_CASE("an unfinished file does not appear") {
  const TemporaryDirectory directory;
  {
    auto output = OpenOutput::file(directory.file("x"), false, {});
    REQUIRE(output);
    OutputFile file(std::move(output).value(), {});
    REQUIRE(file.write("half"));
  }
  CHECK(directory.entries() == 0);
}

TEST_CASE("an existing file is replaced only by force") {
  const TemporaryDirectory directory;
  const std::string name = directory.file("x");
  REQUIRE(write_file(name, "first"));
  const auto second = write_file(name, "second");
  REQUIRE_FALSE(second);
  CHECK(second.error().message().find(name) != std::string::npos);
  CHECK(second.error().message().find("--force") != std::string::npos);
  CHECK(content(name) == "first");
  REQUIRE(write_file(name, "second", true));
  CHECK(content(name) == "second");
  CHECK(directory.entries() == 1);
}

TEST_CASE("a file that was created in the meantime is not replaced") {
  const TemporaryDirectory directory;
  const std::string name = directory.file("x");
  auto output = OpenOutput::file(name, false, {});
  REQUIRE(output);
  OutputFile file(std::move(output).value(), {});
  REQUIRE(file.write("ours"));
  REQUIRE(write_file(name, "theirs"));
  CHECK_FALSE(file.finish());
  CHECK(content(name) == "theirs");
}

TEST_CASE("nothing is written through a symbolic link") {
  const TemporaryDirectory directory;
  const std::string target = directory.file("target");
  const std::string link = directory.file("link");
  bool is_dangling = false;
  SUBCASE("to a file") {
    REQUIRE(write_file(target, "precious"));
  }
  SUBCASE("to nothing") {
    is_dangling = true;
  }
  REQUIRE(::symlink(target.c_str(), link.c_str()) == 0);
  CHECK_FALSE(write_file(link, "secret"));
  REQUIRE(write_file(link, "secret", true));  // replaces the link itself
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(link)));
  if (is_dangling) {
    CHECK_FALSE(std::filesystem::exists(target));
  } else {
    CHECK(content(target) == "precious");
  }
}

TEST_CASE("swapping the directory in the meantime causes no half-written file") {
  const TemporaryDirectory directory;
  const std::string place = directory.file("place");
  const std::string other = directory.file("other");
  const std::string aside = directory.file("aside");
  REQUIRE(::mkdir(place.c_str(), 0700) == 0);
  REQUIRE(::mkdir(other.c_str(), 0700) == 0);
  std::jthread swapping([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      // The path is a directory, a link to another directory, or nothing, in turns.
      (void)::rename(place.c_str(), aside.c_str());
      (void)::symlink(other.c_str(), place.c_str());
      (void)::unlink(place.c_str());
      (void)::rename(aside.c_str(), place.c_str());
    }
  });
  const std::string text(10'000, 'x');
  int written = 0;
  // If the other thread is suspended in between, the path does not exist for a while.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (int i = 0; i < 3000 || (written == 0 && std::chrono::steady_clock::now() < end); ++i) {
    if (write_file(place + "/heap." + std::to_string(i), text)) ++written;
  }
  swapping.request_stop();
  swapping.join();
  int found = 0;
  for (const std::string& where : {place, other}) {
    for (const auto& entry : std::filesystem::directory_iterator(where)) {
      ++found;
      CHECK(content(entry.path()) == text);
      struct stat status {};
      REQUIRE(::lstat(entry.path().c_str(), &status) == 0);
      CHECK((S_ISREG(status.st_mode) && (status.st_mode & 07777) == 0600));
    }
  }
  CHECK(found == written);
  CHECK(written > 0);
}

TEST_CASE("a hard link's other name keeps its content") {
  const TemporaryDirectory directory;
  REQUIRE(write_file(directory.file("a"), "precious"));
  REQUIRE(::link(directory.file("a").c_str(), directory.file("b").c_str()) == 0);
  REQUIRE(write_file(directory.file("b"), "secret", true));
  CHECK(content(directory.file("a")) == "precious");
}

TEST_CASE("a path that is not and cannot become a file is refused") {
  const TemporaryDirectory directory;
  CHECK_FALSE(write_file(directory.file("missing/x"), "text"));
  CHECK_FALSE(write_file(directory.file("."), "text", true));
  CHECK_FALSE(write_file(directory.file(""), "text", true));
  CHECK_FALSE(write_file("/proc/self/status", "text", true));
  CHECK_FALSE(write_file("/dev/fd/98765", "text"));
  CHECK(write_file("/dev/null", "text"));
}

TEST_CASE("a full device fails the write") {
  const auto written = write_file("/dev/full", "text");
  REQUIRE_FALSE(written);
  CHECK(written.error().os_errno == ENOSPC);
}

TEST_CASE("a FIFO is written to directly, and waited for until the deadline") {
  const TemporaryDirectory directory;
  const std::string name = directory.file("fifo");
  REQUIRE(::mkfifo(name.c_str(), 0600) == 0);
  const auto late = OpenOutput::file(name, true, soon());
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == ErrorKind::Timeout);
  const auto reader = Fd::open(name, O_RDONLY | O_NONBLOCK);
  REQUIRE(reader);
  REQUIRE(write_file(name, "text", true));
  CHECK(*read_all(*reader, 100) == "text");
}

TEST_CASE("a FIFO is written to only by force, and never if another user may have made it") {
  constexpr uid_t kOther = 65534;
  const TemporaryDirectory directory;
  const std::string name = directory.file("fifo");
  REQUIRE(::mkfifo(name.c_str(), 0666) == 0);
  const auto reader = Fd::open(name, O_RDONLY | O_NONBLOCK);
  REQUIRE(reader);
  const auto refused = [&](bool force) {
    const auto written = write_file(name, "text", force);
    const auto read = read_all(*reader, 100);
    const bool is_empty = !read || read->empty();
    return !written && written.error().os_errno == EACCES && is_empty;
  };
  CHECK(refused(false));
  REQUIRE(write_file(name, "text", true));
  CHECK(*read_all(*reader, 100) == "text");
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give files to others");
    return;
  }
  REQUIRE(::chown(name.c_str(), kOther, kOther) == 0);
  CHECK(refused(true));
  // Makes the directory like /tmp, for all users but root.
  REQUIRE(::chown(name.c_str(), 0, 0) == 0);
  const std::string above = name.substr(0, name.rfind('/'));
  REQUIRE(::chmod(above.c_str(), 01777) == 0);
  CHECK_FALSE(refused(true));
  REQUIRE(::chown(above.c_str(), kOther, kOther) == 0);
  CHECK(refused(true));
}

TEST_CASE("writing to a pipe without a reader ends at the deadline, and to a closed pipe at once") {
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  Fd reader(ends[0]);
  const Fd writer(ends[1]);
  const std::string name = "/dev/fd/" + std::to_string(writer.get());
  const std::string much(1 << 20, 'x');
  SUBCASE("it has no reader") {
    auto output = OpenOutput::file(name, false, {});
    REQUIRE(output);
    OutputFile file(std::move(output).value(), soon());
    const auto written = file.write(much);
    REQUIRE_FALSE(written);
    CHECK(written.error().kind == ErrorKind::Timeout);
  }
  SUBCASE("it is closed") {
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    reader.reset();
    const auto written = write_file(name, much);
    std::signal(SIGPIPE, before);
    REQUIRE_FALSE(written);
    CHECK(written.error().os_errno == EPIPE);
  }
  SUBCASE("it is read") {
    std::string got;
    std::jthread reading([&] {
      auto text = read_all(reader, much.size());
      if (text) got = *text;
    });
    REQUIRE(write_file(name, much));
    reading.join();
    CHECK(got == much);
  }
}

TEST_CASE("a name is made of pid, host and time, and cannot contain a path") {
  CHECK(expand_name("heap.%p.%h.%t.jsonl", 4711, "ci-7", "20261120T113407Z") ==
        "heap.4711.ci-7.20261120T113407Z.jsonl");
  CHECK(expand_name("dir/100%%-%x-%", 1, "h", "t") == "dir/100%-%x-%");
  CHECK(expand_name("dir/%h", 1, "../../etc", "t") == "dir/.._.._etc");
}

}  // namespace heapattach
