#include "report/cli/when.h"

#include <fstream>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/cli/kept_files.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {

namespace {

ProcessNumbers numbers(std::uint64_t resident, std::uint64_t used) {
  return {resident, 12, 1000, used};
}

void write_text(const std::string& file, const std::string& text) {
  std::ofstream(file) << text;
}

bool is_true(std::string_view text, const ProcessNumbers& of, std::int64_t growth = 0) {
  const auto when = parse_when(text);
  REQUIRE(when);
  return holds(*when, of, growth);
}

}  // namespace

TEST_CASE("a condition of --when is about a number, or one of --fail-if") {
  CHECK(parse_when("rss > 75%")->is_percent);
  CHECK(parse_when(" memory>=1G ")->condition.limit == std::uint64_t{1} << 30);
  CHECK(parse_when("threads > 500")->what == When::What::Threads);
  CHECK(parse_when("growth(rss) > 100M")->what == When::What::ResidentGrowth);
  CHECK(parse_when("stuck")->condition.what == FailIf::What::Stuck);
  CHECK(parse_when("count(User) > 10")->what == When::What::Report);
  CHECK(parse_when("growth(User) > 10")->condition.what == FailIf::What::Growth);
  for (const char* bad : {"", "rss", "rss > ", "rss > x%", "threads > 5%", "growth(rss) > 5%",
                          "leaked(*) > 0", "cpu > 5", "rss 75%"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_when(bad));
  }
}

TEST_CASE("numbers are compared with bytes, or with percent of what the process may have") {
  CHECK_FALSE(is_true("rss > 75%", numbers(750, 0)));
  CHECK(is_true("rss > 75%", numbers(751, 0)));
  CHECK(is_true("memory > 75%", numbers(0, 900)));
  CHECK_FALSE(is_true("memory > 75%", numbers(900, 0)));
  CHECK(is_true("rss > 700", numbers(701, 0)));
  CHECK(is_true("threads >= 12", numbers(0, 0)));
  CHECK(is_true("growth(rss) > 1k", numbers(0, 0), 1025));
  CHECK_FALSE(is_true("growth(rss) > 1k", numbers(0, 0), -5000));
  ProcessNumbers unlimited = numbers(751, 0);
  unlimited.limit_bytes = 0;
  CHECK_FALSE(is_true("rss > 75%", unlimited));
}

TEST_CASE("growth is that of the last minute") {
  const GrowthPerMinute::Time start{};
  GrowthPerMinute growth;
  CHECK(growth.bytes() == 0);
  for (int tenth = 0; tenth <= 3000; ++tenth) {  // ten bytes in each second, for five minutes
    growth.add(static_cast<std::uint64_t>(tenth), start + std::chrono::milliseconds(100) * tenth);
  }
  CHECK(growth.bytes() >= 590);
  CHECK(growth.bytes() <= 620);
}

TEST_CASE("only files that are named like captures are ever removed, the oldest first") {
  const std::string old = capture_name("shop", 1, "20260101T000000Z");
  const std::string middle = capture_name("a b/../c", 2, "20260101T000001Z");
  const std::string last = capture_name("shop", 3, "20260102T000000Z");
  CHECK(middle == "a_b____c.2.20260101T000001Z");
  CHECK(capture_of(old + ".jsonl.gz") == old);
  const std::vector<std::string> files{last + ".jsonl.gz",
                                       old + ".jsonl.gz",
                                       old + ".diagnosis.txt",
                                       middle + ".stacks.txt",
                                       "heap.jsonl.gz",
                                       "shop.1.20260101.jsonl.gz",
                                       "notes.txt",
                                       old + ".jsonl",
                                       "x.20260101T000000Z.jsonl.gz"};
  CHECK(surplus_files(files, 3).empty());
  CHECK(surplus_files(files, 2) ==
        std::vector<std::string>{old + ".jsonl.gz", old + ".diagnosis.txt"});
  CHECK(surplus_files(files, 0).size() == 4);
}

TEST_CASE("the oldest captures make room, and no more of them than it needs") {
  const TemporaryDirectory directory;
  const std::string old = capture_name("shop", 1, "20260101T000000Z");
  const std::string last = capture_name("shop", 1, "20260102T000000Z");
  for (const std::string& name : {old, last}) {
    write_text(directory.file(name + ".jsonl.gz"), std::string(1000, 'x'));
    write_text(directory.file(name + ".diagnosis.txt"), std::string(10, 'x'));
  }
  write_text(directory.file("notes.txt"), std::string(5000, 'x'));
  make_room(directory.file(""), 2020);
  CHECK(directory.entries() == 5);
  make_room(directory.file(""), 2019);
  CHECK(directory.entries() == 3);
  CHECK(::access(directory.file(last + ".jsonl.gz").c_str(), F_OK) == 0);
  CHECK(::access(directory.file(last + ".diagnosis.txt").c_str(), F_OK) == 0);
  make_room(directory.file(""), 0);
  CHECK(directory.entries() == 1);
  CHECK(::access(directory.file("notes.txt").c_str(), F_OK) == 0);
}

TEST_CASE("captures are not saved where another user has put a link or a directory for them") {
  const TemporaryDirectory around;
  const std::string ours = around.file("ours");
  CHECK(make_capture_directory(ours + "/"));
  CHECK(make_capture_directory(ours));
  struct stat status {};
  REQUIRE(::stat(ours.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  write_text(around.file("file"), "");
  CHECK_FALSE(make_capture_directory(around.file("file")));
  CHECK_FALSE(make_capture_directory(around.file("absent/dumps")));
  if (::geteuid() != 0) return;  // nobody else can give a file away
  constexpr uid_t kAnother = 65534;
  const std::string theirs = around.file("theirs");
  const std::string link = around.file("link");
  REQUIRE(::mkdir(theirs.c_str(), 0700) == 0);
  REQUIRE(::symlink(ours.c_str(), link.c_str()) == 0);
  REQUIRE(::lchown(theirs.c_str(), kAnother, kAnother) == 0);
  REQUIRE(::lchown(link.c_str(), kAnother, kAnother) == 0);
  CHECK(make_capture_directory(theirs));  // only this user can have put it there
  CHECK(make_capture_directory(link));
  REQUIRE(::chmod(around.file("").c_str(), 01777) == 0);
  CHECK_FALSE(make_capture_directory(theirs));
  CHECK_FALSE(make_capture_directory(link));
  CHECK_FALSE(make_capture_directory(link + "/"));
  CHECK(make_capture_directory(ours));
  REQUIRE(::chmod(around.file("").c_str(), 0700) == 0);
}

}  // namespace heapattach
