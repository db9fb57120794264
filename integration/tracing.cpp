#include "integration/tracing.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <optional>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "report/trace/find_hooks.h"
#include "report/trace/prepared.h"
#include "report/trace/take_trace.h"

namespace heapattach {

namespace {

using namespace std::chrono_literals;

// Ends a trace from within: the only way to ask for it is a signal, or what stands for one.
bool has_seen_enough = false;
std::optional<int> end_when_seen() noexcept {
  return has_seen_enough ? std::optional(SIGINT) : std::nullopt;
}

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
                         const std::function<bool()>& is_done) {
  has_seen_enough = false;
  Request request;
  request.pid = target.pid();
  request.deadline.interrupted = end_when_seen;
  trace::TraceOptions options{request};
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

Tracer::Tracer(pid_t pid)
    : opened(snapshot::Opened::open(Request{.pid = pid}).value()),
      control(PtraceControl::open(*opened.process).value()),
      hooks(trace::find_hooks(opened.modules, trace::find_collector(opened).value(), opened.memory)
                .value()
                .hooks) {}

Result<std::unique_ptr<trace::Installation>> Tracer::install() {
  return trace::Installation::make(*opened.process, *control, hooks, {});
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
