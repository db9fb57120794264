// Tracing a live program that knows what it allocates.

#include <cmath>
#include <csignal>
#include <map>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/leftovers.h"
#include "inject/ptrace_control.h"
#include "inject/trace/installation.h"
#include "integration/cloning.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "report/collect/opened.h"
#include "report/trace/find_hooks.h"
#include "report/trace/take_trace.h"

using namespace heapattach;

namespace {

using namespace std::chrono_literals;

constexpr const char* kTarget = "allocating";

// Ends a trace from within: the only way to ask for it is a signal, or what stands for one.
bool has_seen_enough = false;
std::optional<int> end_when_seen() noexcept {
  return has_seen_enough ? std::optional(SIGINT) : std::nullopt;
}

// What a trace says about one function.
struct Site {
  double objects = 0;
  double variance = 0;  // of that estimate
  std::uint64_t samples = 0;
  std::uint64_t dead = 0;
  std::uint64_t freed = 0;
};

// By the innermost of the program's own functions.
std::map<std::string, Site> sites_of(const trace::Trace& trace) {
  std::map<std::string, Site> sites;
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
    Site& site = sites[name];
    ++site.samples;
    site.objects += 1 / chance;
    site.variance += (1 - chance) / (chance * chance);
    alive[event.address] = name;
  }
  return sites;
}

// Traces the target while it does `count` rounds in each thread.
struct Traced {
  trace::Trace trace;
  Answer before;
  Answer after;
};
Traced trace_rounds(LiveTarget& target, std::uint64_t every, long count, bool with_collect) {
  Traced traced;
  has_seen_enough = false;
  traced.before = target.ask();
  const std::int64_t wanted = traced.before["rounds"] + 2 * count;
  bool has_begun = false;
  trace::TraceOptions options;
  options.pid = target.pid();
  options.every = every;
  options.length = 90s;
  options.deadline.interrupted = end_when_seen;
  options.on_progress = [&](const trace::TraceProgress&) {
    if (!std::exchange(has_begun, true)) target.ask("run " + std::to_string(count));
    traced.after = target.ask();
    if (traced.after["rounds"] < wanted) return;
    if (with_collect) traced.after = target.ask("collect");
    has_seen_enough = true;
  };
  auto trace = trace::take_trace(options);
  REQUIRE_MESSAGE(trace, (trace ? "" : trace.error().text()));
  traced.trace = *std::move(trace);
  return traced;
}

// What a trace could leave. Without the blocked signals, which the collector changes all the time.
Traces found_in(LiveTarget& target) {
  Traces traces = traces_of(target.pid());
  traces.signals.clear();
  return traces;
}

// The hooks of a target, and what is needed to put them in.
struct Tracer {
  explicit Tracer(pid_t pid)
      : opened(snapshot::Opened::open(pid, "", {}).value()),
        control(PtraceControl::open(*opened.process).value()),
        hooks(trace::find_hooks(opened.modules, opened.find_collector().value(), opened.memory)
                  .value()
                  .hooks) {}
  Result<std::unique_ptr<trace::Installation>> install() {
    return trace::Installation::make(*opened.process, *control, hooks, {});
  }
  snapshot::Opened opened;
  std::unique_ptr<PtraceControl> control;
  trace::Hooks hooks;
};

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

}  // namespace

