#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "blocking_calls.h"

namespace {

struct Pair {
  int ends[2] = {-1, -1};
  explicit Pair(int type = SOCK_STREAM) {
    if (socketpair(AF_UNIX, type, 0, ends) != 0) std::abort();
  }
};

void limit_waiting(int socket) {
  const timeval time{1, 500'000};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

// An abstract address, which needs no file.
struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
  explicit Address(const char* word) {
    name.sun_family = AF_UNIX;
    const int length = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1,
                                     "heapattach-%s-%d", word, getpid());
    size = static_cast<socklen_t>(sizeof(sa_family_t) + 1 + static_cast<std::size_t>(length));
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

int listener(const Address& address, int backlog) {
  const int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(socket_file, address.get(), address.size) != 0) std::abort();
  listen(socket_file, backlog);
  return socket_file;
}

long read_socket() {
  char byte = 0;
  return read(Pair().ends[0], &byte, 1);
}

long write_much_to_socket() {
  const std::vector<char> bytes(8 << 20);
  return write(Pair().ends[1], bytes.data(), bytes.size());
}

long receive_all() {
  const Pair pair;
  char bytes[16];
  if (write(pair.ends[1], "abc", 3) != 3) return -1;
  return recv(pair.ends[0], bytes, sizeof bytes, MSG_WAITALL);
}

long receive_for() {
  const Pair pair;
  limit_waiting(pair.ends[0]);
  char byte = 0;
  return recv(pair.ends[0], &byte, 1, 0);
}

long accept_for_ever() {
  return accept(listener(Address("accept"), 1), nullptr, nullptr);
}

long accept_for() {
  const int socket_file = listener(Address("accept-timed"), 1);
  limit_waiting(socket_file);
  return accept(socket_file, nullptr, nullptr);
}

long connect_to_full() {
  const Address address("connect");
  listener(address, 0);
  // Uses the only place in a queue with a backlog of 0.
  if (connect(socket(AF_UNIX, SOCK_STREAM, 0), address.get(), address.size) != 0) return -1;
  return connect(socket(AF_UNIX, SOCK_STREAM, 0), address.get(), address.size);
}

long receive_many() {
  char byte = 0;
  iovec piece{&byte, 1};
  mmsghdr message{};
  message.msg_hdr.msg_iov = &piece;
  message.msg_hdr.msg_iovlen = 1;
  return recvmmsg(Pair(SOCK_DGRAM).ends[0], &message, 1, 0, nullptr);
}

}  // namespace

std::vector<BlockingCall> calls_of_sockets() {
  return {
      {"read-socket", 0, read_socket},  {"write-much-to-socket", 0, write_much_to_socket},
      {"recv-waitall", 0, receive_all}, {"recv-rcvtimeo", kDueSeconds, receive_for},
      {"accept", 0, accept_for_ever},   {"accept-rcvtimeo", kDueSeconds, accept_for},
      {"connect", 0, connect_to_full},  {"recvmmsg", 0, receive_many},
  };
}
