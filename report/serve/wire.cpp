#include "report/serve/wire.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/base/plain_bytes.h"

namespace heapattach::serve {

namespace {

// How long a side waits for the other to make room.
constexpr int kPatienceMs = 2000;

bool send_packet(int wire, const void* bytes, std::size_t size, int descriptor) {
  iovec part{const_cast<void*>(bytes), size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  }
  while (true) {
    if (::sendmsg(wire, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    pollfd room{wire, POLLOUT, 0};
    if (::poll(&room, 1, kPatienceMs) <= 0) return false;
  }
}

Received receive_packet(int wire, void* bytes, std::size_t size, Fd* descriptor) {
  iovec part{bytes, size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor != nullptr) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  const ssize_t got = ::recvmsg(wire, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Received::Nothing : Received::End;
  const cmsghdr* const head = descriptor == nullptr ? nullptr : CMSG_FIRSTHDR(&message);
  if (head != nullptr && head->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
    *descriptor = Fd(fd);
  }
  return static_cast<std::size_t>(got) == size ? Received::Message : Received::End;
}

// Opens the same file once more, for reading only.
Fd for_reading(int output) {
  if (output < 0) return {};
  auto opened = Fd::open("/proc/self/fd/" + std::to_string(output), O_RDONLY);
  return opened ? std::move(*opened) : Fd();
}

}  // namespace

Result<std::pair<Fd, Fd>> make_wire() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return os_error("making a pair of sockets", errno);
  }
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

bool send(int wire, const AskMessage& ask) {
  return send_packet(wire, &ask, sizeof ask, -1);
}

bool send(int wire, const Answer& answer) {
  const Fd output = for_reading(answer.output);
  AnswerMessage message;
  message.asker = answer.asker;
  message.outcome = answer.outcome;
  message.has_output = !output.empty();
  message.status = answer.status;
  message.age_ms = answer.age.count();
  message.pause_ns = answer.pause.count();
  message.budget_left_ns = answer.budget_left.count();
  message.retry_after_s = answer.retry_after.count();
  answer.message.copy(message.message.data(), message.message.size() - 1);
  return send_packet(wire, &message, sizeof message, output.get());
}

Received receive(int wire, AskMessage& ask) {
  return receive_packet(wire, &ask, sizeof ask, nullptr);
}

Received receive(int wire, ReceivedAnswer& answer) {
  return receive_packet(wire, &answer.message, sizeof answer.message, &answer.output);
}

std::vector<std::byte> encode(const Schedule& schedule,
                              std::chrono::nanoseconds budget,
                              Schedule::Time now) {
  PlainWriter out;
  out.number(static_cast<std::uint64_t>(schedule.left_out()));
  out.number(static_cast<std::int64_t>(budget.count()));
  out.list(schedule.accounts(), [&](const Account& account) {
    out.number(account.process.pid);
    out.number(account.process.started);
    out.number(account.process.resident_bytes);
    out.text(account.process.name);
    out.number(account.captures);
    out.number(account.failures);
    out.number(static_cast<std::int64_t>(account.pause.count()));
    out.number(static_cast<std::int64_t>(account.processor_time.count()));
    out.number(static_cast<std::int64_t>(account.budget.left(now).count()));
  });
  return out.take();
}

std::optional<ServerState> decode(std::span<const std::byte> bytes) {
  constexpr std::size_t kLongestName = 64;
  PlainReader in(bytes);
  ServerState state;
  state.left_out = in.number<std::uint64_t>();
  state.budget_ns = in.number<std::int64_t>();
  in.list([&] {
    Account account;
    account.process.pid = in.number<pid_t>();
    account.process.started = in.number<std::uint64_t>();
    account.process.resident_bytes = in.number<std::uint64_t>();
    account.process.name = in.text(kLongestName);
    account.captures = in.number<std::uint64_t>();
    account.failures = in.number<std::uint64_t>();
    account.pause = std::chrono::nanoseconds(in.number<std::int64_t>());
    account.processor_time = std::chrono::nanoseconds(in.number<std::int64_t>());
    state.accounts.push_back(std::move(account));
    state.budget_left_ns.push_back(in.number<std::int64_t>());
  });
  if (!in.is_good()) return {};
  return state;
}

}  // namespace heapattach::serve
