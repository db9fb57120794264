#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/sandbox/sandbox.h"

namespace heapattach {

// The process that forked the worker, and whether the worker may start threads.
struct WallsFor {
  pid_t parent = 0;
  bool may_start_threads = false;
};

// Permanently drops everything that a sandboxed worker does not need. Call it in the child. A
// system call that would start a program, open a socket, or affect another process or thread kills
// the worker; any other call that is not on the list of allowed ones fails with EPERM. The worker
// dies with its parent. Returns false if the filter could not be installed; everything else is best
// effort.
[[nodiscard]] bool put_up_walls(const SandboxLimits& limits, int output, const WallsFor& how);

// Gives up the rights of a process that keeps its threads, workers and descriptors. It can read and
// write its descriptors, but cannot open anything, run a program, or reach another process except
// through requests to `broker`, a socket. It dies with `parent`, unless that is 0. Returns
// descriptions of what could not be done.
[[nodiscard]] std::vector<std::string> give_up_rights(int broker, pid_t parent);

// The limits of a server without rights.
struct ServerWalls {
  pid_t parent = 0;                // the server dies with it
  std::uint64_t memory_bytes = 0;  // in addition to what is mapped now
};

// Permanently gives up everything but to accept connections on its listening sockets, and to read
// and write what is open. Its descriptors are left as they are. Returns false if the filter could
// not be installed; everything else is best effort.
[[nodiscard]] bool put_up_walls_to_serve(const ServerWalls& walls);

// Closes all descriptors except the standard streams and these.
void close_all_but(std::vector<int> kept);

// For a child that talks to servers for the user: it keeps its user, and may open files and
// sockets. It loses its capabilities, its standard streams and all descriptors except `output`. It
// dies with `parent`.
void give_up_privileges(int output, pid_t parent);

}  // namespace heapattach
