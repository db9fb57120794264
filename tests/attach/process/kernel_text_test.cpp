#include "attach/process/kernel_text.h"

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("numbers are read by the whole key of their line") {
  constexpr std::string_view kText = "VmSwapped: 1 kB\nVmSwap:\t 812 kB\ninactive_file 4096\n";
  CHECK(number_after(kText, "VmSwap") == 812);
  CHECK(number_after(kText, "inactive_file") == 4096);
  CHECK(number_after("flags:\t0100002\n", "flags", 8) == 0100002);
  CHECK_FALSE(number_after(kText, "VmRSS").has_value());
  CHECK_FALSE(number_after("VmRSS:\n812 kB\n", "VmRSS").has_value());
}

TEST_CASE("limits are read by their names") {
  constexpr std::string_view kLimits =
      "Limit                     Soft Limit           Hard Limit           Units\n"
      "Max processes             unlimited            unlimited            processes\n"
      "Max open files            1024                 1048576              files\n";
  CHECK(number_after(kLimits, "Max open files") == 1024);
  CHECK_FALSE(number_after(kLimits, "Max processes").has_value());
  CHECK_FALSE(number_after(kLimits, "Max locked memory").has_value());
}

TEST_CASE("sizes are parsed from the texts in /proc") {
  const std::string_view text = "Name:\tVmPTE: 9 kB\nVmPTE:\t    2048 kB\nRssAnon:\t12 kB\n";
  CHECK(bytes_after(text, "VmPTE") == 2048 * 1024);
  CHECK(bytes_after(text, "RssAnon") == 12 * 1024);
  CHECK(!bytes_after(text, "VmData"));
  CHECK(!bytes_after("VmPTE:\t99999999999999999999 kB\n", "VmPTE"));
  CHECK(!bytes_after("VmPTE:\t18446744073709551615 kB\n", "VmPTE"));
}

}  // namespace heapattach
