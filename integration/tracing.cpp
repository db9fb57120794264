#include "integration/tracing.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <optional>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/leftovers.h"
#include "integration/passing_control.h"
#include "integration/rounds.h"
#include "report/trace/find_hooks.h"
#include "report/trace/prepared.h"
#include "report/trace/take_trace.h"

namespace heapattach {

namespace {

using namespace std::chrono_literals;

// Ends a trace from within this process, by a function that imitates a signal.
bool has_seen_enough = false;
std::optional<int> end_when_seen() noexcept {
  return has_seen_enough ? std::optional(SIGINT) : std::nullopt;
}

// Kills its own process at one of the steps that change the target.
class Deadly final : public PassingControl {
 public:
  Deadly(RemoteControl& real, int steps) : PassingControl(real), steps_(steps) {}

  Result<void> set_registers(pid_t tid, const RawRegisters& values) override {
    return after(PassingControl::set_registers(tid, values));
  }
  Result<void> set_signal_mask(pid_t tid, std::uint64_t mask) override {
    return after(PassingControl::set_signal_mask(tid, mask));
  }
  Result<void> write(pid_t tid, RemoteAddr at, std::span<const std::byte> bytes) override {
    return after(PassingControl::write(tid, at, bytes));
  }
  Result<void> run_to_call(pid_t tid, int signal) override {
    return after(PassingControl::run_to_call(tid, signal));
  }
  Result<void> run_on(pid_t tid, int signal) override {
    return after(PassingControl::run_on(tid, signal));
  }
  Result<RemoteStop> wait(pid_t tid, std::chrono::steady_clock::time_point deadline) override {
    auto stop = PassingControl::wait(tid, deadline);
    static_cast<void>(after({}));
    return stop;
  }

 private:
  Result<void> after(Result<void> result) {
    if (--steps_ == 0) raise(SIGKILL);
    return result;
  }

