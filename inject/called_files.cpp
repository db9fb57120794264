#include "inject/called_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "attach/process/kernel_text.h"

namespace heapattach {

namespace {

// openat2(2), which the headers of some systems lack.
constexpr long kOpenat2 = 437;
struct OpenHow {
  std::uint64_t flags = 0;
  std::uint64_t mode = 0;
  std::uint64_t resolve = 0;
};
constexpr std::uint64_t kNoMagicLinks = 0x02;
constexpr std::uint64_t kInRoot = 0x10;

// The minor numbers of null, zero, full, random and urandom; the major number is 1.
constexpr std::array<unsigned, 5> kHarmlessDevices{3, 5, 7, 8, 9};

bool is_harmless_kind(const struct stat& status) {
  if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode)) return true;
  return S_ISCHR(status.st_mode) && major(status.st_rdev) == 1 &&
         std::find(kHarmlessDevices.begin(), kHarmlessDevices.end(), minor(status.st_rdev)) !=
             kHarmlessDevices.end();
}

// Replaces /proc/self by the clone's directory: if we opened /proc/self, it would be heapattach's.
std::string naming_pid(const std::string& path, pid_t pid) {
  for (const std::string_view self : {"/proc/self/", "/proc/thread-self/"}) {
    if (path.starts_with(self)) {
      return fmt::format("/proc/{}/{}", pid, std::string_view(path).substr(self.size()));
    }
  }
  return path;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Result<Fd> FilesOfClone::find(int directory, const std::string& path, bool follows) const {
  const bool is_absolute = path.starts_with('/');
  const std::string from = is_absolute             ? "root"
                           : directory == AT_FDCWD ? "cwd"
                                                   : fmt::format("fd/{}", directory);
  const Fd start = HA_TRY(clone_.open_file(from, O_PATH));
  const std::uint64_t flags = O_PATH | O_CLOEXEC | (follows ? 0U : unsigned{O_NOFOLLOW});
  const OpenHow how{flags, 0, kNoMagicLinks | (is_absolute ? kInRoot : 0)};
  const std::string named = naming_pid(path, own_pid_);
  constexpr int kTries = 5;  // openat2 fails with EAGAIN while something is renamed
  for (int i = 0;; ++i) {
    Fd found(static_cast<int>(::syscall(kOpenat2, start.get(), named.c_str(), &how, sizeof how)));
    const int failure = errno;
    if (!found.empty()) return found;
    if (failure == ENOSYS) {
      const std::string below = is_absolute ? "." + named : named;
      return Fd::open_at(start, below, static_cast<int>(flags));
    }
    if (failure != EAGAIN || i == kTries) return os_error("following a path", failure);
  }
}

bool FilesOfClone::is_of_another(const Fd& file) const {
  struct statfs system {};
  if (fstatfs(file.get(), &system) != 0) return true;
  if (static_cast<unsigned long>(system.f_type) != PROC_SUPER_MAGIC) return false;
  std::array<char, PATH_MAX> link{};
  const std::string own = fmt::format("/proc/self/fd/{}", file.get());
  const auto length = readlink(own.c_str(), link.data(), link.size());
  if (length < 0) return true;
  std::string_view rest(link.data(), static_cast<std::size_t>(length));
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (!is_number(part)) continue;
    pid_t pid = 0;
    std::from_chars(part.data(), part.data() + part.size(), pid);
    return pid != own_pid_ && pid != clone_.pid();
  }
  return false;
}

bool FilesOfClone::is_harmless(int directory, const std::string& path, bool follows) const {
  const auto file = find(directory, path, follows);
  if (!file) {
    // With these errors, the clone cannot open the file either. Any other error is a refusal: links
    // such as /proc/PID/fd/N give ELOOP.
    const int failure = file.error().os_errno;
    return failure == ENOENT || failure == ENOTDIR || failure == EACCES ||
           failure == ENAMETOOLONG || failure == EBADF;
  }
  struct stat status {};
  if (fstat(file->get(), &status) != 0 || !is_harmless_kind(status)) return false;
  return may_see_others_ || !is_of_another(*file);
}

CalledFiles::OpenFile FilesOfClone::descriptor(int number) const {
  OpenFile file;
  const auto about = clone_.read_file(fmt::format("fdinfo/{}", number));
  const auto found = about ? number_after(*about, "flags", 8) : std::nullopt;
  if (!found) return file;
  file.is_open = true;
  const int flags = static_cast<int>(*found);
  const bool is_path = (flags & O_PATH) != 0;
  file.is_writable = !is_path && (flags & O_ACCMODE) != O_RDONLY;
  if (!is_path) {
    file.is_harmless = true;  // the clone opened it under these rules
    return file;
  }
  const auto place = clone_.open_file(fmt::format("fd/{}", number), O_PATH);
  struct stat status {};
  file.is_harmless = place && fstat(place->get(), &status) == 0 && is_harmless_kind(status) &&
                     (may_see_others_ || !is_of_another(*place));
  return file;
}

}  // namespace heapattach
