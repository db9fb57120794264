#include <algorithm>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "symbols/elf/module_contents.h"

namespace heapattach {

namespace {

bool has(const std::vector<DebugCandidate>& all, const std::string& path, bool in_target) {
  return std::any_of(all.begin(), all.end(), [&](const DebugCandidate& candidate) {
    return candidate.path == path && candidate.in_target == in_target;
  });
}

ElfFile this_program() {
  return ElfFile::open(Fd::open("/proc/self/exe", O_RDONLY).value()).value();
}

}  // namespace

TEST_CASE("a debug file is searched by build id, in the user's directories first") {
  const ElfFile elf = this_program();
  const std::string& id = elf.build_id();
  if (id.size() < 4) {
    MESSAGE("skipped: the linker gives programs no build id here");
    return;
  }
  SymbolSearch search;
  search.debug_dirs = {"/mine"};
  const auto candidates = debug_candidates(elf, "/opt/app/bin/app", search);
  const std::string below = "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
  REQUIRE_FALSE(candidates.empty());
  CHECK(candidates[0].path == "/mine" + below);
  CHECK_FALSE(candidates[0].in_target);
  CHECK(has(candidates, "/usr/lib/debug" + below, true));
  CHECK(has(candidates, "/usr/lib/debug" + below, false));
  for (const DebugCandidate& candidate : candidates) {
    CHECK(candidate.is_beside_module == candidate.path.starts_with("/opt/app/bin/"));
  }
}

TEST_CASE("a debug file must have the module's build id or the right checksum") {
  const ElfFile elf = this_program();
  if (!elf.build_id().empty()) {
    CHECK(check_debug_file(elf, elf.build_id(), std::nullopt));
    const auto other = check_debug_file(elf, "0123", std::nullopt);
    REQUIRE_FALSE(other);
    CHECK(other.error().message().find("0123") != std::string::npos);
  }
  const std::uint32_t crc = debug_link_crc(elf.file()).value();
  CHECK(check_debug_file(elf, "", crc));
  CHECK_FALSE(check_debug_file(elf, "", crc + 1));
  CHECK_FALSE(check_debug_file(elf, "", std::nullopt));
}

}  // namespace heapattach
