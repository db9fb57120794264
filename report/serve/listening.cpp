#include "report/serve/listening.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace heapattach::serve {

namespace {

constexpr int kBacklog = 1024;

Error bad_address(std::string_view text) {
  return Error{
      ErrorKind::Usage,
      fmt::format("{} is not an address; use HOST:PORT with a numeric HOST, or the path of "
                  "a Unix socket",
                  text)};
}

// The bytes of a socket's address.
struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&bytes);  // as every call about sockets wants it
  }
};

// Returns false if the host is not a numeric address.
bool fill_in(const Address& address, SocketAddress& to) {
  sockaddr_in four{};
  if (::inet_pton(AF_INET, address.host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(address.port);
    std::memcpy(&to.bytes, &four, sizeof four);
    to.size = sizeof four;
    return true;
  }
  sockaddr_in6 six{};
  if (::inet_pton(AF_INET6, address.host.c_str(), &six.sin6_addr) != 1) return false;
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(address.port);
  std::memcpy(&to.bytes, &six, sizeof six);
  to.size = sizeof six;
  return true;
}

bool is_of_loopback(const SocketAddress& address) {
  if (address.bytes.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address.bytes, sizeof four);
    return (ntohl(four.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  sockaddr_in6 six{};
  std::memcpy(&six, &address.bytes, sizeof six);
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

Result<SocketAddress> unix_address(const std::string& path) {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  if (path.size() >= sizeof local.sun_path) {
    return Error{ErrorKind::Usage, fmt::format("{}: the path of a socket has at most {} characters",
                                               path, sizeof local.sun_path - 1)};
  }
  path.copy(local.sun_path, path.size());
  SocketAddress made;
  std::memcpy(&made.bytes, &local, sizeof local);
  made.size = sizeof local;
  return made;
}

// Removes a socket on which nobody listens any more, such as that of a killed server.
void remove_abandoned(const std::string& path, const SocketAddress& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool is_abandoned = ::connect(probe.get(), address.get(), address.size) != 0 &&
                            errno == ECONNREFUSED && status.st_uid == ::geteuid();
  if (is_abandoned) ::unlink(path.c_str());
}

Result<void> bind_to(const Fd& socket, const Address& address, const SocketAddress& where) {
  const mode_t before = ::umask(0177);
  const int done = ::bind(socket.get(), where.get(), where.size);
  const int failed = errno;
  ::umask(before);
  if (done != 0) {
    Error error = os_error(fmt::format("listening on {}", shown(address)), failed);
    error.kind = ErrorKind::Os;  // ErrorKind::Denied would mean that a process may not be traced
    return std::move(error).advise("another address with --listen");
  }
  if (::listen(socket.get(), kBacklog) == 0) return {};
  return os_error(fmt::format("listening on {}", shown(address)), errno);
}

std::uint16_t port_of(const Fd& socket) {
  SocketAddress found;
  found.size = sizeof found.bytes;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&found.bytes), &found.size) != 0) {
    return 0;
  }
  sockaddr_in four{};  // the port is at the same place for IPv6
  std::memcpy(&four, &found.bytes, sizeof four);
  return ntohs(four.sin_port);
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  Address address;
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) text.remove_prefix(kUnix.size());
  if (text.find('/') != std::string_view::npos) {
    address.unix_path = text;
    address.is_loopback = true;
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad_address(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const auto read = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (read.ec != std::errc() || read.ptr != port.data() + port.size()) return bad_address(text);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) host = "0.0.0.0";
  if (host == "localhost") host = "127.0.0.1";
  address.host = host;
  SocketAddress where;
  if (!fill_in(address, where)) return bad_address(text);
  address.is_loopback = is_of_loopback(where);
  return address;
}

std::string shown(const Address& address) {
  if (!address.unix_path.empty()) return address.unix_path;
  const bool is_six = address.host.find(':') != std::string::npos;
  const std::string host = is_six ? "[" + address.host + "]" : address.host;
  return fmt::format("http://{}:{}/", host, address.port);
}

Result<Listener> Listener::open(Address address) {
  const bool is_local = !address.unix_path.empty();
  SocketAddress where;
  if (is_local) where = HA_TRY(unix_address(address.unix_path));
  if (is_local) remove_abandoned(address.unix_path, where);
  if (!is_local && !fill_in(address, where)) return bad_address(address.host);
  Fd socket(::socket(where.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.empty()) return os_error("making a socket", errno);
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  HA_TRY(bind_to(socket, address, where));
  if (!is_local) address.port = port_of(socket);
  return Listener(std::move(address), std::move(socket));
}

Listener::Listener(Listener&& other) noexcept
    : address_(std::move(other.address_)), socket_(std::move(other.socket_)) {
  other.address_.unix_path.clear();
}

Listener::~Listener() {
  if (!address_.unix_path.empty() && !socket_.empty()) ::unlink(address_.unix_path.c_str());
}

Result<std::string> read_token(const std::string& file) {
  constexpr std::size_t kMost = 4096;
  constexpr std::size_t kFewest = 16;
  auto opened = Fd::open(file, O_RDONLY | O_NONBLOCK);
  if (!opened) return std::move(opened).error().advise("another file with --token-file");
  struct stat status {};
  if (::fstat(opened->get(), &status) != 0) return os_error(file, errno);
  if (!S_ISREG(status.st_mode)) return Error{ErrorKind::Usage, file + " is not a regular file"};
  if ((status.st_mode & 077) != 0) {
    return Error{ErrorKind::Usage, file + ": other users can read the token"}.advise("chmod 600 " +
                                                                                     file);
  }
  std::string token = HA_TRY(read_all(*opened, kMost));
  token.resize(std::min(token.find_first_of("\r\n"), token.size()));
  if (token.size() >= kFewest) return token;
  return Error{ErrorKind::Usage,
               fmt::format("{}: the token is shorter than {} characters", file, kFewest)};
}

}  // namespace heapattach::serve
