#include "attach/process/permission.h"

#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heapattach {

namespace {

constexpr unsigned kCapSysPtrace = 19;
constexpr unsigned kCapSysAdmin = 21;

std::optional<int> read_yama_scope() {
  const auto file = Fd::open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY);
  if (!file) return std::nullopt;
  const auto text = read_all(*file, 64);
  if (!text) return std::nullopt;
  int scope = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), scope);
  if (parsed.ec != std::errc()) return std::nullopt;
  return scope;
}

// The inode of the first one, PROC_USER_INIT_INO of linux/proc_ns.h.
constexpr ino_t kFirstUserNamespace = 0xEFFFFFFD;

bool is_in_first_user_namespace() {
  struct stat ours {};
  return stat("/proc/self/ns/user", &ours) == 0 && ours.st_ino == kFirstUserNamespace;
}

bool shares_user_namespace(const Process& process) {
  struct stat ours {};
  struct stat theirs {};
  if (stat("/proc/self/ns/user", &ours) != 0) return true;
  // If we may not trace a process, we may not read its namespaces either. With a capability in the
  // first namespace we may, in whichever namespace the target is. So if reading fails in another
  // namespace, the target is not in it.
  if (fstatat(process.directory().get(), "ns/user", &theirs, 0) != 0) {
    return ours.st_ino == kFirstUserNamespace;
  }
  return ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

ProcessStatus own_status() {
  const auto file = Fd::open("/proc/self/status", O_RDONLY);
  if (!file) return {};
  const auto text = read_all(*file, std::size_t{64} * 1024);
  return text ? parse_process_status(*text) : ProcessStatus();
}

// Root without the capability is in a container, or was stripped of it.
std::string way_to_the_capability(const AccessFacts& facts) {
  if (facts.our_uid != 0) {
    return "run as root, or give heapattach CAP_SYS_PTRACE (in a container: --cap-add=SYS_PTRACE)";
  }
  return "start the container with --cap-add=SYS_PTRACE, or run where root has CAP_SYS_PTRACE";
}

Error denied(std::string_view rule, std::string advice) {
  return Error{ErrorKind::Denied, fmt::format("not permitted: {}", rule), EPERM}.advise(
      std::move(advice));
}

}  // namespace

Error explain_denied(const AccessFacts& facts) {
  const std::string as_root = way_to_the_capability(facts);
  if (facts.yama_scope == 3) {
    return denied("Yama forbids all tracing until the next boot (kernel.yama.ptrace_scope is 3)",
                  "--snapshot read, or boot without it");
  }
  if (facts.has_capability && !facts.has_same_user_namespace) {
    return denied(
        "the target is in another user namespace, where our CAP_SYS_PTRACE does not count",
        "running as root of the namespace that contains it");
  }
  if (facts.has_capability) {
    return denied(
        fmt::format("you have CAP_SYS_PTRACE, so a security module (SELinux deny_ptrace, "
                    "AppArmor, lockdown) or {} forbids it",
                    facts.is_filtered ? "heapattach's own seccomp filter" : "a container's policy"),
        "allow ptrace there (in a container: --cap-add=SYS_PTRACE)");
  }
  if (facts.yama_scope == 2) {
    return denied("Yama allows tracing only with CAP_SYS_PTRACE (kernel.yama.ptrace_scope is 2)",
                  as_root);
  }
  if (facts.our_uid != facts.target_uid) {
    return denied(
        fmt::format("the process belongs to user {}; you are user {}, without CAP_SYS_PTRACE",
                    facts.target_uid, facts.our_uid),
        facts.target_uid == 0 ? as_root
                              : fmt::format("{}, or run as user {}", as_root, facts.target_uid));
  }
  if (!facts.has_same_ids) {
    return denied(
        "the target runs with additional user or group ids (a setuid or setgid program), "
        "and you lack CAP_SYS_PTRACE",
        as_root);
  }
  if (!facts.is_dumpable) {
    return denied(
        "the target has made itself non-dumpable (PR_SET_DUMPABLE, or you may not read its "
        "program), and you lack CAP_SYS_PTRACE",
        as_root);
  }
  if (facts.yama_scope == 1) {
    return denied("Yama allows tracing only of one's own children (kernel.yama.ptrace_scope is 1)",
                  as_root + ", or set kernel.yama.ptrace_scope to 0 with sysctl");
  }
  return denied(
      fmt::format("you lack CAP_SYS_PTRACE, and the target has capabilities that you do not, or {} "
                  "forbids it",
                  facts.is_filtered ? "heapattach's own seccomp filter" : "a security module"),
      as_root);
}

AccessFacts access_facts(const Process& process) {
  AccessFacts facts;
  const ProcessStatus own = own_status();
  facts.our_uid = own.effective_uid;
  facts.has_capability = (own.effective_capabilities >> kCapSysPtrace & 1U) != 0;
  facts.is_filtered = own.seccomp_mode != 0;
  facts.yama_scope = read_yama_scope();
  facts.has_same_user_namespace = shares_user_namespace(process);
  const auto target = process.thread_status(process.pid());
  if (!target) return facts;
  facts.target_uid = target->real_uid;
  // ptrace compares against our real ids (PTRACE_MODE_REALCREDS).
  facts.has_same_ids = target->real_uid == own.real_uid && target->effective_uid == own.real_uid &&
                       target->saved_uid == own.real_uid && target->real_gid == own.real_gid &&
                       target->effective_gid == own.real_gid && target->saved_gid == own.real_gid;
  // proc(5): the files of a process that is not dumpable belong to root.
  struct stat directory {};
  if (fstatat(process.directory().get(), "stat", &directory, 0) == 0) {
    facts.is_dumpable = directory.st_uid == target->effective_uid;
  }
  return facts;
}

Error traced_by(pid_t tracer) {
  const auto other = Fd::open(fmt::format("/proc/{}/comm", tracer), 0);
  auto name = other ? read_all(*other, 64) : Result<std::string>(std::string());
  if (name && name->ends_with('\n')) name->pop_back();
  return Error{
      ErrorKind::Traced,
      fmt::format("process {} ({}) traces it already", tracer, name ? *name : std::string("?")),
      EPERM}
      .advise("--snapshot read, or end that process first");
}

Result<void> check_may_trace(const Process& process) {
  for (const pid_t tid : HA_TRY(process.list_threads()).tids) {
    const auto status = process.thread_status(tid);
    if (status && status->tracer != 0) return traced_by(status->tracer);
  }
  if (const auto mem = process.open_file("mem", O_RDONLY); !mem) {
    if (mem.error().kind != ErrorKind::Denied) return mem.error();
    return explain_denied(access_facts(process));
  }
  // ESRCH, because nobody here traces it, unless a filter refuses the call itself.
  if (ptrace(PTRACE_INTERRUPT, process.pid(), nullptr, nullptr) == 0 || errno != EPERM) return {};
  return explain_denied(access_facts(process));
}

bool may_read_filters() {
  const ProcessStatus ours = own_status();
  const bool is_admin = (ours.effective_capabilities >> kCapSysAdmin & 1) != 0;
  return is_admin && ours.seccomp_mode == 0 && is_in_first_user_namespace();
}

}  // namespace heapattach
