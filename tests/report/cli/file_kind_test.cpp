#include "report/cli/file_kind.h"

#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/core_builder.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {
namespace {

// Makes a core file and a snapshot, and gives the message about options that they do not allow.
struct Files {
  Files() {
    std::ofstream(core, std::ios::binary) << CoreBuilder().process(1, "a").thread(1, 0).text();
    std::ofstream(snapshot) << "{\"record\":\"snapshot\"}\n";
  }

  // The message with which options are refused; empty if they are accepted.
  static std::string refused(const std::vector<std::string>& words) {
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    const ParsedOptions parsed = parse_options(arguments);
    REQUIRE(std::holds_alternative<Options>(parsed));
    const auto suits = refuse_for_file_kind(std::get<Options>(parsed));
    return suits ? std::string() : suits.error().text();
  }

  TemporaryDirectory directory;
  std::string core = directory.file("core.4711");
  std::string snapshot = directory.file("heap.jsonl");
};

}  // namespace

TEST_CASE("a core file is recognised by its first bytes") {
  const Files files;
  CHECK(is_elf_file(files.core));
  CHECK_FALSE(is_elf_file(files.snapshot));
  CHECK_FALSE(is_elf_file(files.directory.file("nothing")));
  CHECK_FALSE(is_elf_file("/dev/null"));
  CHECK_FALSE(is_elf_file("/"));
}

TEST_CASE("options for processes and core files are refused for other files") {
  const Files files;
  const std::vector<std::vector<std::string>> questions = {{"--all"},      {"--values"},
                                                           {"--exe", "x"}, {"--debug-dir", "x"},
                                                           {"--no-cache"}, {"--sysroot", "x"}};
  for (const auto& question : questions) {
    const std::string& option = question.front();
    CAPTURE(option);
    std::vector<std::string> words = question;
    words.push_back(files.core);
    CHECK(Files::refused(words).empty());
    words.back() = "4711";
    CHECK(Files::refused(words).empty());
    words.back() = files.snapshot;
    CHECK(Files::refused(words).find(option) != std::string::npos);
  }
  CHECK(Files::refused({"--strings", "--values=20", files.snapshot}).empty());
  CHECK(Files::refused({"--stacks", files.snapshot}).empty());
  CHECK_FALSE(Files::refused({"--diff", "--all", files.snapshot, files.snapshot}).empty());
  CHECK(Files::refused({"--diff", "--all", files.snapshot, files.core}).empty());
  CHECK(Files::refused({"--diff", "--all", files.snapshot, "1"}).empty());
}

}  // namespace heapattach
