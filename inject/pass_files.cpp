#include "inject/pass_files.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heapattach {

namespace {

// The headers of some systems lack these calls.
constexpr long kPidfdOpen = 434;
constexpr long kPidfdGetfd = 438;

// The arguments and results of recvmsg(2), as they are laid out in the clone's memory.
struct Letter {
  msghdr header{};
  iovec piece{};
  std::uint64_t text = 0;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
};

Error refused(std::string_view what, std::int64_t result) {
  return os_error(fmt::format("{} in the clone", what), static_cast<int>(-result));
}

Result<Fd> take_from(pid_t pid, int descriptor) {
  const Fd process(static_cast<int>(::syscall(kPidfdOpen, pid, 0)));
  if (process.empty()) return os_error("pidfd_open", errno);
  Fd taken(static_cast<int>(::syscall(kPidfdGetfd, process.get(), descriptor, 0)));
  if (taken.empty()) return os_error("pidfd_getfd", errno);
  return taken;
}

Result<void> send(const Fd& socket, const Fd& file) {
  Letter letter;
  letter.piece = {&letter.text, 1};
  letter.header.msg_iov = &letter.piece;
  letter.header.msg_iovlen = 1;
  letter.header.msg_control = letter.control.data();
  letter.header.msg_controllen = letter.control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&letter.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = file.get();
  std::memcpy(CMSG_DATA(rights), &number, sizeof number);
  if (sendmsg(socket.get(), &letter.header, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) return {};
  return os_error("passing a file to the clone", errno);
}

}  // namespace

Result<FilePassage> FilePassage::open(OwnProcess& own) {
  const RemoteAddr at = own.scratch();
  const std::array<std::uint64_t, 4> arguments{AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, at.value};
  const std::int64_t made = HA_TRY(own.system_call(SYS_socketpair, arguments));
  if (made < 0) return refused("socketpair", made);
  const auto ends = HA_TRY((own.memory().read_as<std::array<std::int32_t, 2>>(at)));
  FilePassage passage(own, ends[0], ends[1]);
  passage.ours_ = HA_TRY(take_from(own.process().pid(), ends[0]));
  return passage;
}

FilePassage::FilePassage(FilePassage&& other) noexcept
    : own_(std::exchange(other.own_, nullptr)),
      first_(other.first_),
      second_(other.second_),
      ours_(std::move(other.ours_)) {}

FilePassage::~FilePassage() {
  if (own_ == nullptr) return;
  for (const int descriptor : {first_, second_}) {
    const std::array<std::uint64_t, 1> arguments{static_cast<std::uint64_t>(descriptor)};
    static_cast<void>(own_->system_call(SYS_close, arguments));
  }
}

Result<int> FilePassage::pass(const Fd& file) {
  HA_TRY(send(ours_, file));
  const RemoteAddr at = own_->scratch();
  const auto address = [&](std::size_t offset) {
    return reinterpret_cast<void*>((at + offset).value);
  };
  Letter letter;
  letter.piece = {address(offsetof(Letter, text)), 1};
  letter.header.msg_iov = static_cast<iovec*>(address(offsetof(Letter, piece)));
  letter.header.msg_iovlen = 1;
  letter.header.msg_control = address(offsetof(Letter, control));
  letter.header.msg_controllen = letter.control.size();
  HA_TRY(own_->write(at, std::as_bytes(std::span(&letter, 1))));
  const std::array<std::uint64_t, 3> arguments{static_cast<std::uint64_t>(second_), at.value,
                                               MSG_CMSG_CLOEXEC | MSG_DONTWAIT};
  const std::int64_t got = HA_TRY(own_->system_call(SYS_recvmsg, arguments));
  if (got < 0) return refused("recvmsg", got);
  return own_->memory().read_as<std::int32_t>(at + offsetof(Letter, control) + CMSG_LEN(0));
}

}  // namespace heapattach
