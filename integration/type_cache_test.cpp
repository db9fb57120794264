// The types of a large program are kept from one run to the next. Later runs must give the same
// answers, and files must appear only where they should.

#include "symbols/dwarf/type_cache.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/typed_truth.h"
#include "symbols/dwarf/dwarf_types.h"
#include "symbols/types/model_bytes.h"

namespace heapattach {

namespace {

namespace fs = std::filesystem;

// Sets XDG_CACHE_HOME for the tools that are started while this object exists.
class CacheHome {
 public:
  CacheHome() { ::setenv("XDG_CACHE_HOME", directory_.path().c_str(), 1); }
  ~CacheHome() { ::setenv("XDG_CACHE_HOME", "/dev/null", 1); }
  CacheHome(const CacheHome&) = delete;
  CacheHome& operator=(const CacheHome&) = delete;

  [[nodiscard]] const TemporaryDirectory& directory() const { return directory_; }
  [[nodiscard]] std::size_t files() const {
    const fs::path kept = directory_.file("heapattach");
    if (!fs::exists(kept)) return 0;
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(kept), {}));
  }

 private:
  TemporaryDirectory directory_;
};

// A running copy of a target whose file is large enough for its types to be kept.
class LargeTarget {
 public:
  explicit LargeTarget(const std::string& name)
      : path_(padded(directory_.file("large"), name)), target_(path_) {}

  [[nodiscard]] LiveTarget& target() { return target_; }
  [[nodiscard]] std::string pid() const { return std::to_string(target_.pid()); }

 private:
  static std::string padded(std::string path, const std::string& name) {
    fs::copy_file(target_path(name), path);
    std::ofstream(path, std::ios::binary | std::ios::app)
        << std::string(std::size_t{17} << 20, 'x');
    return path;
  }

  TemporaryDirectory directory_;
  std::string path_;
  LiveTarget target_;
};

bool says(const ToolRun& run, std::string_view words) {
  return run.errors.find(words) != std::string::npos;
}

ToolRun sizes_of(const LargeTarget& target, const std::string& option = "-v") {
  ToolRun run = run_tool({"--sizes", "-v", option, target.pid()});
  CAPTURE(run.errors);
  CHECK(run.status == 0);
  return run;
}

std::vector<std::byte> types_of(const std::string& path, const types::TypeCache* cache) {
  std::vector<Module> modules;
  auto module = Module::from_file(Fd::open(path, O_RDONLY).value(), path, 0x10000);
  REQUIRE(module);
  modules.push_back(std::move(module).value());
  types::TypeOptions options;
  options.cache = cache;
  types::TypeModel model = types::read_types(Modules(std::move(modules)), options);
  const bool is_kept = model.notes.front().find("units") != std::string::npos;
  CAPTURE(model.notes.front());
  CHECK(is_kept);
  model.notes.clear();
  return to_bytes(model);
}

}  // namespace

TEST_CASE("every type of a real program is the same from the cache") {
  int compared = 0;
  for (const char* name : {"web_debug", "typed_service_default", "typed_cxx_gcc5",
                           "typed_cxx_clang5", "typed_cxx_optimised", "typed_c_gcc4"}) {
    if (!is_target_built(name)) continue;
    CAPTURE(name);
    const TemporaryDirectory home;
    const types::TypeCache cache(home.path(), {"heapattach"}, {.least_debug_bytes = 0});
    const auto plain = types_of(target_path(name), nullptr);
    CHECK(types_of(target_path(name), &cache) == plain);
    REQUIRE(fs::exists(home.file("heapattach")));
    CHECK(types_of(target_path(name), &cache) == plain);
    ++compared;
  }
  CHECK(compared > 0);
}

TEST_CASE("a second run takes the types from the cache, and answers the same") {
  std::vector<std::string> names{"typed_cxx_gcc5"};
  if (is_target_built("typed_service_debug")) names.emplace_back("typed_service_debug");
  for (const std::string& name : names) {
    CAPTURE(name);
    const CacheHome home;
    LargeTarget large(name);
    const ToolRun without = sizes_of(large, "--no-cache");
    CHECK(says(without, "types are not kept: --no-cache"));
    CHECK(home.directory().list().empty());
    const ToolRun first = sizes_of(large);
    CHECK(says(first, "kept in the cache"));
    CHECK(home.files() == 1);
    const ToolRun second = sizes_of(large);
    CHECK(says(second, "from the cache"));
    CHECK_FALSE(says(second, "kept in the cache"));
    CHECK(first.output == without.output);
    CHECK(second.output == without.output);
    CHECK_FALSE(says(sizes_of(large, "--no-cache"), "from the cache"));
    CHECK(difference(truth_of(large.target()), snapshot_of(large.target())) == "");
    CHECK(home.files() == 1);
    CHECK(harm_done_to(large.target().pid()) == "");
  }
}

TEST_CASE("nothing is written for a small program") {
  const CacheHome home;
  LiveTarget target("typed_cxx_gcc5");
  const ToolRun run = run_tool({"--count", "-v", std::to_string(target.pid())});
  CHECK(run.status == 0);
  CHECK_FALSE(says(run, "cache"));
  CHECK(home.directory().list().empty());
}

