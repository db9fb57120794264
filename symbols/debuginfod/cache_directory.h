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

// Fails unless files that this user creates at `path` can get into no other user's way: the
// directory, or the one in which it would be made, belongs to this user, and only this user or root
// can replace any directory on the way to it.
Result<void> check_cache(const std::string& path);

// The directory to use: the usual one, or root's own if that is another user's, as with "sudo -E".
Result<std::string> own_cache(const CacheVariables& variables);

}  // namespace heapattach::debuginfod
