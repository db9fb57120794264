#include "symbols/boehm/debug_layout.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>

namespace heapattach::boehm {

TEST_CASE("debug information gives the compiler's layout") {
  for (const std::string version : {"4", "5"}) {
    const std::string path = std::string(ACCESSOR_DIR) + "/debug_layout_" + version;
    if (!std::filesystem::exists(path)) {
      MESSAGE("skipped: gcc is not available to compile the structures");
      return;
    }
    CAPTURE(path);
    const Fd file = Fd::open(path, O_RDONLY).value();
    const auto found = read_debug_layout(file);
    REQUIRE(found);
    const Layout& layout = found->layout;
    CHECK(layout.source == Layout::Source::DebugInfo);
    CHECK(layout.header_block == 0);
    CHECK(layout.header_kind == 29);
    CHECK(layout.header_flags == 30);
    CHECK(layout.header_size == 32);
    CHECK(layout.header_descriptor == 40);
    CHECK(layout.bottom_mask == 511);
    CHECK(layout.bottom_key == 4096);
    CHECK(layout.bottom_next == 4112);
    CHECK(layout.top_mask == 4095);
    CHECK(layout.top_shift == 21);
    CHECK(found->top_index == 32);
    CHECK(found->all_nils == 24);
  }
}

TEST_CASE("a file without the collector's debug information is unsupported") {
  const Fd file = Fd::open("/proc/self/maps", O_RDONLY).value();
  const auto found = read_debug_layout(file);
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == ErrorKind::Unsupported);
}

}  // namespace heapattach::boehm
