#include "report/format/write/output_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <ctime>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/sandbox/confined.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

constexpr mode_t kMode = 0600;
// If poll() reports a pipe as writable, it takes this much without blocking (pipe(7)).
constexpr std::size_t kPipeBytes = PIPE_BUF;
constexpr int kPollMs = 50;  // how late we may notice an interruption

Error exists(const std::string& name) {
  return {ErrorKind::Os, fmt::format("{} exists; --force replaces it", terminal_text(name)),
          EEXIST};
}

std::string in_proc(const Fd& fd) {
  return fmt::format("/proc/self/fd/{}", fd.get());
}

struct Place {
  std::string directory, name;
};

Place split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// The descriptor that a name means to a shell.
std::optional<int> named_descriptor(std::string_view name) {
  if (name == "-" || name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view digits = name.substr(prefix.size());
    int number = -1;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_whole = read.ec == std::errc{} && read.ptr == digits.data() + digits.size();
    if (is_whole && number >= 0) return number;
  }
  return std::nullopt;
}

Result<Fd> duplicate(int descriptor, std::string_view name) {
  const int fd = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int failure = errno;
  if (fd < 0) return os_error(fmt::format("open {}", terminal_text(name)), failure);
  return Fd(fd);
}

// Devices without a reader: /dev/null, /dev/zero, /dev/full.
bool is_harmless(const struct stat& status) {
  constexpr unsigned kMemoryDevices = 1;
  const unsigned number = minor(status.st_rdev);
  return S_ISCHR(status.st_mode) && major(status.st_rdev) == kMemoryDevices &&
         (number == 3 || number == 5 || number == 7);
}

bool is_ours(uid_t owner) {
  return owner == ::geteuid() || owner == 0;
}

// The reader of a FIFO gets the heap, and another user may have created the FIFO.
Result<void> check_stream(const Fd& directory,
                          const struct stat& status,
                          const std::string& shown,
                          bool force) {
  if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) return exists(shown);
  if (is_harmless(status)) return {};
  const auto refused = [&](std::string_view why) {
    return Error{ErrorKind::Os, fmt::format("{} is not a file: {}", shown, why), EACCES};
  };
  if (!is_ours(status.st_uid)) return refused("it belongs to another user, who may read it");
  struct stat around {};
  const bool is_known = ::fstat(directory.get(), &around) == 0;
  if (!is_known || ((around.st_mode & S_ISVTX) != 0 && around.st_uid != ::geteuid())) {
    return refused("anybody can create files in its directory");
  }
  if (!force) return refused("--force writes to it");
  return {};
}

// A FIFO cannot be opened for writing until it has a reader (fifo(7): ENXIO). We wait, but not past
// the deadline, which a blocking open() could not promise.
Result<Fd> open_directly(const Fd& directory,
                         const Place& place,
                         const std::string& shown,
                         bool force,
                         const Deadline& deadline) {
  for (;;) {
    struct stat before {};
    if (::fstatat(directory.get(), place.name.c_str(), &before, AT_SYMLINK_NOFOLLOW) != 0) {
      return os_error(fmt::format("open {}", shown), errno);
    }
    HA_TRY(check_stream(directory, before, shown, force));
    const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    Fd fd(::openat(directory.get(), place.name.c_str(), flags));
    const int failure = errno;
    if (!fd.empty()) {
      struct stat status {};
      if (::fstat(fd.get(), &status) != 0) return os_error(fmt::format("open {}", shown), errno);
      // It may have been replaced meanwhile.
      HA_TRY(check_stream(directory, status, shown, force));
      const int now = ::fcntl(fd.get(), F_GETFL);
      ::fcntl(fd.get(), F_SETFL, now & ~O_NONBLOCK);
      return fd;
    }
    if (failure != ENXIO) return os_error(fmt::format("open {}", shown), failure);
    HA_TRY(deadline.check(fmt::format("waiting for a reader of {}", shown)));
    ::poll(nullptr, 0, kPollMs);
  }
}

