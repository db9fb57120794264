#include "attach/sandbox/confined.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/base/guardian.h"
#include "attach/sandbox/open_file.h"
#include "attach/sandbox/sandbox_walls.h"

// Requests and answers are single packets of a socket (SOCK_SEQPACKET), so that neither side can
// make the other wait for the rest of one. A request is a letter and its arguments. The broker does
// not trust requests: the other side may be under an attacker's control.

namespace heapattach {

namespace {

constexpr std::size_t kLongestRequest = 8192;
constexpr std::size_t kLongestMessage = 1024;
constexpr int kPollMs = 50;  // how late an interruption may be noticed

enum class Ask : char { Named = 'n', Regular = 'r', Below = 'b', DebugFile = 'd', Publish = 'p' };

struct Answer {
  std::uint8_t is_good = 0;
  std::uint8_t kind = 0;  // of the error
  std::int32_t os_errno = 0;
  std::array<char, kLongestMessage> message{};
};

// The confined process asks its broker through this socket, and waits for answers until
// `answers_by`.
int broker_socket = -1;
Deadline answers_by;

union FdBuffer {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

bool send_answer(int socket, const Answer& answer, int fd) {
  iovec part{const_cast<Answer*>(&answer), sizeof answer};  // sendmsg() only reads
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  FdBuffer control{};
  if (fd >= 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
}

Answer answer_of(const Error& error) {
  Answer answer;
  answer.kind = static_cast<std::uint8_t>(error.kind);
  answer.os_errno = error.os_errno;
  const std::string text = error.message();
  std::memcpy(answer.message.data(), text.data(), std::min(text.size(), answer.message.size() - 1));
  return answer;
}

// The other process: answers until there are no more requests.
class Broker {
 public:
  Broker(int socket, const BrokerDuties& duties) : socket_(socket), duties_(duties) {}

  void serve() {
    std::array<char, kLongestRequest> request;  // NOLINT(*-member-init): recv() fills it
    while (true) {
      const ssize_t size = ::recv(socket_, request.data(), request.size(), 0);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return;
      const auto file = obey(std::string_view(request.data(), static_cast<std::size_t>(size)));
      Answer answer;
      answer.is_good = 1;
      const bool is_sent = file ? send_answer(socket_, answer, file->get())
                                : send_answer(socket_, answer_of(file.error()), -1);
      if (!is_sent) return;
    }
  }

 private:
  // An empty descriptor if the request returns none.
  [[nodiscard]] Result<Fd> obey(std::string_view request) const {
    const std::string rest(request.substr(1));
    switch (static_cast<Ask>(request.front())) {
      case Ask::Named: return open_named(rest);
      case Ask::Regular: return open_if_allowed(rest);
      case Ask::Below: {
        if (rest.empty()) break;
        const std::size_t end = std::min(rest.find('\0'), rest.size() - 1);
        const std::string path = rest.substr(end + 1);
        if (!duties_.opens_any_file) return refused(path);
        const Fd root = HA_TRY(Fd::open(rest.substr(0, end), O_PATH | O_DIRECTORY));
        return open_below(root, path);
      }
      case Ask::DebugFile:
        if (!duties_.find_debug_file) break;
        return duties_.find_debug_file(rest);
      case Ask::Publish:
        if (!duties_.publish) break;
        HA_TRY(duties_.publish());
        return Fd();
    }
    return refused(rest);
  }

  [[nodiscard]] Result<Fd> open_named(const std::string& rest) const {
    const bool is_blocking = rest.starts_with('w');
    const std::string path = rest.substr(std::min<std::size_t>(rest.size(), 1));
    if (!is_named(path)) return open_if_allowed(path);
    return Fd::open(path, O_RDONLY | O_NOCTTY | (is_blocking ? 0 : O_NONBLOCK));
  }
  [[nodiscard]] Result<Fd> open_if_allowed(const std::string& path) const {
    if (!is_named(path) && !duties_.opens_any_file) return refused(path);
    return open_regular(path);
  }
  [[nodiscard]] bool is_named(const std::string& path) const {
    return std::find(duties_.files.begin(), duties_.files.end(), path) != duties_.files.end();
  }
  static Error refused(const std::string& path) {
    return {ErrorKind::Os, "open " + path + ": not one of the named files", EACCES};
  }

  int socket_;
  const BrokerDuties& duties_;
};

[[noreturn]] void be_broker(int socket, const BrokerDuties& duties) {
  ::prctl(PR_SET_NAME, "heapattach-open");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  // A process that waits for the end of our output must not wait for this one. Input may be named.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
  }
  Broker(socket, duties).serve();
  if (duties.end) duties.end();
  ::_exit(0);
}

Error lost() {
  return {ErrorKind::Os, "the process that opens files for this one has exited", EPIPE};
}

// The answer, and the descriptor that came with it.
Result<Fd> receive(Answer& answer) {
  iovec part{&answer, sizeof answer};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  FdBuffer control{};
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t size = ::recvmsg(broker_socket, &message, MSG_CMSG_CLOEXEC);
  if (size != static_cast<ssize_t>(sizeof answer)) return lost();
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return Fd();
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return Fd(fd);
}

// Requests without an answer yet. If waiting for one was interrupted, its answer comes before ours.
int unanswered = 0;

Result<Fd> ask(Ask what, std::string_view rest) {
  std::string request(1, static_cast<char>(what));
  request += rest;
  if (request.size() > kLongestRequest) return os_error("open a file", ENAMETOOLONG);
  if (::send(broker_socket, request.data(), request.size(), MSG_NOSIGNAL) < 0) return lost();
  ++unanswered;
  Answer answer;
  Fd fd;
  while (unanswered > 0) {
    pollfd waited{broker_socket, POLLIN, 0};
    if (::poll(&waited, 1, kPollMs) > 0) {
      fd = HA_TRY(receive(answer));
      --unanswered;
    } else {
      HA_TRY(answers_by.check("waiting for a file to be opened"));
    }
  }
  if (answer.is_good != 0) return fd;
  answer.message.back() = '\0';
  return Error{static_cast<ErrorKind>(answer.kind), answer.message.data(), answer.os_errno};
}

}  // namespace

Result<Confinement> confine(const BrokerDuties& duties, const Deadline& deadline) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return os_error("socketpair", errno);
  }
  Fd ours(ends[0]);
  Fd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return os_error("fork", errno);
  if (pid == 0) {
    ours.reset();
    be_broker(theirs.get(), duties);
  }
  broker_socket = ours.release();
  answers_by = deadline;
  Fd::open_through(open_by_broker);
  Confinement done;
  done.notes = give_up_rights(broker_socket, guardian_pid());
  return done;
}

bool is_confined() noexcept {
  return broker_socket >= 0;
}

Result<Fd> open_by_broker(const std::string& path, int flags) {
  if ((flags & O_PATH) != 0) return ask(Ask::Regular, path);
  return ask(Ask::Named, ((flags & O_NONBLOCK) == 0 ? "w" : "n") + path);
}

Result<Fd> open_below_by_broker(const std::string& root, const std::string& path) {
  return ask(Ask::Below, root + '\0' + path);
}

Result<Fd> find_debug_file_by_broker(const std::string& build_id) {
  return ask(Ask::DebugFile, build_id);
}

Result<void> publish_by_broker() {
  static_cast<void>(HA_TRY(ask(Ask::Publish, {})));
  return {};
}

}  // namespace heapattach
