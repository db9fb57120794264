#include "attach/process/process_status.h"

#include <cerrno>
#include <charconv>

#include <fmt/format.h>

namespace heapattach {

namespace {

// Takes the next number and the white space before it off the front; 0 if there is none.
std::uint64_t take_number(std::string_view& text, int base) {
  const std::size_t begin = text.find_first_not_of(" \t");
  text.remove_prefix(begin == std::string_view::npos ? text.size() : begin);
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return value;
}

void take_line(ProcessStatus& status, std::string_view key, std::string_view value) {
  if (key == "Tgid") status.process = static_cast<pid_t>(take_number(value, 10));
  if (key == "TracerPid") status.tracer = static_cast<pid_t>(take_number(value, 10));
  if (key == "Uid") {
    status.real_uid = static_cast<uid_t>(take_number(value, 10));
    status.effective_uid = static_cast<uid_t>(take_number(value, 10));
    status.saved_uid = static_cast<uid_t>(take_number(value, 10));
  }
  if (key == "Gid") {
    status.real_gid = static_cast<gid_t>(take_number(value, 10));
    status.effective_gid = static_cast<gid_t>(take_number(value, 10));
    status.saved_gid = static_cast<gid_t>(take_number(value, 10));
  }
  if (key == "SigPnd" || key == "ShdPnd") status.pending_signals |= take_number(value, 16);
  if (key == "SigBlk") status.blocked_signals = take_number(value, 16);
  if (key == "Seccomp") status.seccomp_mode = static_cast<int>(take_number(value, 10));
  if (key == "CapEff") status.effective_capabilities = take_number(value, 16);
}

}  // namespace

ProcessStatus parse_process_status(std::string_view text) {
  ProcessStatus status;
  // The name in the first line has its newlines escaped, so no line below it can be forged.
  while (!text.empty()) {
    const std::size_t length = text.find('\n');
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      take_line(status, line.substr(0, colon), line.substr(colon + 1));
    }
  }
  return status;
}

Result<void> check_is_process(pid_t pid, const ProcessStatus& status) {
  if (status.process == pid) return {};
  if (status.process == 0)
    return Error{ErrorKind::Gone, fmt::format("process {} exited", pid), ESRCH};
  return Error{ErrorKind::Usage, fmt::format("{} is a thread of process {}", pid, status.process)}
      .advise(fmt::format("{}", status.process));
}

}  // namespace heapattach