TEST_CASE("the estimates of a trace fit what the program knows, for each place") {
  if (!is_target_built(kTarget)) return;
  LiveTarget target(kTarget, {"2"});
  const Traces before = found_in(target);
  const Traced traced = trace_rounds(target, 16 << 10, 100'000, false);
  CHECK(difference(before, found_in(target)) == "");
  CHECK(traced.trace.header.complete);
  const std::map<std::string, std::string> known = {{"make_small", "small"},
                                                    {"make_atomic", "atomic"},
                                                    {"make_large", "large"},
                                                    {"make_resized", "resized"}};
  auto sites = sites_of(traced.trace);
  for (const auto& [function, count] : known) {
    const Site& site = sites[function];
    const auto truth = static_cast<double>(traced.after.at(count) - traced.before.at(count));
    INFO(function, ": ", site.objects, " of ", truth, ", ", site.samples, " samples, ",
         traced.trace.header.drops, " lost");
    CHECK(site.samples > 0);
    if (traced.trace.header.drops == 0) {
      CHECK(std::abs(site.objects - truth) < 4 * std::sqrt(site.variance) + 1);
    }
  }
  CHECK(sites["(none)"].samples == 0);
  const trace::Header& header = traced.trace.header;
  REQUIRE(header.gc_bytes_at_start);
  REQUIRE(header.gc_bytes_at_end);
  CHECK(static_cast<std::int64_t>(*header.gc_bytes_at_start) >= traced.before.at("total"));
  CHECK(static_cast<std::int64_t>(*header.gc_bytes_at_end) <= target.ask()["total"]);
}

TEST_CASE("every allocation is recorded, and its end is the one that finalizers see") {
  if (!is_target_built(kTarget)) return;
  LiveTarget target(kTarget, {"2"});
  const Traced traced = trace_rounds(target, 1, 2000, true);
  const auto truth = [&](const char* name) {
    return static_cast<std::uint64_t>(traced.after.at(name) - traced.before.at(name));
  };
  auto sites = sites_of(traced.trace);
  std::uint64_t samples = 0;
  for (const auto& [name, site] : sites) samples += site.samples;
  INFO(traced.trace.header.drops, " lost");
  for (const std::string& text : traced.trace.header.warnings) INFO(text);
  const std::uint64_t expected = truth("small") + truth("atomic") + truth("large") +
                                 truth("resized") + truth("finalizable") + truth("freed");
  CHECK(samples + traced.trace.header.drops >= expected);
  if (traced.trace.header.drops != 0) return;
  CHECK(sites["make_small"].samples == truth("small"));
  CHECK(sites["make_atomic"].samples == truth("atomic"));
  CHECK(sites["make_large"].samples == truth("large"));
  CHECK(sites["make_resized"].samples == truth("resized"));
  CHECK(sites["make_finalizable"].samples == truth("finalizable"));
  CHECK(sites["make_finalizable"].dead == truth("finalized"));
  CHECK(sites["make_and_free"].freed == truth("freed"));
}

TEST_CASE("a process is unharmed and unchanged after many traces") {
  if (!is_target_built(kTarget)) return;
  LiveTarget target(kTarget, {"3", "free"});
  REQUIRE(is_working(target));
  const Traces before = found_in(target);
  Tracer tracer(target.pid());
  const int times = rounds(15, 100);
  int left = 0;
  for (int i = 0; i < times; ++i) {
    auto installed = tracer.install();
    REQUIRE_MESSAGE(installed, (installed ? "" : installed.error().text()));
    usleep(5000);
    const auto removed = (*installed)->leave();
    REQUIRE(removed);
    if (!removed->is_whole) ++left;
  }
  CHECK(left == 0);
  CHECK(is_working(target));
  CHECK(difference(before, found_in(target)) == "");
}

TEST_CASE("a second trace of a process is refused while the first lasts") {
  if (!is_target_built(kTarget)) return;
  LiveTarget target(kTarget, {"1", "free"});
  Tracer tracer(target.pid());
  const auto first = tracer.install();
  REQUIRE(first);
  const auto second = tracer.install();
  REQUIRE(!second);
  CHECK(second.error().kind == ErrorKind::Traced);
  CHECK(second.error().message().find("already traced, by process") != std::string::npos);
  CHECK(is_working(target));
}

namespace {

// Kills its own process at one of the steps that change the target.
class Deadly final : public RemoteControl {
 public:
  Deadly(RemoteControl& real, int steps) : real_(real), steps_(steps) {}

  Result<RawRegisters> registers(pid_t tid) override { return real_.registers(tid); }
  Result<void> set_registers(pid_t tid, const RawRegisters& values) override {
    return after(real_.set_registers(tid, values));
  }
  Result<std::uint64_t> signal_mask(pid_t tid) override { return real_.signal_mask(tid); }
  Result<void> set_signal_mask(pid_t tid, std::uint64_t mask) override {
    return after(real_.set_signal_mask(tid, mask));
  }
  Result<RseqConfiguration> rseq(pid_t tid) override { return real_.rseq(tid); }
  Result<std::vector<std::byte>> extended_state(pid_t tid) override {
    return real_.extended_state(tid);
  }
  Result<void> set_extended_state(pid_t tid, std::span<const std::byte> values) override {
    return real_.set_extended_state(tid, values);
  }
  Result<SignalOrigin> signal_origin(pid_t tid) override { return real_.signal_origin(tid); }
  [[nodiscard]] const MemoryReader& memory() const override { return real_.memory(); }
  Result<void> write(pid_t tid, RemoteAddr at, std::span<const std::byte> bytes) override {
    return after(real_.write(tid, at, bytes));
  }
  Result<void> run_to_call(pid_t tid, int signal) override {
    return after(real_.run_to_call(tid, signal));
  }
  Result<void> run_on(pid_t tid, int signal) override { return after(real_.run_on(tid, signal)); }
  Result<void> interrupt(pid_t tid) override { return real_.interrupt(tid); }
  Result<RemoteStop> wait(pid_t tid, std::chrono::steady_clock::time_point deadline) override {
    auto stop = real_.wait(tid, deadline);
    static_cast<void>(after({}));
    return stop;
  }
  Result<void> offer_to_oom_killer(pid_t pid) override { return real_.offer_to_oom_killer(pid); }
  Result<void> detach(pid_t tid) override { return real_.detach(tid); }
  void kill(pid_t pid) noexcept override { real_.kill(pid); }

 private:
  Result<void> after(Result<void> result) {
    if (--steps_ == 0) raise(SIGKILL);
    return result;
  }

  RemoteControl& real_;
  int steps_;
};

// True if the tool was killed, false if it came to its end before.
bool dies_at(Tracer& tracer, int steps) {
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

}  // namespace

TEST_CASE("a tracer that is killed at any step harms nothing, and the next one cleans up") {
  if (!is_target_built(kTarget)) return;
  LiveTarget target(kTarget, {"2", "free"});
  REQUIRE(is_working(target));
  const Traces before = found_in(target);
  Tracer tracer(target.pid());
  int deaths = 0;
  const int stride = rounds(7, 1);
  for (int steps = 1; dies_at(tracer, steps); steps += stride) {
    ++deaths;
    INFO("killed at step ", steps);
    REQUIRE(is_working(target));
    // What stays is removed by the next trace, before it begins.
    auto installed = tracer.install();
    REQUIRE_MESSAGE(installed, (installed ? "" : installed.error().text()));
    const auto removed = (*installed)->leave();
    REQUIRE(removed);
    REQUIRE(removed->is_whole);
    // A stub stays as long as a word on some stack looks like an address in it.
    const bool is_clean = eventually(10s, [&] {
      static_cast<void>(clear_leftovers(*tracer.opened.process));
      return difference(before, found_in(target)).empty();
    });
    REQUIRE_MESSAGE(is_clean, difference(before, found_in(target)));
  }
  CHECK(deaths > 5);
  CHECK(is_working(target));
}

TEST_CASE("a process under a seccomp filter is not traced") {
  if (!is_target_built("filtered") || !is_target_built(kTarget)) return;
  constexpr const char* kNeverMade = "999";  // the number of a system call
  LiveTarget target("filtered", {kNeverMade, "--", target_path(kTarget), "1", "free"});
  const Traces before = found_in(target);
  Tracer tracer(target.pid());
  const auto installed = tracer.install();
  REQUIRE(!installed);
  INFO(installed.error().message());
  CHECK(installed.error().message().find("seccomp") != std::string::npos);
  CHECK(difference(before, found_in(target)) == "");
  CHECK(is_working(target));
}
