#include "inject/memory_sharers.h"

#include <array>
#include <charconv>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heapattach {

namespace {

constexpr int kSameMemory = 1;  // KCMP_VM

// The size of the address space in pages, from an open statm file; 0 for a kernel thread.
std::uint64_t pages_in(const Fd& statm) {
  std::array<char, 128> text{};
  const ssize_t got = ::pread(statm.get(), text.data(), text.size(), 0);
  std::uint64_t pages = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, pages);
  return pages;
}

// Whether the other process is of the same size. We ask the kernel only about such processes,
// because security modules may log a question about another user's process.
bool is_as_large(pid_t other, const Fd& own) {
  const auto statm = Fd::open(fmt::format("/proc/{}/statm", other), O_RDONLY);
  if (!statm) return false;
  const std::uint64_t before = pages_in(own);
  const std::uint64_t theirs = pages_in(*statm);
  if (theirs == 0) return false;
  return theirs == before || before != pages_in(own);
}

}  // namespace

std::optional<pid_t> MemorySharers::find() {
  const auto tid = process_.live_tid();
  if (!tid) return std::nullopt;
  const auto own = process_.open_file(fmt::format("task/{}/statm", *tid), O_RDONLY);
  if (!own) return std::nullopt;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid <= 0 || pid == process_.pid() || others_.contains(pid)) continue;
    if (is_as_large(pid, *own) && syscall(SYS_kcmp, *tid, pid, kSameMemory, 0, 0) == 0) return pid;
    others_.insert(pid);
  }
  return std::nullopt;
}

}  // namespace heapattach
