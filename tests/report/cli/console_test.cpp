#include "report/cli/console.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "report/cli/errors.h"
#include "report/cli/summary.h"
#include "report/cli/text_style.h"
#include "report/text/human_bytes.h"
#include "symbols/malloc/source.h"

namespace heapattach {

namespace {

// The output of a console with these settings.
template <class Talk>
std::string heard(Console::Settings settings, const Talk& talk) {
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  settings.fd = writer.get();
  {
    Console console(settings);
    talk(console);
  }
  writer.reset();
  auto text = read_all(reader, 65536);
  REQUIRE(text);
  return *text;
}

}  // namespace

TEST_CASE("a dumb terminal and a locale that is not of UTF-8 get plain ASCII") {
  Surroundings around;
  CHECK_FALSE(wants_ascii(around, true));
  around.term = "dumb";
  CHECK(wants_ascii(around, true));
  CHECK_FALSE(wants_ascii(around, false));
  around = {.term = "xterm", .lc_all = "", .lc_ctype = nullptr, .lang = "C"};
  CHECK(wants_ascii(around, false));
  around.lc_ctype = "de_DE.UTF-8";
  CHECK_FALSE(wants_ascii(around, false));
  around.lc_all = "C.utf8";
  CHECK_FALSE(wants_ascii(around, true));
  around.lc_all = "POSIX";
  CHECK(wants_ascii(around, true));
}

TEST_CASE("messages for a full pipe are written later if we may not wait for the reader") {
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  REQUIRE(::fcntl(writer.get(), F_SETPIPE_SZ, 4096) == 4096);
  const std::string full(4096, '.');
  REQUIRE(::write(writer.get(), full.data(), full.size()) == 4096);
  Console::Settings settings;
  settings.fd = writer.get();
  Console console(settings);
  std::array<char, 4096> taken{};
  {
    const Console::Unwaiting unwaiting(console);
    console.say("first");  // must not wait, although the pipe is full
    console.say("second");
    REQUIRE(::read(reader.get(), taken.data(), taken.size()) == 4096);
    console.say("third");  // the pipe has room again
    REQUIRE(::read(reader.get(), taken.data(), taken.size()) == 19);
    CHECK(std::string(taken.data(), 19) == "first\nsecond\nthird\n");
    REQUIRE(::write(writer.get(), full.data(), full.size()) == 4096);
    console.say("last");
    REQUIRE(::read(reader.get(), taken.data(), taken.size()) == 4096);
  }
  REQUIRE(::read(reader.get(), taken.data(), taken.size()) == 5);
  CHECK(std::string(taken.data(), 5) == "last\n");
}

TEST_CASE("messages are ASCII if nothing else can be shown") {
  Console::Settings settings;
  settings.is_ascii = true;
  CHECK(heard(settings, [](Console& console) { console.error("a → b… caf\u00e9"); }) ==
        "heapattach: a -> b... caf\\u{e9}\n");
}

TEST_CASE("colour is for terminals, unless it is requested or refused") {
  CHECK(wants_colour(ColourChoice::Auto, true, nullptr));
  CHECK(wants_colour(ColourChoice::Auto, true, ""));
  CHECK_FALSE(wants_colour(ColourChoice::Auto, true, "1"));
  CHECK_FALSE(wants_colour(ColourChoice::Auto, false, nullptr));
  CHECK(wants_colour(ColourChoice::Always, false, "1"));
  CHECK_FALSE(wants_colour(ColourChoice::Never, true, nullptr));
}

TEST_CASE("quiet silences everything but errors, verbose prints the steps") {
  const auto talk = [](Console& console) {
    console.step("looking");
    console.say("found");
    console.error("failed on \x1b[2J");
    console.progress("objects", 1, 2);  // too early to be shown
  };
  CHECK(heard({}, talk) == "found\nheapattach: failed on \\x1b[2J\n");
  Console::Settings quiet;
  quiet.quiet = true;
  CHECK(heard(quiet, talk) == "heapattach: failed on \\x1b[2J\n");
  Console::Settings verbose;
  verbose.verbose = true;
  CHECK(heard(verbose, talk).find(" s] looking\n") != std::string::npos);
}

TEST_CASE("progress is one line on a terminal that disappears, with the remaining time") {
  Console::Settings terminal;
  terminal.is_terminal = true;
  terminal.patience = std::chrono::milliseconds(0);
  // Draws until the progress line is seen, however long that takes.
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  terminal.fd = writer.get();
  std::string text;
  {
    Console console(terminal);
    console.progress("typing objects", 1'000'000, 4'000'000);
    std::array<char, 256> bytes{};
    const ssize_t got = ::read(reader.get(), bytes.data(), bytes.size());
    REQUIRE(got > 0);
    text.assign(bytes.data(), static_cast<std::size_t>(got));
  }
  writer.reset();
  CHECK(text.starts_with("\rtyping objects: 1,000,000 of 4,000,000, 25 %, "));
  CHECK(text.find(" s left\x1b[K") != std::string::npos);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(read_all(reader, 65536)->ends_with("\r\x1b[K"));
}

TEST_CASE("progress in the caller's words is drawn at once, and disappears") {
  Console::Settings terminal;
  terminal.is_terminal = true;
  terminal.patience = std::chrono::milliseconds(0);
  const auto work = [](Console& console) {
    console.draw_progress("tracing, 12 s left");
    console.say("done");
  };
  CHECK(heard(terminal, work) == "\rtracing, 12 s left\x1b[K\r\x1b[Kdone\n");
  const auto with_report = [](Console& console) {
    console.draw_progress("tracing, 0 s left");
    console.end_progress();
    console.say("its line is gone");
  };
  CHECK(heard(terminal, with_report) == "\rtracing, 0 s left\x1b[K\r\x1b[Kits line is gone\n");
  terminal.is_terminal = false;
  CHECK(heard(terminal, work) == "done\n");
}

TEST_CASE("progress of several lines is drawn over itself") {
  Console::Settings terminal;
  terminal.is_terminal = true;
  terminal.patience = std::chrono::milliseconds(0);
  const auto work = [](Console& console) {
    console.draw_progress("1\none\ntwo");
    console.draw_progress("2\none");
    console.say("done");
  };
  CHECK(heard(terminal, work) ==
        "\r1\x1b[K\none\x1b[K\ntwo\x1b[K"
        "\r\x1b[2A2\x1b[K\none\x1b[K\x1b[J"
        "\r\x1b[1A\x1b[Jdone\n");
}

TEST_CASE("there is no progress in a pipe, with -q, or before a second has passed") {
  const auto work = [](Console& console) {
    console.progress("typing objects", 1, 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  };
  Console::Settings pipe;
  pipe.patience = std::chrono::milliseconds(0);
  CHECK(heard(pipe, work).empty());
  Console::Settings quiet = pipe;
  quiet.is_terminal = true;
  quiet.quiet = true;
  CHECK(heard(quiet, work).empty());
  Console::Settings patient;
  patient.is_terminal = true;
  patient.patience = std::chrono::hours(1);
  CHECK(heard(patient, work).empty());
}

TEST_CASE("an error message ends with the advice, once") {
  const Error gone{ErrorKind::Gone, "country 1: no entry"};  // the "try" in it is not advice
  CHECK(error_message(gone, Stage::Target)
            .ends_with("no entry; try: pgrep -a NAME, which finds the pid"));
  const Error advised = Error{ErrorKind::Denied, "denied by Yama", EPERM}.advise("sudo");
  CHECK(error_message(advised, Stage::Target) == "denied by Yama; try: sudo");
  const Error full{ErrorKind::Os, "write x: No space left on device", ENOSPC};
  CHECK(error_message(full, Stage::Output).find("-o") != std::string::npos);
  const Error plain{ErrorKind::Malformed, "this does not decode"};
  CHECK(error_message(plain, Stage::Target) == plain.message());
}

TEST_CASE("an error about the target and one about the output differ in status") {
  // The statuses that the documentation promises.
  const std::vector<std::tuple<ErrorKind, int, int>> promised = {
      {ErrorKind::Gone, 3, 8},       {ErrorKind::Denied, 4, 8},
      {ErrorKind::Traced, 9, 8},     {ErrorKind::Fault, 1, 8},
      {ErrorKind::Timeout, 6, 6},    {ErrorKind::Interrupted, 130, 130},
      {ErrorKind::Malformed, 1, 8},  {ErrorKind::Unsupported, 5, 8},
      {ErrorKind::Impossible, 1, 8}, {ErrorKind::Usage, 2, 2},
      {ErrorKind::Os, 1, 8},
  };
  CHECK(promised.size() == static_cast<std::size_t>(ErrorKind::Os) + 1);  // Os is the last kind
  for (const auto& [kind, target, output] : promised) {
    const int number = static_cast<int>(kind);
    CAPTURE(number);
    CHECK(static_cast<int>(exit_status_of(kind, Stage::Target)) == target);
    CHECK(static_cast<int>(exit_status_of(kind, Stage::Output)) == output);
  }
  CHECK(exit_status_of(ErrorKind::Interrupted, Stage::Target, 2) == ExitStatus::Interrupted);
  CHECK(exit_status_of(ErrorKind::Interrupted, Stage::Output, 15) == ExitStatus::Terminated);
}

TEST_CASE("the summary of a Crystal program without names explains how to get them") {
  snapshot::CountTable table;
  snapshot::Snapshot snapshot;
  table.bytes = 1000;
  table.typed_bytes = 58;
  snapshot.header.runtime = "crystal";
  const auto line = [&] { return summary_line(table, snapshot, std::chrono::milliseconds(1)); };
  CHECK(line().find("6 % of the bytes have a type's name") != std::string::npos);
  CHECK(line().find("CRYSTAL_DUMP_TYPE_ID=1 crystal build") != std::string::npos);
  CHECK(line().find("--type-info") != std::string::npos);
  CHECK(line().find('\n') == std::string::npos);
  table.typed_bytes = 500;
  CHECK(line().find("CRYSTAL") == std::string::npos);
  table.typed_bytes = 58;
  snapshot.heaps.emplace_back().name = glibc::kHeapKind.name;  // it has no objects of Crystal
  CHECK(line().find("CRYSTAL") == std::string::npos);
  snapshot.heaps.clear();
  snapshot.header.runtime = "c";
  CHECK(line().find("CRYSTAL") == std::string::npos);
}

TEST_CASE("the summary is one line for people") {
  snapshot::CountTable table;
  table.objects = 1;
  table.bytes = 1536;
  table.heap_bytes = 540 * 1024 * 1024;
  snapshot::Snapshot snapshot;
  snapshot.threads.resize(2);
  snapshot.header.pause_ms = 41.24;
  CHECK(summary_line(table, snapshot, std::chrono::milliseconds(1320)) ==
        "1 object, 1.5 KiB live of 540.0 MiB heap, 2 threads, paused 41.2 ms, 1.32 s in all");
  snapshot.header.marked_conservatively = {1, 64};
  CHECK(summary_line(table, snapshot, std::chrono::milliseconds(1320))
            .ends_with("1.32 s in all; 1 object (64 bytes) marked conservatively"));
  CHECK(human_bytes(1) == "1 byte");
  CHECK(human_bytes(1023) == "1023 bytes");
  CHECK(human_bytes(~std::uint64_t{0}) == "16.0 EiB");
}

}  // namespace heapattach