// The kind of thing that a name refers to, without following links.
enum class Found { Nothing, File, Stream, Directory, Other };

Found look_up(const Fd& directory, const std::string& name) {
  if (name.empty()) return Found::Directory;  // the path ended in a slash
  struct stat status {};
  if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return Found::Nothing;  // or hidden from us: creating a file there then fails
  }
  switch (status.st_mode & S_IFMT) {
    case S_IFREG:
    case S_IFLNK: return Found::File;  // a link can be replaced, never followed
    case S_IFIFO:
    case S_IFCHR: return Found::Stream;
    case S_IFDIR: return Found::Directory;
    default: return Found::Other;
  }
}

std::string random_name() {
  std::uint64_t number = 0;
  // A short or failed read gives a worse name; O_EXCL still keeps others' files safe.
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) < 0) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    number = static_cast<std::uint64_t>(now.tv_nsec) << 20 ^ static_cast<std::uint64_t>(::getpid());
  }
  return fmt::format(".heapattach-{:016x}", number);
}

std::optional<Result<OpenOutput>> opened_ahead;

}  // namespace

Result<OpenOutput> OpenOutput::standard_output() {
  return OpenOutput(HA_TRY(duplicate(STDOUT_FILENO, "standard output")), "standard output");
}

Result<OpenOutput> OpenOutput::file(const std::string& name, bool force, const Deadline& deadline) {
  if (opened_ahead) return *std::exchange(opened_ahead, std::nullopt);
  return open(name, force, deadline);
}

void OpenOutput::open_ahead(const std::string& name, bool force, const Deadline& deadline) {
  opened_ahead.emplace(open(name, force, deadline));
}

Result<void> OpenOutput::publish_ahead() {
  if (!opened_ahead) return Error{ErrorKind::Os, "no output file was opened", EBADF};
  if (!*opened_ahead) return opened_ahead->error();
  OpenOutput& output = **opened_ahead;
  return output.publish(output.force_);
}

void OpenOutput::drop_ahead() {
  opened_ahead.reset();
}

Result<OpenOutput> OpenOutput::open(const std::string& name, bool force, const Deadline& deadline) {
  const std::string shown = terminal_text(name);
  if (const auto descriptor = named_descriptor(name)) {
    return OpenOutput(HA_TRY(duplicate(*descriptor, name)), shown);
  }
  const Place place = split(name);
  Fd directory = HA_TRY(Fd::open(place.directory, O_RDONLY | O_DIRECTORY));
  switch (look_up(directory, place.name)) {
    case Found::Directory: return os_error(fmt::format("write {}", shown), EISDIR);
    case Found::Stream:
      return OpenOutput(HA_TRY(open_directly(directory, place, shown, force, deadline)), shown);
    case Found::Other:
      return Error{ErrorKind::Os, fmt::format("{} is not a file that can be replaced", shown)};
    case Found::File:
      if (!force) return exists(name);
      break;
    case Found::Nothing: break;
  }
  OpenOutput output = HA_TRY(temporary(std::move(directory), place.name, shown));
  output.force_ = force;
  return output;
}

Result<OpenOutput> OpenOutput::temporary(Fd directory, std::string name, std::string shown_name) {
  OpenOutput output(Fd(::openat(directory.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode)),
                    std::move(shown_name));
  // Such a file gets its name through /proc, which a container may lack.
  if (!output.fd_.empty() && ::access(in_proc(output.fd_).c_str(), F_OK) != 0) output.fd_.reset();
  if (output.fd_.empty()) {
    std::string beside = random_name();
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    output.fd_ = Fd(::openat(directory.get(), beside.c_str(), flags, kMode));
    const int failure = errno;
    if (output.fd_.empty()) {
      return os_error(fmt::format("create a file for {}", output.shown_name_), failure);
    }
    output.temporary_ = std::move(beside);
  }
  output.directory_ = std::move(directory);
  output.name_ = std::move(name);
  if (::fchmod(output.fd_.get(), kMode) != 0) {
    const int failure = errno;
    return os_error(fmt::format("chmod {}", output.shown_name_), failure);
  }
  return output;
}

