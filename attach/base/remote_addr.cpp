#include "attach/base/remote_addr.h"

#include <fmt/format.h>

using heapattach::FileAddr;
using heapattach::RemoteAddr;

fmt::format_context::iterator fmt::formatter<RemoteAddr>::format(RemoteAddr addr,
                                                                 format_context& ctx) const {
  return fmt::format_to(ctx.out(), "{:#x}", addr.value);
}

fmt::format_context::iterator fmt::formatter<FileAddr>::format(FileAddr addr,
                                                               format_context& ctx) const {
  return fmt::format_to(ctx.out(), "file:{:#x}", addr.value);
}
