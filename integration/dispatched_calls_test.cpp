// Threads whose system calls the kernel hands to the program itself (PR_SET_SYSCALL_USER_DISPATCH,
// as in Wine). A call that heapattach makes in such a thread would end the program.

#include <cerrno>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "attach/base/page.h"
#include "integration/cloning.h"
#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/passing_control.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "integration/tracing.h"

namespace heapattach {

using namespace std::chrono_literals;

namespace {

// The code of the C library, from which the threads may still make system calls. heapattach's stub
// may be in the padding after it.
Range library_code(pid_t pid) {
  const auto process = Process::open(pid);
  const auto map = process ? process->maps() : Result<MemoryMap>(process.error());
  REQUIRE(map.has_value());
  for (const Mapping& mapping : map->mappings()) {
    const bool is_library = mapping.path.find("/libc.so.6") != std::string::npos;
    if (is_library && mapping.executable) {
      return {mapping.range.start, mapping.range.bytes - page_bytes()};
    }
  }
  return {};
}

// Makes the kernel dispatch a thread's calls, as the thread itself could. Returns false if the
// kernel cannot (before 6.4).
bool dispatch_calls(pid_t tid, Range allowed) {
  constexpr auto kSet = static_cast<__ptrace_request>(0x4210);
  std::uint64_t wanted[] = {1, 0, allowed.start.value, allowed.bytes};  // on, and no selector
  int status = 0;
  REQUIRE(::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0);
  REQUIRE(::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) == 0);
  REQUIRE(::waitpid(tid, &status, __WALL) == tid);
  const long done = ::ptrace(kSet, tid, sizeof wanted, wanted);
  const int failure = errno;
  REQUIRE(::ptrace(PTRACE_DETACH, tid, nullptr, nullptr) == 0);
  REQUIRE((done == 0 || failure == EIO || failure == EINVAL));
  return done == 0;
}

bool dispatch_all(pid_t pid) {
  const Range allowed = library_code(pid);
  REQUIRE(allowed.bytes != 0);
  for (const pid_t tid : threads_of(pid)) {
    if (dispatch_calls(tid, allowed)) continue;
    print_skip("this kernel cannot set the dispatch of another thread's system calls");
    return false;
  }
  return true;
}

constexpr const char* kWords = "PR_SET_SYSCALL_USER_DISPATCH";

void check_refused(const std::vector<std::string>& words, int status) {
  const ToolRun run = run_tool(words);
  CAPTURE(words.front());
  CHECK_MESSAGE(run.status == status, run.errors);
  CHECK_MESSAGE(run.errors.find(kWords) != std::string::npos, run.errors);
}

// Imitates a kernel that cannot report whose calls are dispatched.
class OlderKernel final : public PassingControl {
 public:
  explicit OlderKernel(RemoteControl& real) : PassingControl(real) {}
  Result<CallDispatch> call_dispatch(pid_t) override { return CallDispatch::Unknown; }
};

}  // namespace

TEST_CASE("a thread whose system calls are dispatched to the program never makes ours") {
  if (!is_target_built("still")) return;
  LiveTarget target("still", {"5000"});
  if (!dispatch_all(target.pid())) return;
  const std::string pid = std::to_string(target.pid());
  const Traces before = traces_of(target.pid());
  check_refused({"--count", "--snapshot", "clone", pid}, 1);
  check_refused({"--call", "getpid()", pid}, 1);
  check_refused({"--call", "getpid()", "--in-place", pid}, 1);
  const ToolRun run = run_tool({"--count", "--snapshot", "auto", "--max-pause", "1000", pid});
  CHECK_MESSAGE(run.status == 0, run.errors);
  CHECK(difference(before, traces_of(target.pid())) == "");
  CHECK(harm_done_to(target.pid()) == "");
  CHECK(target.ask("sum").at("sum") == 12497500);
}

TEST_CASE("a thread whose system calls are not dispatched makes ours") {
  LiveTarget target("sleeper");
  const std::vector<pid_t> threads = threads_of(target.pid());
  REQUIRE(threads.size() > 1);
  if (!dispatch_calls(threads.front(), library_code(target.pid()))) return;
  const Traces before = traces_of(target.pid());
  CloneOptions options;
  options.borrow = threads.front();
  const auto refused = clone_once(target.pid(), options);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().kind == ErrorKind::Impossible);
  CHECK_MESSAGE(why(refused).find(kWords) != std::string::npos, why(refused));
  const auto report = clone_once(target.pid());
  CHECK_MESSAGE(report.has_value(), why(report));
  CHECK(difference(before, traces_of(target.pid())) == "");
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("on kernels that do not report dispatched calls, our call reveals them without harm") {
  LiveTarget target("plain");
  if (!dispatch_all(target.pid())) return;
  const Traces before = traces_of(target.pid());
  const Process process = Process::open(target.pid()).value();
  const auto real = PtraceControl::open(process).value();
  OlderKernel control(*real);
  for (int i = 0; i < 3; ++i) {
    const auto clone = Clone::make(process, {}, control);
    REQUIRE(!clone.has_value());
    CHECK(clone.error().kind == ErrorKind::Impossible);
    CHECK_MESSAGE(clone.error().message().find(kWords) != std::string::npos, why(clone));
  }
  CHECK(difference(before, traces_of(target.pid())) == "");
  CHECK(harm_done_to(target.pid()) == "");
  CHECK(target.ask().at("interrupted") == 0);
}

TEST_CASE("one thread that may make our calls is enough for a trace") {
  if (!is_target_built(kAllocating)) return;
  LiveTarget target(kAllocating, {"2"});
  const std::vector<pid_t> threads = threads_of(target.pid());
  const Range allowed = library_code(target.pid());
  for (std::size_t i = 1; i < threads.size(); ++i) {
    if (!dispatch_calls(threads[i], allowed)) return;
  }
  const std::string pid = std::to_string(target.pid());
  const ToolRun one = run_tool({"--trace", "--for", "100ms", pid});
  CHECK_MESSAGE(one.status == 0, one.errors);
  target.ask("run 100");
  CHECK(target.ask("until 200").at("bad") == 0);
  const Traces before = lasting_traces(target);
  REQUIRE(dispatch_calls(threads.front(), allowed));
  const ToolRun none = run_tool({"--trace", "--for", "100ms", pid});
  CHECK_MESSAGE(none.status == 1, none.errors);
  CHECK_MESSAGE(none.errors.find(kWords) != std::string::npos, none.errors);
  target.ask("run 100");
  CHECK(target.ask("until 400").at("bad") == 0);
  CHECK(difference(before, lasting_traces(target)) == "");
}

}  // namespace heapattach
