#include "attach/sandbox/confined.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/base/sanitized.h"
#include "attach/sandbox/open_file.h"
#include "attach/sandbox/sandbox.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {

namespace {

// The output of a confined process, and how it ended.
struct Said {
  std::string text;
  std::string notes;
  int status = 0;
};

std::string read_pipe(int fd) {
  std::string text;
  std::array<char, 256> piece{};
  for (ssize_t size = 0; (size = ::read(fd, piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return text;
}

void write_pipe(int fd, const std::string& text) {
  [[maybe_unused]] const ssize_t written = ::write(fd, text.data(), text.size());
}

// Runs `work` in a child, because confinement cannot be undone.
Said confined(const BrokerDuties& duties, const std::function<std::string()>& work) {
  std::array<int, 2> said{};
  std::array<int, 2> notes{};
  REQUIRE(::pipe2(said.data(), O_CLOEXEC) == 0);
  REQUIRE(::pipe2(notes.data(), O_CLOEXEC) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto done = confine(duties);
    for (const std::string& note : done->notes) write_pipe(notes[1], note);
    write_pipe(said[1], work());
    ::_exit(0);
  }
  for (const int fd : {said[1], notes[1]}) ::close(fd);
  Said result;
  result.text = read_pipe(said[0]);
  result.notes = read_pipe(notes[0]);
  for (const int fd : {said[0], notes[0]}) ::close(fd);
  REQUIRE(::waitpid(pid, &result.status, 0) == pid);
  return result;
}

bool has_walls() {
  static const bool has = !kIsSanitized && confined({}, [] { return ""; }).notes.empty();
  if (!has) MESSAGE("skipped: rights cannot be given up here");
  return has;
}

// The text of a file, or the reason why it could not be opened.
std::string outcome(const Result<Fd>& file) {
  if (!file) return file.error().message();
  std::array<char, 64> text{};
  const ssize_t size = ::read(file->get(), text.data(), text.size());
  return std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

std::string made_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("a confined process gets the named files, and no others") {
  const TemporaryDirectory directory;
  const std::string named = made_file(directory.file("named"), "heap");
  const std::string other = made_file(directory.file("other"), "secret");
  BrokerDuties duties;
  duties.files = {named};
  CHECK(confined(duties, [&] { return outcome(Fd::open(named, O_RDONLY)); }).text == "heap");
  CHECK(confined(duties, [&] { return outcome(open_regular(named)); }).text == "heap");
  const Said refused = confined(duties, [&] { return outcome(Fd::open(other, O_RDONLY)); });
  CHECK(refused.text == "open " + other + ": not one of the named files");
  const Said below =
      confined(duties, [&] { return outcome(open_below_by_broker(directory.file(""), "named")); });
  CHECK(below.text.find("not one of the named files") != std::string::npos);
}

TEST_CASE("a file that is named twice is read twice from its beginning") {
  const TemporaryDirectory directory;
  const std::string named = made_file(directory.file("named"), "heap");
  BrokerDuties duties;
  duties.files = {named};
  const Said twice = confined(duties, [&] {
    return outcome(Fd::open(named, O_RDONLY)) + outcome(Fd::open(named, O_RDONLY));
  });
  CHECK(twice.text == "heapheap");
}

TEST_CASE("a core file's process may have files anywhere, but devices are not opened") {
  const TemporaryDirectory directory;
  const std::string other = made_file(directory.file("other"), "library");
  BrokerDuties duties;
  duties.opens_any_file = true;
  CHECK(confined(duties, [&] { return outcome(Fd::open(other, O_RDONLY)); }).text == "library");
  CHECK(confined(duties, [] { return outcome(Fd::open("/dev/zero", O_RDONLY)); }).text ==
        "/dev/zero is not a regular file");
  const Said below = confined(
      duties, [&] { return outcome(open_below_by_broker(directory.file(""), "../../../other")); });
  CHECK(below.text == "library");  // `..` at the root is the root
  REQUIRE(::symlink("/etc/passwd", directory.file("link").c_str()) == 0);
  const Said outside =
      confined(duties, [&] { return outcome(open_below_by_broker(directory.file(""), "link")); });
  CHECK(outside.text.find("No such file") != std::string::npos);
}

TEST_CASE(
    "the broker publishes the output when it is asked to, and ends with the confined process") {
  const TemporaryDirectory directory;
  const std::string name = directory.file("published");
  const std::string end = directory.file("ended");
  BrokerDuties duties;
  duties.publish = [&]() -> Result<void> {
    if (::access(name.c_str(), F_OK) == 0) return os_error("name " + name, EEXIST);
    made_file(name, "");
    return {};
  };
  duties.end = [&] { made_file(end, ""); };
  const Said said = confined(duties, [&] {
    const auto first = publish_by_broker();
    const auto second = publish_by_broker();
    return (first ? "named; " : first.error().message()) + second.error().message();
  });
  CHECK(said.text == "named; name " + name + ": File exists");
  for (int i = 0; i < 10'000 && ::access(end.c_str(), F_OK) != 0; ++i) ::usleep(1000);
  CHECK(::access(end.c_str(), F_OK) == 0);
}

TEST_CASE("a confined process has no rights") {
  if (!has_walls()) return;
  const auto tried = [](const std::function<bool()>& fails) {
    return confined({}, [&] { return fails() ? std::to_string(errno) : std::string("allowed"); });
  };
  const std::string denied = std::to_string(EPERM);
  CHECK(tried([] { return ::open("/etc/hostname", O_RDONLY) < 0; }).text == denied);
  CHECK(tried([] { return ::open("/tmp/new", O_WRONLY | O_CREAT, 0600) < 0; }).text == denied);
  CHECK(tried([] { return ::kill(::getppid(), 0) < 0; }).text == denied);
  CHECK(tried([] {
          return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                 MAP_FAILED;
        }).text == denied);
  CHECK(tried([] { return ::fcntl(0, F_SETOWN, 1) < 0; }).text == denied);
  const auto killer = [&](const std::function<bool()>& call) {
    const Said said = tried(call);
    return said.text.empty() && WIFSIGNALED(said.status) ? WTERMSIG(said.status) : 0;
  };
  CHECK(killer([] { return ::socket(AF_INET, SOCK_STREAM, 0) < 0; }) == SIGSYS);
  CHECK(killer([] { return ::execl("/bin/true", "true", nullptr) < 0; }) == SIGSYS);
  CHECK(killer([] { return ::unlink("/tmp/none") < 0; }) == SIGSYS);
  if (::geteuid() != 0) return;
  CHECK(confined({}, [] { return std::to_string(::geteuid()); }).text == "65534");
}

TEST_CASE("a confined process still has threads, and workers in sandboxes of their own") {
  const Said threads = confined({}, [] {
    int sum = 0;
    std::thread([&sum] { sum = 42; }).join();
    return std::to_string(sum);
  });
  CHECK(threads.text == "42");
  const auto work = [](const std::function<void(SandboxOutput&)>& inside) {
    return confined({}, [&]() -> std::string {
      SandboxLimits limits;
      limits.time = std::chrono::seconds(10);
      const auto result = run_sandboxed(inside, limits);
      if (!result) return result.error().message();
      return {reinterpret_cast<const char*>(result->output.data()), result->output.size()};
    });
  };
  CHECK(work([](SandboxOutput& out) {
          out.write(std::as_bytes(std::span(std::string_view("from the worker"))));
        }).text == "from the worker");
  if (!has_walls()) return;
  CHECK(work([](SandboxOutput&) { ::execl("/bin/true", "true", nullptr); }).text ==
        "the worker made a system call that it should not need");
}

TEST_CASE("a directory that is swapped for a link while a file is opened opens no other file") {
  const TemporaryDirectory directory;
  const std::string root = directory.file("root");
  const std::string outside = directory.file("outside");
  for (const std::string& path : {root, root + "/real", outside}) ::mkdir(path.c_str(), 0700);
  made_file(root + "/real/file", "inside");
  made_file(outside + "/file", "outside");
  REQUIRE(::symlink(outside.c_str(), (root + "/link").c_str()) == 0);
  REQUIRE(::symlink("real", (root + "/way").c_str()) == 0);
  std::atomic<bool> is_over{false};
  std::thread swapping([&] {
    while (!is_over) {
      for (const char* to : {"link", "real"}) {
        const std::string fresh = root + "/fresh";
        [[maybe_unused]] const int made = ::symlink(to, fresh.c_str());
        ::rename(fresh.c_str(), (root + "/way").c_str());
      }
      ::renameat2(AT_FDCWD, (root + "/real").c_str(), AT_FDCWD, (root + "/link").c_str(),
                  RENAME_EXCHANGE);
    }
  });
  const Fd opened = Fd::open(root, O_PATH | O_DIRECTORY).value();
  int inside = 0;
  int wrong = 0;
  for (int tries = 0; inside < 200 && tries < 1'000'000; ++tries) {
    const auto file = open_below(opened, "way/file");
    if (!file) continue;
    (outcome(file) == "inside" ? inside : wrong) += 1;
  }
  is_over = true;
  swapping.join();
  CHECK(inside == 200);
  CHECK(wrong == 0);
}

}  // namespace heapattach
