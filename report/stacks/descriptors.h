#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attach/process/process.h"

namespace heapattach::stacks {

// Adds the sockets in /proc/<pid>/net/tcp (tcp6, udp, udp6), by inode: "TCP 127.0.0.1:80
// listening", "TCP 10.0.0.1:80 to 10.0.0.2:4711".
void read_inet_sockets(std::string_view text,
                       std::string_view protocol,
                       std::map<std::uint64_t, std::string>& sockets);
// Reads /proc/<pid>/net/unix: "unix socket /run/app.sock".
void read_unix_sockets(std::string_view text, std::map<std::uint64_t, std::string>& sockets);

// A descriptor that an epoll instance watches, and the events (EPOLLIN and so on).
struct Watched {
  std::uint64_t fd = 0;
  std::uint32_t events = 0;
};
// The access mode of a descriptor, from the line "flags:" of /proc/<pid>/fdinfo/<fd>.
std::optional<int> read_access(std::string_view text);

// Parses /proc/<pid>/fdinfo/<fd> of an epoll instance.
std::vector<Watched> read_watched(std::string_view text);

// Parses /proc/<pid>/task/<tid>/children.
std::set<pid_t> read_children(std::string_view text);

// Describes the descriptors of a process, and lists its children. Reads them on first use. Without
// a process, everything is unknown.
class Descriptors {
 public:
  explicit Descriptors(const Process* process) : process_(process) {}

  // "pipe", "/var/log/app.log", "TCP 127.0.0.1:80 listening"; empty if it is not open, or unknown.
  [[nodiscard]] std::string what_is(std::uint64_t fd);
  // The access mode, O_RDONLY, O_WRONLY or O_RDWR; none if unknown.
  [[nodiscard]] std::optional<int> access_of(std::uint64_t fd) const;
  // The number of descriptors that an epoll instance watches; none if unknown.
  [[nodiscard]] std::optional<std::size_t> watched_by(std::uint64_t epoll_fd) const;
  // Everything that the process's epoll instances watch.
  [[nodiscard]] std::vector<Watched> all_watched() const;
  // The child processes that it has not yet waited for.
  [[nodiscard]] std::set<pid_t> children() const;

 private:
  const Process* process_;  // null: none
  std::optional<std::map<std::uint64_t, std::string>> sockets_;
};

}  // namespace heapattach::stacks
