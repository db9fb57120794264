#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attach/base/fd.h"
#include "attach/base/result.h"

// The address at which clients connect.
namespace heapattach::serve {

struct Address {
  std::string unix_path;  // of a Unix socket; empty: TCP
  std::string host;       // a number, IPv4 or IPv6
  std::uint16_t port = 0;
  bool is_loopback = false;
};

inline constexpr std::string_view kUsualAddress = "127.0.0.1:9748";

// "/run/heapattach.sock", "127.0.0.1:9748", "[::1]:9748", "localhost:9748", ":9748" (every
// interface). Usage for anything else; names are not looked up.
Result<Address> parse_address(std::string_view text);

// The address as a URL, or the path of a Unix socket.
[[nodiscard]] std::string shown(const Address& address);

// A listening socket. A Unix socket has mode 0600, replaces one that nobody listens on any more,
// and is removed from the file system by the destructor.
class Listener {
 public:
  static Result<Listener> open(Address address);
  ~Listener();
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] const Fd& socket() const { return socket_; }
  // If the port was 0, the address has the port that the kernel chose.
  [[nodiscard]] const Address& address() const { return address_; }

 private:
  Listener(Address address, Fd socket) : address_(std::move(address)), socket_(std::move(socket)) {}

  Address address_;
  Fd socket_;
};

// The token in a file that nobody else may read: its first line, at least 16 characters.
Result<std::string> read_token(const std::string& file);

}  // namespace heapattach::serve
