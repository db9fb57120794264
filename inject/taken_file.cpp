#include "inject/taken_file.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/base/pipe.h"

namespace heapattach {

namespace {

constexpr int kSealExecute = 0x20;  // F_SEAL_EXEC, since Linux 6.3; vm.memfd_noexec sets it
constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;

std::string own_link(const Fd& file) {
  return fmt::format("/proc/self/fd/{}", file.get());
}

Error replaced(int number, std::string_view expected) {
  return Error{ErrorKind::Impossible,
               fmt::format("its descriptor {} is no longer the {} that was just made for us: "
                           "another process is changing its descriptor table",
                           number, expected)};
}

Result<struct stat> status_of(const Fd& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return os_error("fstat", errno);
  return status;
}

// All memfds are on an internal file system of the kernel, where nobody can open a file by name.
Result<dev_t> device_of_memory() {
  const Fd own(memfd_create("heapattach", MFD_CLOEXEC));
  if (own.empty()) return os_error("memfd_create", errno);
  return HA_TRY(status_of(own)).st_dev;
}

Result<dev_t> device_of_pipes() {
  const Pipe pipe = HA_TRY(make_pipe("pipe2"));
  return HA_TRY(status_of(pipe.reads)).st_dev;
}

std::string name_of(const Fd& file) {
  std::array<char, PATH_MAX> name{};
  const auto length = readlink(own_link(file).c_str(), name.data(), name.size());
  return {name.data(), length < 0 ? 0 : static_cast<std::size_t>(length)};
}

// The owner of files that a thread makes, which is the last number of the line "Uid:".
Result<uid_t> file_owner(const Process& process, pid_t tid) {
  const std::string status = HA_TRY(process.read_file(fmt::format("task/{}/status", tid)));
  const std::size_t line = status.find("\nUid:");
  uid_t owner = 0;
  if (line != std::string::npos) {
    const std::string_view words = std::string_view(status).substr(line + 1);
    const std::string_view ids = words.substr(0, words.find('\n'));
    const std::string_view last = ids.substr(ids.find_last_of(" \t:") + 1);
    const auto parsed = std::from_chars(last.data(), last.data() + last.size(), owner);
    if (parsed.ec == std::errc()) return owner;
  }
  return Error{ErrorKind::Malformed, fmt::format("task/{}/status has no user id", tid)};
}

Result<Fd> open_without_rights(const Process& process, int number) {
  return process.open_file(fmt::format("fd/{}", number), O_PATH);
}

}  // namespace

Result<Fd> take_memory(const Process& process, MadeFile made, std::string_view name, int flags) {
  const uid_t owner = HA_TRY(file_owner(process, made.thread));
  const dev_t device = HA_TRY(device_of_memory());
  const Fd found = HA_TRY(open_without_rights(process, made.number));
  const struct stat status = HA_TRY(status_of(found));
  const bool is_it = S_ISREG(status.st_mode) && status.st_dev == device && status.st_nlink == 0 &&
                     status.st_size == 0 && status.st_blocks == 0 && status.st_uid == owner &&
                     name_of(found) == fmt::format("/memfd:{} (deleted)", name);
  if (!is_it) return replaced(made.number, "memory");
  // A process that shares the descriptor table may hold a lease on the file. Without O_NONBLOCK, we
  // would wait.
  return Fd::open(own_link(found), flags | O_NONBLOCK);
}

Result<Fd> take_pipe(const Process& process, int number) {
  const dev_t device = HA_TRY(device_of_pipes());
  const Fd found = HA_TRY(open_without_rights(process, number));
  const struct stat status = HA_TRY(status_of(found));
  if (!S_ISFIFO(status.st_mode) || status.st_dev != device) return replaced(number, "pipe");
  return Fd::open(own_link(found), O_RDONLY);
}

bool is_still_there(const Process& process, int number, const Fd& file) {
  const auto there = open_without_rights(process, number);
  if (!there) return false;
  const auto theirs = status_of(*there);
  const auto ours = status_of(file);
  return theirs && ours && theirs->st_ino == ours->st_ino && theirs->st_dev == ours->st_dev;
}

Result<void> fix_size(const Fd& memory, std::uint64_t bytes) {
  const int before = fcntl(memory.get(), F_GET_SEALS);
  if (before < 0) return os_error("F_GET_SEALS", errno);
  const Error changed{ErrorKind::Impossible, "another process is changing the memory made for us"};
  if ((before & ~kSealExecute) != 0) return changed;
  if (ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) return os_error("ftruncate", errno);
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return errno == EPERM ? changed : os_error("F_ADD_SEALS", errno);
  }
  // Check the size again: another process could change it until the memory was sealed.
  const int after = fcntl(memory.get(), F_GET_SEALS);
  const struct stat status = HA_TRY(status_of(memory));
  const bool is_fixed =
      (after & ~kSealExecute) == kSeals && status.st_size == static_cast<off_t>(bytes);
  return is_fixed ? Result<void>() : changed;
}

}  // namespace heapattach
