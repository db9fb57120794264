#include "report/cli/kept_files.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/base/directory.h"

namespace heapattach {

namespace {

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// "20261124T093000Z"
bool is_time(std::string_view text) {
  constexpr std::string_view kLikeness = "00000000T000000Z";
  return text.size() == kLikeness.size() &&
         std::equal(text.begin(), text.end(), kLikeness.begin(), [](char letter, char like) {
           return like == '0' ? is_digit(letter) : letter == like;
         });
}

// Takes what follows the last dot off `text`.
std::string_view take_last(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::exchange(text, {});
  const std::string_view last = text.substr(dot + 1);
  text = text.substr(0, dot);
  return last;
}

std::string_view time_of(std::string_view capture) {
  return take_last(capture);
}

std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> files;
  const Directory listing(::opendir(directory.c_str()));
  if (listing == nullptr) return files;
  while (const dirent* const entry = ::readdir(listing.get())) {  // NOLINT(concurrency-mt-unsafe)
    files.emplace_back(entry->d_name);
  }
  return files;
}

// Whether everybody may create files in a directory.
bool is_for_all(const std::string& directory) {
  struct stat status {};
  return ::stat(directory.c_str(), &status) == 0 && (status.st_mode & S_IWOTH) != 0;
}

}  // namespace

std::string capture_name(std::string_view process, int pid, std::string_view time) {
  std::string name(process);
  for (char& letter : name) {
    const bool is_plain = is_digit(letter) || (letter >= 'a' && letter <= 'z') ||
                          (letter >= 'A' && letter <= 'Z') || letter == '-';
    if (!is_plain) letter = '_';
  }
  return fmt::format("{}.{}.{}", name.empty() ? "process" : name, pid, time);
}

std::string_view capture_of(std::string_view file) {
  for (const std::string_view ending : kCaptureEndings) {
    if (!file.ends_with(ending)) continue;
    const std::string_view name = file.substr(0, file.size() - ending.size());
    std::string_view rest = name;
    if (!is_time(take_last(rest))) return {};
    const std::string_view pid = take_last(rest);
    const bool is_pid = !pid.empty() && std::all_of(pid.begin(), pid.end(), is_digit);
    return is_pid && !rest.empty() ? name : std::string_view();
  }
  return {};
}

std::vector<std::string> surplus_files(std::vector<std::string> files, std::size_t keep) {
  std::set<std::pair<std::string, std::string>> captures;  // by time
  for (const std::string& file : files) {
    const std::string name(capture_of(file));
    if (!name.empty()) captures.insert({std::string(time_of(name)), name});
  }
  std::set<std::string> surplus;
  while (captures.size() > keep) {
    surplus.insert(captures.begin()->second);
    captures.erase(captures.begin());
  }
  std::erase_if(files, [&](const std::string& file) {
    return !surplus.contains(std::string(capture_of(file)));
  });
  return files;
}

Result<void> make_capture_directory(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();  // one would follow a link
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  const int failure = errno;
  struct stat status {};
  if (failure != EEXIST || ::lstat(path.c_str(), &status) != 0) {
    return os_error(fmt::format("making {}", path), failure);
  }
  const std::size_t slash = path.rfind('/');
  const std::string around = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const bool is_ours = status.st_uid == ::geteuid() || status.st_uid == 0;
  if (!is_ours && is_for_all(around)) {
    return Error{ErrorKind::Os, fmt::format("another user has made {}", path), EACCES}.advise(
        "-o DIR with a directory of your own");
  }
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (!is_there) return os_error(path, errno);
  if (!S_ISDIR(status.st_mode)) return os_error(path, ENOTDIR).advise("-o DIR with a directory");
  return {};
}

void remove_surplus(const std::string& directory, std::size_t keep) {
  for (const std::string& file : surplus_files(files_in(directory), keep)) {
    ::unlink(fmt::format("{}/{}", directory, file).c_str());
  }
}

void make_room(const std::string& directory, std::uint64_t most_bytes) {
  std::set<std::pair<std::string, std::string>> captures;  // by time
  std::map<std::string, std::uint64_t> bytes;
  std::uint64_t all = 0;
  for (const std::string& file : files_in(directory)) {
    const std::string name(capture_of(file));
    struct stat status {};
    if (name.empty() || ::lstat(fmt::format("{}/{}", directory, file).c_str(), &status) != 0) {
      continue;
    }
    captures.insert({std::string(time_of(name)), name});
    bytes[name] += static_cast<std::uint64_t>(status.st_size);
    all += static_cast<std::uint64_t>(status.st_size);
  }
  std::size_t keep = captures.size();
  for (auto oldest = captures.begin(); all > most_bytes && keep > 0; ++oldest, --keep) {
    all -= bytes[oldest->second];
  }
  remove_surplus(directory, keep);
}

}  // namespace heapattach
