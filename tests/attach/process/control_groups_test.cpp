#include "attach/process/control_groups.h"

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("the groups of a process are those of its directory and its parents") {
  const std::string_view mounts =
      "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\n"
      "cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n"
      "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";
  const auto groups = control_groups("memory", "3:cpu:/x\n5:memory:/a/b\n0::/c\n", mounts);
  REQUIRE(groups.size() == 5);
  CHECK(groups[0].path == "/sys/fs/cgroup/memory/a/b");
  CHECK(groups[1].path == "/sys/fs/cgroup/memory/a");
  CHECK(groups[2].path == "/sys/fs/cgroup/memory");
  CHECK(!groups[0].is_version_2);
  CHECK(groups[3].path == "/sys/fs/cgroup/unified/c");
  CHECK(groups[3].is_version_2);
  CHECK(control_groups("memory", "0::/../../elsewhere\n", mounts).empty());
  CHECK(control_groups("pids", "5:memory:/a/b\n", mounts).empty());
  CHECK(control_groups("memory", "", "").empty());
}

TEST_CASE("the group of a container is the one that is mounted") {
  const auto groups =
      control_groups("memory", "0::/\n", "cgroup /sys/fs/cgroup cgroup2 ro,nsdelegate 0 0\n");
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].path == "/sys/fs/cgroup");
}

TEST_CASE("a limit is near from its percentage on") {
  CHECK(LimitedUse{80, 100}.is_near(80));
  CHECK_FALSE(LimitedUse{79, 100}.is_near(80));
  CHECK(LimitedUse{4, 5}.is_near(80));
  CHECK_FALSE(LimitedUse{80, {}}.is_near(80));
  CHECK_FALSE(LimitedUse{0, 0}.is_near(80));
}

}  // namespace heapattach
