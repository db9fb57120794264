// Bad inputs for --diff: files that are cut off, unsorted, from other programs, or in the wrong
// order. Each gives a right answer or is named in a message; nothing crashes or hangs.

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "integration/tool.h"

namespace heapattach {
namespace {

struct Heap {
  std::string exe = "/srv/app";
  std::string captured = "2026-11-20T11:00:00.000Z";
  int sessions = 2;
  std::string type = "Session";
  std::string more = {};  // lines before the end
};

std::string text_of(const Heap& heap) {
  std::string text = fmt::format(
      R"({{"record":"snapshot","version":1,"tool":"heapattach 0.1.0","pid":4711,"host":"h",)"
      R"("exe":"{}","started":"2026-11-20T09:00:00Z","captured":"{}","source":"freeze",)"
      R"("live_only":true}})"
      "\n"
      R"({{"record":"type","name":"{}"}})"
      "\n",
      heap.exe, heap.captured, heap.type);
  for (int i = 0; i < heap.sessions; ++i) {
    text += fmt::format(R"({{"record":"object","address":"{:#x}","type":"{}","bytes":48}})"
                        "\n",
                        0x1000 + 48 * i, heap.type);
  }
  text += heap.more;
  return text + fmt::format(R"({{"record":"end","complete":true,"objects":{},"bytes":{},"roots":0,)"
                            R"("skipped":0}})"
                            "\n",
                            heap.sessions, 48 * heap.sessions);
}

// Two files that are compared.
struct Compared {
  TemporaryDirectory directory;
  std::string before = text_of({});
  std::string after = text_of({.captured = "2026-11-20T11:00:05.000Z", .sessions = 5});

  [[nodiscard]] ToolRun run(bool as_json = false) const {
    write_text(directory.file("before.jsonl"), before);
    write_text(directory.file("after.jsonl"), after);
    return run_tool({"--diff", directory.file("before.jsonl"), directory.file("after.jsonl"), "-f",
                     as_json ? "json" : "table"});
  }
};

bool says(const ToolRun& run, std::string_view text) {
  return (run.output + run.errors).find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("two good files are compared, with unknown records in them") {
  Compared files;
  files.after = text_of({.captured = "2026-11-20T11:00:05.000Z",
                         .sessions = 5,
                         .more = "{\"record\":\"mood\",\"is\":\"fine\"}\n\n"});
  const ToolRun run = files.run();
  CHECK(run.status == 0);
  CHECK(says(run, "+144        +3       2      5       2  Session"));
  CHECK_FALSE(says(run, "mood"));
}

TEST_CASE("files in the wrong order, the same file twice, and files of two programs are reported") {
  Compared files;
  const char* word = "";
  SUBCASE("swapped") {
    std::swap(files.before, files.after);
    word = "in the wrong order?";
  }
  SUBCASE("the same") {
    files.after = files.before;
    word = "at the same moment";
  }
  SUBCASE("two programs") {
    files.after = text_of({.exe = "/srv/other", .captured = "2026-11-20T11:00:05.000Z"});
    word = "two programs";
  }
  const ToolRun table = files.run();
  CHECK(table.status == 0);
  CHECK(says(table, word));
  const ToolRun json = files.run(true);
  CHECK(says(json, "\"remarks\":["));
  CHECK(says(json, word));
}

TEST_CASE("a file that ends early is compared as far as it goes, with its own status") {
  Compared files;
  files.after.resize(files.after.size() - 150);
  const ToolRun run = files.run();
  CHECK(run.status == 7);
  CHECK(says(run, "after.jsonl is partial: "));
}

TEST_CASE("a file that is not a snapshot is refused with its name and line") {
  Compared files;
  SUBCASE("objects out of order") {
    const std::size_t first = files.after.find("{\"record\":\"object\"");
    const std::size_t second = files.after.find('\n', first) + 1;
    const std::size_t third = files.after.find('\n', second) + 1;
    files.after = files.after.substr(0, first) + files.after.substr(second, third - second) +
                  files.after.substr(first, second - first) + files.after.substr(third);
  }
  SUBCASE("a line that is not JSON") {
    files.after.insert(files.after.find('\n') + 1, "hello\n");
  }
  SUBCASE("another kind of file") {
    files.after = "ELF\n";
  }
  SUBCASE("an empty file") {
    files.after.clear();
  }
  const ToolRun run = files.run();
  CHECK(run.status != 0);
  CHECK(run.output.empty());
  CHECK(says(run, "after.jsonl"));
}

TEST_CASE("a type name of a megabyte is compared in full and cut in the output") {
  Compared files;
  const std::string name(1 << 20, 'x');
  files.before = text_of({.type = name + "a"});
  files.after =
      text_of({.captured = "2026-11-20T11:00:05.000Z", .sessions = 3, .type = name + "b"});
  const ToolRun run = files.run();
  INFO(run.errors);
  CHECK(run.status == 0);
  CHECK(says(run, "(new)"));
  CHECK(says(run, "(gone)"));
  CHECK(run.output.size() < 100'000);
}

TEST_CASE("a missing source is named") {
  Compared files;
  CHECK(run_tool({"--diff", "/nonexistent/a.jsonl", files.directory.file("b.jsonl")})
            .errors.find("/nonexistent/a.jsonl") != std::string::npos);
}

}  // namespace heapattach
