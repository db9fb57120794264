#include "attach/memory/stalling.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "attach/base/page.h"

namespace heapattach {

namespace {

const std::uint64_t kPage = page_bytes();

}  // namespace

TEST_CASE("mappings under a userfaultfd are found by their flags") {
  const auto ranges = userfault_ranges(
      "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
      "Size:                  4 kB\n"
      "VmFlags: rd wr mr mw me ac sd \n"
      "7f0000002000-7f0000004000 rw-p 00000000 00:00 0 \n"
      "Rss:                   0 kB\n"
      "VmFlags: rd wr mr mw me ac um sd \n"
      "7f0000005000-7f0000006000 rw-s 00000000 00:01 77 /dev/shm/um\n"
      "VmFlags: rd wr ui sh \n"
      "7f0000007000-7f0000008000 rw-p 00000000 00:00 0\n"
      "VmFlags: rd wr uw");
  REQUIRE(ranges.size() == 3);
  CHECK(ranges[0] == Range{RemoteAddr{0x7f0000002000}, 0x2000});
  CHECK(ranges[1].start.value == 0x7f0000005000);
  CHECK(ranges[2].start.value == 0x7f0000007000);
  CHECK(userfault_ranges("VmFlags: um\n").empty());
  CHECK(userfault_ranges("").empty());
  const std::vector<std::string_view> flags{"dc", "wf"};
  const auto kept = ranges_with_flags(
      "1000-2000 rw-p 00000000 00:00 0\nVmFlags: rd wr mr dc\n"
      "2000-3000 rw-p 00000000 00:00 0\nVmFlags: rd wr mr\n"
      "3000-5000 rw-p 00000000 00:00 0\nVmFlags: rd wr wf\n",
      flags);
  CHECK(kept == std::vector<Range>{{{0x1000}, 0x1000}, {{0x3000}, 0x2000}});
}

TEST_CASE("file systems with a server are found among the mounts") {
  const auto devices = served_devices(
      "21 26 0:20 / /proc rw,relatime shared:5 - proc proc rw\n"
      "60 26 0:51 / /home/x/.gvfs rw,nosuid shared:9 master:2 - fuse.gvfsd-fuse gvfsd-fuse rw\n"
      "61 26 0:52 / /mnt/a\\040-\\040b rw - fuse served rw\n"
      "62 26 0:53 / /mnt/nfs rw - nfs4 host:/x rw\n"
      "26 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
      "63 26 nonsense / /mnt/y rw - fuse served rw\n"
      "64 26 0:54 /\n");
  CHECK(devices == std::set<std::uint64_t>{makedev(0, 51), makedev(0, 52), makedev(0, 53)});
}

TEST_CASE("the kernel's list of caches shows whether there is any userfaultfd") {
  const std::string head = "slabinfo - version: 2.1\n";
  CHECK_FALSE(has_userfaultfd(head + "dentry 100 200 192 21 1 : tunables 0 0 0\n"));
  CHECK_FALSE(has_userfaultfd(head + "userfaultfd_ctx_cache      0      0    192   21    1 :\n"));
  CHECK(has_userfaultfd(head + "userfaultfd_ctx_cache      0     21    192   21    1 :\n"));
}

TEST_CASE("in memory that may stall, only present pages are read") {
  const Fd pagemap = Fd::open("/proc/self/pagemap", O_RDONLY).value();
  void* const mapped =
      mmap(nullptr, 8 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const bytes = static_cast<std::byte*>(mapped);
  for (const std::size_t page : {2UL, 3UL, 6UL}) bytes[page * kPage] = std::byte{1};
  const RemoteAddr at{reinterpret_cast<std::uintptr_t>(mapped)};
  const StallingMemory memory({{{at + kPage, 6 * kPage}, true}},
                              Fd::open("/proc/self/pagemap", O_RDONLY).value());
  const auto part = [&](std::uint64_t from, std::uint64_t length) {
    const auto first = memory.first_part({at + from, length});
    return std::pair(first.bytes, first.may_stall);
  };
  CHECK(part(0, 8 * kPage) == std::pair(kPage, false));  // the part before the mapping
  CHECK(part(kPage, kPage) == std::pair(kPage, true));
  CHECK(part(kPage + 8, 7 * kPage) == std::pair(kPage - 8, true));
  CHECK(part(2 * kPage + 8, 6 * kPage) == std::pair(2 * kPage - 8, false));
  CHECK(part(4 * kPage, 16) == std::pair(std::uint64_t{16}, true));
  CHECK(part(6 * kPage, 2 * kPage) == std::pair(kPage, false));
  CHECK(part(7 * kPage, kPage) == std::pair(kPage, false));
  CHECK(memory.userfault_bytes({{at, 2 * kPage}, {at + 6 * kPage, 2 * kPage}}) == 2 * kPage);
  // If the kernel gives no answer, no page counts as present.
  const StallingMemory unknown({{{at, 8 * kPage}, false}}, Fd());
  CHECK(unknown.userfault_bytes({{at, kPage}}) == 0);
  CHECK(unknown.first_part({at + 2 * kPage, 8}).may_stall);
  munmap(mapped, 8 * kPage);
}

}  // namespace heapattach