  int steps_;
};

}  // namespace

std::map<std::string, TracedSite> sites_of(const trace::Trace& trace) {
  std::map<std::string, TracedSite> sites;
  std::map<std::uint64_t, std::string> alive;  // by address
  trace::EventLog::Reader reader(trace.events);
  trace::Event event;
  while (reader.next(event)) {
    if (event.kind == trace::EventKind::Dead) ++sites[alive[event.address]].dead;
    if (event.kind == trace::EventKind::Free) ++sites[alive[event.address]].freed;
    if (event.kind != trace::EventKind::Alloc) continue;
    std::string name = "(none)";
    if (event.stack != trace::kNone) {
      for (const std::uint32_t frame : trace.stacks[event.stack].frames) {
        if (!trace.frames[frame].function.starts_with("make_")) continue;
        name = trace.frames[frame].function;
        break;
      }
    }
    const double every = static_cast<double>(trace.header.every);
    const double chance = every > 1 ? -std::expm1(-static_cast<double>(event.bytes) / every) : 1.0;
    TracedSite& site = sites[name];
    ++site.samples;
    site.objects += 1 / chance;
    site.variance += (1 - chance) / (chance * chance);
    alive[event.address] = name;
  }
  return sites;
}

trace::Trace trace_until(LiveTarget& target,
                         std::uint64_t every,
                         const std::function<bool()>& is_done,
                         const snapshot::HeapChoice& heap) {
  has_seen_enough = false;
  Request request;
  request.pid = target.pid();
  request.deadline.interrupted = end_when_seen;
  trace::TraceOptions options{request};
  options.heap = heap;
  options.every = every;
  options.length = 90s;
  options.on_progress = [&](const trace::TraceProgress&) { has_seen_enough = is_done(); };
  auto trace = trace::take_trace(options);
  REQUIRE_MESSAGE(trace, (trace ? "" : trace.error().text()));
  return *std::move(trace);
}

TracedRounds trace_rounds(LiveTarget& target, std::uint64_t every, long count, bool with_collect) {
  TracedRounds traced;
  traced.before = target.ask();
  const std::int64_t wanted = traced.before["rounds"] + 2 * count;
  bool has_begun = false;
  traced.trace = trace_until(target, every, [&] {
    if (!std::exchange(has_begun, true)) target.ask("run " + std::to_string(count));
    traced.after = target.ask();
    if (traced.after["rounds"] < wanted) return false;
    if (with_collect) traced.after = target.ask("collect");
    return true;
  });
  return traced;
}

Traces lasting_traces(LiveTarget& target) {
  Traces traces = traces_of(target.pid());
  traces.signals.clear();
  return traces;
}

HookedTarget::HookedTarget(pid_t pid)
    : opened(snapshot::Opened::open(Request{.pid = pid}).value()),
      control(PtraceControl::open(*opened.process).value()),
      hooks(trace::find_hooks(opened.modules, trace::find_collector(opened).value(), opened.memory)
                .value()
                .hooks) {}

HookedTarget::HookedTarget(pid_t pid, const snapshot::HeapChoice& heap)
    : opened(snapshot::Opened::open(Request{.pid = pid}).value()),
      control(PtraceControl::open(*opened.process).value()),
      hooks(trace::prepare(Request{.pid = pid}, heap).value().found.hooks) {}

Result<std::unique_ptr<trace::Installation>> HookedTarget::install() {
  return trace::Installation::make(*opened.process, *control, hooks, {});
}

bool dies_at(HookedTarget& tracer, int steps) {
  const pid_t tool = fork();
  if (tool == 0) {
    const auto real = PtraceControl::open(*tracer.opened.process);
    if (!real) _exit(1);
    Deadly deadly(**real, steps);
    auto installed = trace::Installation::make(*tracer.opened.process, deadly, tracer.hooks, {});
    if (!installed) _exit(2);
    usleep(2000);
    static_cast<void>((*installed)->leave());
    installed->reset();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(tool, &status, 0) == tool);
  if (WIFEXITED(status)) CHECK(WEXITSTATUS(status) == 0);
  return WIFSIGNALED(status);
}

int check_kills(LiveTarget& target, HookedTarget& tracer, int stride) {
  REQUIRE(is_working(target));
  const Traces before = lasting_traces(target);
  int deaths = 0;
  for (int steps = 1; dies_at(tracer, steps); steps += stride) {
    ++deaths;
    INFO("killed at step ", steps);
    REQUIRE(is_working(target));
    // The next trace removes the remains before it begins.
    auto installed = tracer.install();
    REQUIRE_MESSAGE(installed, (installed ? "" : installed.error().text()));
    const auto removed = (*installed)->leave();
    REQUIRE(removed);
    REQUIRE(removed->is_whole);
    // A stub stays while a word on some stack looks like an address in it.
    const bool is_clean = eventually(10s, [&] {
      static_cast<void>(clear_leftovers(*tracer.opened.process, {}));
      return difference(before, lasting_traces(target)).empty();
    });
    REQUIRE_MESSAGE(is_clean, difference(before, lasting_traces(target)));
  }
  CHECK(deaths > 5);
  CHECK(is_working(target));
  return deaths;
}

std::ptrdiff_t open_files(pid_t pid, std::string_view name) {
  const std::filesystem::directory_iterator files(fmt::format("/proc/{}/fd", pid));
  return std::count_if(begin(files), end(files), [&](const auto& file) {
    std::error_code gone;
    return std::filesystem::read_symlink(file, gone).string().find(name) != std::string::npos;
  });
}

bool is_working(LiveTarget& target) {
  const auto before = target.ask()["rounds"];
  for (int i = 0; i < 2000; ++i) {
    Answer now = target.ask();
    if (now["bad"] != 0) return false;
    if (now["rounds"] > before + 100) return true;
    usleep(2000);
  }
  return false;
}

}  // namespace heapattach
