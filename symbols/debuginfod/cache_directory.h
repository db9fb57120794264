#pragma once

#include <string>

#include "attach/base/result.h"

namespace heapattach::debuginfod {

// The variables of the environment that say where libdebuginfod keeps files. Empty: not set.
struct CacheVariables {
  std::string cache_path;  // DEBUGINFOD_CACHE_PATH
  std::string xdg_cache;   // XDG_CACHE_HOME
  std::string home;        // HOME
  static CacheVariables of_environment();
};

// The directory that libdebuginfod would choose.
[[nodiscard]] std::string usual_cache(const CacheVariables& variables);

// Fails unless this user can create files at `path` without affecting other users, and without
// being led elsewhere by them: the directory, or the one in which it would be made, must belong to
// this user, and only this user or root may replace any directory on the path to it.
Result<void> check_cache(const std::string& path);

// The directory to use: the usual one. If that belongs to another user, as with "sudo -E", root's
// own one.
Result<std::string> own_cache(const CacheVariables& variables);

}  // namespace heapattach::debuginfod
