#include "report/diagnose/process_facts.h"

#include <doctest/doctest.h>

namespace heapattach::diagnose {

TEST_CASE("limits are read by their names") {
  constexpr std::string_view kLimits =
      "Limit                     Soft Limit           Hard Limit           Units\n"
      "Max processes             unlimited            unlimited            processes\n"
      "Max open files            1024                 1048576              files\n";
  CHECK(soft_limit(kLimits, "Max open files") == 1024);
  CHECK_FALSE(soft_limit(kLimits, "Max processes").has_value());
  CHECK_FALSE(soft_limit(kLimits, "Max locked memory").has_value());
}

TEST_CASE("numbers are read by the whole name of their line") {
  constexpr std::string_view kText = "VmSwapped: 1 kB\nVmSwap:\t 812 kB\ninactive_file 4096\n";
  CHECK(number_after(kText, "VmSwap") == 812);
  CHECK(number_after(kText, "inactive_file") == 4096);
  CHECK_FALSE(number_after(kText, "VmRSS").has_value());
}

TEST_CASE("a group of the second version has a path, unless it is out of reach") {
  CHECK(group_path("4:memory:/a\n0::/user.slice/app\n") == "/user.slice/app");
  CHECK(group_path("0::/\n") == "");
  CHECK_FALSE(group_path("0::/../other\n").has_value());
  CHECK_FALSE(group_path("4:memory:/a\n").has_value());
}

TEST_CASE("descriptors are of one kind whatever their numbers") {
  CHECK(descriptor_kind("socket:[4711]") == "socket");
  CHECK(descriptor_kind("pipe:[12]") == "pipe");
  CHECK(descriptor_kind("anon_inode:[eventpoll]") == "anon_inode:[eventpoll]");
  CHECK(descriptor_kind("/tmp/odd:[1]") == "/tmp/odd:[1]");
}

TEST_CASE("the data of an epoll instance is what the program gave it") {
  CHECK(epoll_data("pos:\t0\nflags:\t02\n"
                   "tfd:        5 events:       19 data:     55d0c0de10  pos:0 ino:1 sdev:9\n"
                   "tfd:        6 events:       19 data:        6  pos:0 ino:1 sdev:9\n") ==
        std::vector<std::uint64_t>{0x55d0c0de10, 6});
}

TEST_CASE("a limit is near from its percentage on") {
  CHECK(Use{80, 100}.is_near(80));
  CHECK_FALSE(Use{79, 100}.is_near(80));
  CHECK(Use{4, 5}.is_near(80));
  CHECK_FALSE(Use{80, {}}.is_near(80));
  CHECK_FALSE(Use{0, 0}.is_near(80));
}

}  // namespace heapattach::diagnose
