// Releases of Ruby that nobody has seen yet: the installed release, with another number in a copy
// of its library. The offsets in its structures are found by what references what, not by the
// number.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/other_releases.h"
#include "integration/rounds.h"
#include "integration/ruby_program.h"
#include "integration/tool.h"

namespace heapattach {
namespace {

using namespace std::chrono_literals;

// The program for all releases makes 500 objects of a class, and then waits.
constexpr const char* kProgram =
    "class Session; end; ALL = Array.new(500) { Session.new };"
    "puts RUBY_VERSION; $stdout.flush; $stdin.gets; puts ALL.size; $stdout.flush";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Ruby with a copy of its library, in its own directory, in which the release has another number.
class OtherRuby {
 public:
  // The path of Ruby's library. None: Ruby has no library.
  static std::optional<std::string> library() {
    const ToolRun run = run_in_shell(
        "\"$1\" -e 'puts File.read(\"/proc/self/maps\")[%r{/\\S*/libruby\\S*}]'", {kRuby});
    const std::string path = run.output.substr(0, run.output.find('\n'));
    return path.empty() ? std::nullopt : std::optional(path);
  }

  OtherRuby(const std::string& library,
            const std::string& from,
            const std::string& to,
            const std::string& begin = "") {
    REQUIRE(from.size() == to.size());
    std::string bytes = read_text(library);
    const std::string whole = from + '\0';
    int changed = 0;
    for (std::size_t at = bytes.find(whole); at != std::string::npos;
         at = bytes.find(whole, at + 1)) {
      if (at > 0 && bytes[at - 1] > ' ') continue;  // the end of another text
      bytes.replace(at, to.size(), to);
      ++changed;
    }
    REQUIRE(changed > 0);
    const ToolRun name =
        run_in_shell("\"$1\" -rrbconfig -e 'print RbConfig::CONFIG[\"LIBRUBY_SONAME\"]'", {kRuby});
    write_text(directory_.file(name.output), bytes);
    // Ruby's own extensions refuse a release with another number, so gems are disabled.
    child_.emplace(std::vector<std::string>{"/usr/bin/env", "LD_LIBRARY_PATH=" + directory_.path(),
                                            kRuby, "--disable-gems", "-e", begin + kProgram});
    REQUIRE(child_->read_line(60s) == to);
  }

  [[nodiscard]] std::string pid() const { return fmt::format("{}", child_->pid()); }
  void check_unharmed() {
    CHECK(harm_done_to(child_->pid()) == "");
    child_->send_line("");
    CHECK(child_->read_line(60s) == "500");
  }

 private:
  TemporaryDirectory directory_;
  std::optional<ChildProcess> child_;
};

// The patch release with another last digit, another minor version that is known, and a minor
// version that is unknown.
struct Numbers {
  std::string patch, known, unknown;
};
Numbers numbers_unlike(std::string number) {
  number.back() = number.back() == '9' ? '8' : '9';
  Numbers others{number, number, number};
  const std::size_t minor = number.find('.') + 1;
  others.known[minor] = number[minor] == '1' ? '3' : '1';
  others.unknown[minor] = '7';
  return others;
}

void check_copies(const OtherRuby& ruby) {
  const ToolRun run = run_tool({"--count", ruby.pid()});
  CHECK_MESSAGE(run.status == 0, run.errors);
  CHECK(has(run.output, "  500 "));
  CHECK(has(run.output, "  Session\n"));
}

// Checks the heap and the stacks, which are read from outside.
void check_outside(const OtherRuby& ruby, const std::string& number) {
  const ToolRun read = run_tool({"--count", "--snapshot", "freeze", ruby.pid()});
  CHECK_MESSAGE(read.status == 7, read.errors);
  CHECK_MESSAGE(has(read.output, "  500 "), read.output);
  const ToolRun stacks = run_tool({"--stacks", ruby.pid()});
  CHECK_MESSAGE(stacks.status == 0, stacks.errors);
  CHECK_MESSAGE(has(stacks.output, "in <main>"), stacks.output);
  const ToolRun check = run_tool({"--check", ruby.pid()});
  CHECK(has(check.output, "ruby        " + number + " in "));
  CHECK(has(check.output, "stacks      show Ruby's frames\n"));
}

}  // namespace

TEST_CASE("a Ruby release with another number is read correctly") {
  if (is_ruby_missing()) return;
  const Release release = installed_ruby();
  const auto library = OtherRuby::library();
  if (!library) return print_skip("Ruby is in no library");
  const Numbers others = numbers_unlike(release.number);
  std::string number = others.patch;
  SUBCASE("of a minor version that is known") {}
  SUBCASE("with the structures of another minor version") {
    number = others.known;
  }
  SUBCASE("of a minor version that is unknown") {
    number = others.unknown;
  }
  OtherRuby ruby(*library, release.number, number);
  check_copies(ruby);
  check_outside(ruby, number);
  ruby.check_unharmed();
}

TEST_CASE("a Ruby release with another number is read from outside if it lacks a library") {
  if (is_ruby_missing()) return;
  const Release release = installed_ruby();
  const auto library = OtherRuby::library();
  if (!library) return print_skip("Ruby is in no library");
  const Numbers others = numbers_unlike(release.number);
  OtherRuby ruby(*library, release.number, others.unknown, "$LOAD_PATH.clear;");
  const ToolRun run = run_tool({"--count", ruby.pid()});
  CHECK_MESSAGE(run.status == 7, run.errors);
  CHECK_MESSAGE(has(run.output, "  500 "), run.output);
  CHECK_MESSAGE(has(run.errors, "Ruby lacks its objspace library"), run.errors);
  ruby.check_unharmed();
}

}  // namespace heapattach