OpenOutput::~OpenOutput() {
  // After a move the name may be left behind, but the directory is not. In a confined process its
  // broker does this.
  if (!is_confined() && !directory_.empty() && !temporary_.empty()) {
    ::unlinkat(directory_.get(), temporary_.c_str(), 0);
  }
}

Result<void> OpenOutput::link_anew(const std::string& name) {
  int status = 0;
  if (temporary_.empty()) {
    status =
        ::linkat(AT_FDCWD, in_proc(fd_).c_str(), directory_.get(), name.c_str(), AT_SYMLINK_FOLLOW);
  } else {
    const int at = directory_.get();
    status = ::renameat2(at, temporary_.c_str(), at, name.c_str(), RENAME_NOREPLACE);
    if (status != 0 && errno == EINVAL) {
      // This file system cannot rename without replacing: a second link works as well, and the
      // destructor removes the first.
      status = ::linkat(at, temporary_.c_str(), at, name.c_str(), 0);
    } else if (status == 0) {
      temporary_.clear();
    }
  }
  const int failure = errno;
  if (status == 0) return {};
  if (failure == EEXIST) return exists(shown_name_);
  return os_error(fmt::format("name {}", shown_name_), failure);
}

Result<void> OpenOutput::publish(bool force) {
  if (!force) return link_anew(name_);
  if (temporary_.empty()) {
    const std::string beside = random_name();
    HA_TRY(link_anew(beside));
    temporary_ = beside;
  }
  if (::renameat(directory_.get(), temporary_.c_str(), directory_.get(), name_.c_str()) != 0) {
    const int failure = errno;
    return os_error(fmt::format("rename to {}", shown_name_), failure);
  }
  temporary_.clear();
  return {};
}

OutputFile::OutputFile(OpenOutput output, const Deadline& deadline)
    : output_(std::move(output)), deadline_(deadline), may_block_(false) {
  struct stat status {};
  if (::fstat(output_.fd_.get(), &status) == 0) {
    may_block_ = !S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode);
  }
}

Result<void> OutputFile::wait_for_room() {
  for (;;) {
    pollfd waited{output_.fd_.get(), POLLOUT, 0};
    // An error or a hang-up ends the waiting too; write() then reports which.
    if (::poll(&waited, 1, kPollMs) > 0) return {};
    HA_TRY(deadline_.check(fmt::format("write {}", output_.shown_name_)));
  }
}

Result<void> OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (may_block_) HA_TRY(wait_for_room());
    const std::size_t part = may_block_ ? std::min(bytes.size(), kPipeBytes) : bytes.size();
    const auto written = ::write(output_.fd_.get(), bytes.data(), part);
    const int failure = errno;
    if (written < 0 && failure != EINTR && failure != EAGAIN) {
      return os_error(fmt::format("write {}", output_.shown_name_), failure);
    }
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> OutputFile::finish() {
  if (output_.directory_.empty()) return {};
  if (::fsync(output_.fd_.get()) != 0) {
    const int failure = errno;
    return os_error(fmt::format("fsync {}", output_.shown_name_), failure);
  }
  HA_TRY(is_confined() ? publish_by_broker() : output_.publish(output_.force_));
  // The name should survive a crash of the machine, but a failure here is no error.
  ::fsync(output_.directory_.get());
  return {};
}

std::string expand_name(std::string_view pattern,
                        pid_t pid,
                        std::string_view host,
                        std::string_view time) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    const std::size_t before = name.size();
    switch (next) {
      case 'p': name += std::to_string(pid); break;
      case 'h': name += host; break;
      case 't': name += time; break;
      case '%': name += '%'; break;
      default: name += pattern[i]; continue;
    }
    // A host's name comes from outside, and must not contain a path.
    std::replace(name.begin() + static_cast<std::ptrdiff_t>(before), name.end(), '/', '_');
    ++i;
  }
  return name;
}

}  // namespace heapattach
