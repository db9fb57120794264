#include "symbols/debuginfod/cache_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heapattach::debuginfod {

namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

bool is_there(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

Error not_ours(const fs::path& path, std::string_view why) {
  return {ErrorKind::Unsupported, fmt::format("{} {}", path.string(), why)};
}

// Checks one directory on the path to the cache. `is_last` is true for the last one that exists.
Result<void> check_directory(const fs::path& path, bool is_last) {
  struct stat status {};
  const int failure = ::stat(path.c_str(), &status) == 0 ? 0 : errno;
  if (failure != 0) return os_error(fmt::format("stat {}", path.string()), failure);
  if (!S_ISDIR(status.st_mode)) return not_ours(path, "is not a directory");
  const bool is_shared = (status.st_mode & S_IWOTH) != 0;
  const bool is_sticky = (status.st_mode & S_ISVTX) != 0;
  if (is_shared && !is_sticky) return not_ours(path, "can be written by everybody");
  if (status.st_uid == ::geteuid()) return {};
  if (status.st_uid != 0 || (is_last && !is_shared)) {
    return not_ours(path, "belongs to another user");
  }
  return {};
}

}  // namespace

CacheVariables CacheVariables::of_environment() {
  return {variable("DEBUGINFOD_CACHE_PATH"), variable("XDG_CACHE_HOME"), variable("HOME")};
}

std::string usual_cache(const CacheVariables& variables) {
  if (!variables.cache_path.empty()) return variables.cache_path;
  if (const std::string old = variables.home + "/.debuginfod_client_cache"; is_there(old))
    return old;
  if (!variables.xdg_cache.empty()) return variables.xdg_cache + "/debuginfod_client";
  return variables.home + "/.cache/debuginfod_client";
}

Result<void> check_cache(const std::string& path) {
  if (!path.starts_with('/')) return not_ours(path, "is not an absolute path");
  fs::path existing(path);
  while (!is_there(existing) && existing.has_relative_path()) existing = existing.parent_path();
  std::error_code failure;
  existing = fs::canonical(existing, failure);
  if (failure) return os_error(fmt::format("find {}", path), failure.value());
  fs::path at;
  for (const fs::path& part : existing) {
    at /= part;
    HA_TRY(check_directory(at, at == existing));
  }
  return {};
}

Result<std::string> own_cache(const CacheVariables& variables) {
  std::string usual = usual_cache(variables);
  const bool is_nowhere =
      variables.cache_path.empty() && variables.xdg_cache.empty() && variables.home.empty();
  auto checked = is_nowhere ? Error{ErrorKind::Unsupported, "HOME is not set"} : check_cache(usual);
  if (checked) return usual;
  if (::geteuid() == 0) {
    std::string of_root = usual_cache({"", "", "/root"});
    if (check_cache(of_root)) return of_root;
  }
  return std::move(checked).error();
}

}  // namespace heapattach::debuginfod
