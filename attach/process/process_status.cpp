#include "attach/process/process_status.h"

#include <cerrno>

#include <fmt/format.h>

#include "attach/process/kernel_text.h"

namespace heapattach {

namespace {

// The next number of a value, which is taken off it; 0 if there is none.
std::uint64_t next_number(std::string_view& value, int base = 10) {
  return take_number(value, base).value_or(0);
}

void take_line(ProcessStatus& status, std::string_view key, std::string_view value) {
  if (key == "Tgid") status.process = static_cast<pid_t>(next_number(value));
  if (key == "TracerPid") status.tracer = static_cast<pid_t>(next_number(value));
  if (key == "Uid") {
    status.real_uid = static_cast<uid_t>(next_number(value));
    status.effective_uid = static_cast<uid_t>(next_number(value));
    status.saved_uid = static_cast<uid_t>(next_number(value));
  }
  if (key == "Gid") {
    status.real_gid = static_cast<gid_t>(next_number(value));
    status.effective_gid = static_cast<gid_t>(next_number(value));
    status.saved_gid = static_cast<gid_t>(next_number(value));
  }
  if (key == "SigPnd" || key == "ShdPnd") status.pending_signals |= next_number(value, 16);
  if (key == "SigBlk") status.blocked_signals = next_number(value, 16);
  if (key == "Seccomp") status.seccomp_mode = static_cast<int>(next_number(value));
  if (key == "CapEff") status.effective_capabilities = next_number(value, 16);
}

}  // namespace

ProcessStatus parse_process_status(std::string_view text) {
  ProcessStatus status;
  // The name in the first line has its newlines escaped, so no line below it can be forged.
  for_each_line(text, [&](std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      take_line(status, line.substr(0, colon), line.substr(colon + 1));
    }
  });
  return status;
}

Result<void> check_is_process(pid_t pid, const ProcessStatus& status) {
  if (status.process == pid) return {};
  if (status.process == 0) {
    return Error{ErrorKind::Gone, fmt::format("process {} exited", pid), ESRCH};
  }
  return Error{ErrorKind::Usage, fmt::format("{} is a thread of process {}", pid, status.process)}
      .advise(fmt::format("{}", status.process));
}

}  // namespace heapattach