TEST_CASE("two first runs at once leave one file, which a third one uses") {
  const CacheHome home;
  LargeTarget large("typed_cxx_gcc5");
  // Both runs read and keep types before the freeze; only one can freeze at a time (status 9).
  const ToolRun both = run_in_shell(
      "count() { until \"$0\" --count \"$@\" >/dev/null; do [ $? = 9 ] || return; done; }; "
      "count \"$1\" & count --snapshot clone \"$1\"; first=$?; wait $!; exit $((first + $?))",
      {large.pid()});
  CAPTURE(both.errors);
  CHECK(both.status == 0);
  CHECK(home.files() == 1);
  CHECK(says(sizes_of(large), "from the cache"));
}

TEST_CASE("a report is complete where nothing can be kept") {
  if (run_in_shell("unshare --mount true", {}).status != 0) {
    print_skip("no rights to mount a small file system");
    return;
  }
  const CacheHome home;
  LargeTarget large("typed_cxx_gcc5");
  const ToolRun plain = sizes_of(large, "--no-cache");
  struct Row {
    const char* options;
    const char* why;
  };
  for (const Row& row :
       {Row{"mode=0700,size=16k", "the disk is nearly full"}, Row{"mode=0700,ro", "Read-only"},
        Row{"mode=1777", "can be written by others"}}) {
    CAPTURE(row.options);
    const ToolRun run = run_in_shell(
        fmt::format("unshare --mount bash -c 'mount -t tmpfs -o {} none \"$XDG_CACHE_HOME\" && "
                    "\"$0\" --sizes -v \"$1\" && ls -A \"$XDG_CACHE_HOME\"/heapattach/* >&2' "
                    "\"$0\" \"$@\"",
                    row.options),
        {large.pid()});
    CAPTURE(run.errors);
    CHECK(says(run, "not kept: "));
    CHECK(says(run, row.why));
    CHECK_FALSE(says(run, ".types\n"));
    CHECK(run.output == plain.output);
  }
}

TEST_CASE("a root shell with another user's HOME writes nothing there") {
  if (::geteuid() != 0) {
    print_skip("only root can be two users");
    return;
  }
  LargeTarget large("typed_cxx_gcc5");
  const TemporaryDirectory home;
  constexpr int kOther = 1000;
  REQUIRE(::chown(home.path().c_str(), kOther, kOther) == 0);
  const ToolRun run =
      run_in_shell("unset XDG_CACHE_HOME; HOME=\"$2\" exec \"$0\" -v --sizes \"$1\"",
                   {large.pid(), home.path()});
  CAPTURE(run.errors);
  CHECK(run.status == 0);
  CHECK(says(run, "belongs to another user"));
  CHECK(home.list().empty());
}

TEST_CASE("a cache that others may have planted is neither used nor followed") {
  if (::geteuid() != 0) {
    print_skip("only root can be two users");
    return;
  }
  constexpr int kOther = 1000;
  LargeTarget large("typed_cxx_gcc5");
  const ToolRun plain = sizes_of(large, "--no-cache");
  const CacheHome home;
  REQUIRE(says(sizes_of(large), "kept in the cache"));
  const fs::path below = home.directory().file("heapattach");
  const fs::path file = fs::directory_iterator(below)->path();
  const TemporaryDirectory elsewhere;
  const std::string kept = elsewhere.file("kept");
  fs::copy_file(file, kept);
  fs::create_directory(elsewhere.file("empty"));

  std::string why;
  SUBCASE("a directory that others may write") {
    fs::permissions(below, fs::perms::all);
    why = "can be written by others";
  }
  SUBCASE("another user's directory") {
    REQUIRE(::chown(below.c_str(), kOther, kOther) == 0);
    why = "belongs to another user";
  }
  SUBCASE("a link to a directory") {
    fs::remove_all(below);
    fs::create_directory_symlink(elsewhere.file("empty"), below);
    why = "Not a directory";
  }
  SUBCASE("a pipe that nobody writes") {
    fs::remove_all(below);
    REQUIRE(::mkfifo(below.c_str(), 0600) == 0);
    why = "Not a directory";
  }
  SUBCASE("another user's file") {
    REQUIRE(::chown(file.c_str(), kOther, kOther) == 0);
    why = "belongs to another user";
  }
  SUBCASE("a file that others may write") {
    fs::permissions(file, fs::perms::all);
    why = "can be written by others";
  }
  SUBCASE("a link to a file") {
    fs::remove(file);
    fs::create_symlink(kept, file);
    why = "kept in the cache";
  }
  SUBCASE("a pipe in the place of the file") {
    fs::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    why = "is of another kind";
  }
  const auto before = fs::last_write_time(kept);
  const ToolRun run = sizes_of(large);
  CHECK_MESSAGE(says(run, why), run.errors);
  CHECK_FALSE(says(run, "from the cache"));
  CHECK(run.output == plain.output);
  CHECK(fs::last_write_time(kept) == before);
  CHECK(fs::is_empty(elsewhere.file("empty")));
}

}  // namespace heapattach
