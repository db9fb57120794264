// HAZARDS E1, E10: a program's link to its debug information cannot make heapattach read an
// unrelated file, or disclose one that the program's user may not read.

#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

namespace fs = std::filesystem;

constexpr uid_t kUser = 1000;
constexpr const char* kMarker = "text-that-only-root-may-read";

// A section that objcopy adds: the name of a file, and the id or checksum that the file must have.
struct Link {
  std::string section;
  std::string name;
  std::string proof;
};

// Writes a copy of `program` with the link. Returns false if there is no objcopy.
bool add_link(const std::string& program, const Link& link, const TemporaryDirectory& directory) {
  std::string bytes = link.name;
  bytes.push_back('\0');
  while (link.section == ".gnu_debuglink" && bytes.size() % 4 != 0) bytes.push_back('\0');
  write_text(directory.file("section"), bytes + link.proof);
  const std::string to = directory.file("program");
  const ToolRun run = run_in_shell(
      fmt::format("objcopy -R {0} --add-section {0}=\"$1\" \"$2\" \"$3\"", link.section),
      {directory.file("section"), program, to});
  return run.status == 0;
}

}  // namespace

TEST_CASE("a link to debug information discloses no file that the program's user may not read") {
  constexpr const char* kProgram = "typed_c_gcc5";
  if (!is_target_built(kProgram)) return;
  if (::geteuid() != 0) return print_skip("needs root, to own what others may not read");
  const TemporaryDirectory secrets;
  const std::string secret = secrets.file("secret");
  write_text(secret, std::string(kMarker) + "\n");
  REQUIRE(::chmod(secret.c_str(), 0600) == 0);
  const std::string id(20, '\xcd');
  std::string up;
  for (int i = 0; i < 20; ++i) up += "../";
  for (const Link& link :
       {Link{".gnu_debugaltlink", secret, id}, Link{".gnu_debugaltlink", up + secret.substr(1), id},
        Link{".gnu_debugaltlink", "linked", id}, Link{".gnu_debuglink", secret, "1234"},
        Link{".gnu_debuglink", up + secret.substr(1), "1234"},
        Link{".gnu_debuglink", "linked", "1234"}, Link{".gnu_debuglink", "..", "1234"}}) {
    CAPTURE(link.section);
    CAPTURE(link.name);
    const TemporaryDirectory directory;
    fs::create_symlink(secret, directory.file("linked"));
    if (!add_link(target_path(kProgram), link, directory)) return print_skip("no objcopy");
    LiveTarget target(directory.file("program"), {}, {.uid = kUser, .capture_stderr = false});
    const ToolRun run = run_tool({"--count", "-v", std::to_string(target.pid())});
    CHECK_MESSAGE(run.status == 0, run.errors);
    CHECK(run.errors.find(kMarker) == std::string::npos);
    CHECK(run.output.find(kMarker) == std::string::npos);
    CHECK(read_text(secret) == std::string(kMarker) + "\n");
    CHECK(harm_done_to(target.pid()) == "");
  }
}

}  // namespace heapattach
