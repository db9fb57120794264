#include "symbols/debuginfod/cache_directory.h"

#include <filesystem>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/debuginfod/debuginfod.h"
#include "tests/support/temporary_directory.h"

namespace heapattach::debuginfod {

namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 1000;

}  // namespace

TEST_CASE("the cache is where elfutils has it") {
  const TemporaryDirectory directory;
  const std::string home = directory.file("home");
  fs::create_directory(home);
  CHECK(usual_cache({"/own", "/xdg", home}) == "/own");
  CHECK(usual_cache({"", "/xdg", home}) == "/xdg/debuginfod_client");
  CHECK(usual_cache({"", "", home}) == home + "/.cache/debuginfod_client");
  fs::create_directory(home + "/.debuginfod_client_cache");
  CHECK(usual_cache({"", "/xdg", home}) == home + "/.debuginfod_client_cache");
}

TEST_CASE("a cache is used only if no other user owns it or can replace it") {
  const TemporaryDirectory directory;
  const std::string home = directory.file("home");
  fs::create_directory(home);
  fs::create_directory(home + "/mine");
  CHECK(check_cache(home + "/mine"));
  CHECK(check_cache(home + "/mine/deeper/and/deeper"));
  CHECK_FALSE(check_cache("relative"));
  CHECK_FALSE(check_cache("/dev/null/below"));
  SUBCASE("not if everybody may write to it") {
    REQUIRE(::chmod((home + "/mine").c_str(), 0777) == 0);
    CHECK_FALSE(check_cache(home + "/mine"));
    REQUIRE(::chmod((home + "/mine").c_str(), 01777) == 0);
    CHECK(check_cache(home + "/mine/below"));
  }
  SUBCASE("not if another user owns it, or a directory above it, or it is a link to one") {
    if (::geteuid() != 0) return;
    fs::create_directory(home + "/mine/below");
    fs::create_directory_symlink(home + "/mine", home + "/link");
    CHECK(check_cache(home + "/link"));
    REQUIRE(::chown((home + "/mine").c_str(), kStranger, kStranger) == 0);
    CHECK_FALSE(check_cache(home + "/mine"));
    CHECK_FALSE(check_cache(home + "/mine/new"));
    CHECK_FALSE(check_cache(home + "/mine/below"));
    CHECK_FALSE(check_cache(home + "/link/new"));
  }
}

TEST_CASE("root uses its own cache instead of another user's") {
  if (::geteuid() != 0) return;
  const TemporaryDirectory directory;
  const std::string home = directory.file("home");
  fs::create_directory(home);
  REQUIRE(::chown(home.c_str(), kStranger, kStranger) == 0);
  for (const CacheVariables& variables :
       {CacheVariables{"", "", home}, CacheVariables{"", home, "/root"},
        CacheVariables{home + "/cache", "", "/root"}, CacheVariables{"", "", ""}}) {
    const auto cache = own_cache(variables);
    if (!cache) continue;  // this machine's root has no directory of its own
    CHECK(cache->starts_with("/root/"));
  }
  CHECK(fs::is_empty(home));
}

TEST_CASE("the user says how long a server may send nothing") {
  using std::chrono::milliseconds;
  CHECK(debuginfod_patience("3") == milliseconds(3000));
  for (const char* const text : {"", "0", "-5", "soon"}) {
    CHECK(debuginfod_patience(text) == milliseconds(10'000));
  }
  CHECK(debuginfod_patience("9999999") == milliseconds(86'400'000));
}

}  // namespace heapattach::debuginfod
