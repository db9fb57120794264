#include "attach/kernel/kept_contents.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "attach/base/pipe.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kStoredUnit = 512;  // of st_blocks

Result<Fd> reopen(const Fd& found) {
  return Fd::open(fmt::format("/proc/self/fd/{}", found.get()), O_RDONLY | O_NONBLOCK);
}

bool is_memory(const Fd& found) {
  struct statfs system {};
  if (fstatfs(found.get(), &system) != 0) return false;
  return system.f_type == TMPFS_MAGIC || system.f_type == HUGETLBFS_MAGIC;
}

// All pipes without a name are on one file system of the kernel.
bool is_unnamed_pipe(const Fd& found, const Pipe& ours) {
  struct stat theirs {};
  struct stat own {};
  return fstat(found.get(), &theirs) == 0 && fstat(ours.reads.get(), &own) == 0 &&
         S_ISFIFO(theirs.st_mode) && theirs.st_dev == own.st_dev;
}

// Reads what is there; the pipe is ours.
std::vector<std::byte> drain(const Fd& pipe, std::size_t bytes) {
  std::vector<std::byte> contents(bytes);
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = read(pipe.get(), contents.data() + done, bytes - done);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  contents.resize(done);
  return contents;
}

}  // namespace

// tee(2) copies the references to the pages of a pipe into another pipe, and consumes nothing.
std::vector<std::byte> pipe_contents(const Process& process, const std::string& name) {
  const auto found = process.open_file(name, O_PATH);
  const auto ours = make_pipe("pipe2");
  if (!found || !ours || !is_unnamed_pipe(*found, *ours)) return {};
  const auto theirs = reopen(*found);
  int bytes = 0;
  if (!theirs || ioctl(theirs->get(), FIONREAD, &bytes) != 0 || bytes <= 0) return {};
  const int room = fcntl(theirs->get(), F_GETPIPE_SZ);
  if (room > 0) fcntl(ours->writes.get(), F_SETPIPE_SZ, room);
  const ssize_t copied =
      tee(theirs->get(), ours->writes.get(), static_cast<std::size_t>(bytes), SPLICE_F_NONBLOCK);
  return copied > 0 ? drain(ours->reads, static_cast<std::size_t>(copied))
                    : std::vector<std::byte>();
}

Result<MemoryFile> open_memory_file(const Process& process, const std::string& name) {
  const Fd found = HA_TRY(process.open_file(name, O_PATH));
  struct stat status {};
  if (fstat(found.get(), &status) != 0) return os_error("fstat", errno);
  if (!S_ISREG(status.st_mode) || !is_memory(found)) {
    return Error{ErrorKind::Impossible, fmt::format("{} is not a file in memory", name)};
  }
  return MemoryFile{{status.st_dev, status.st_ino},
                    static_cast<std::uint64_t>(status.st_blocks) * kStoredUnit,
                    HA_TRY(reopen(found))};
}

std::vector<std::byte> contents_of(const MemoryFile& file, std::uint64_t most) {
  std::vector<std::byte> contents;
  const int fd = file.file.get();
  off_t at = lseek(fd, 0, SEEK_DATA);
  while (at >= 0 && contents.size() < most) {
    const off_t end = lseek(fd, at, SEEK_HOLE);
    if (end <= at) break;
    const std::size_t before = contents.size();
    contents.resize(before + std::min(static_cast<std::uint64_t>(end - at), most - before));
    const ssize_t got = pread(fd, contents.data() + before, contents.size() - before, at);
    contents.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got <= 0) break;
    at = lseek(fd, at + got, SEEK_DATA);
  }
  return contents;
}

}  // namespace heapattach
