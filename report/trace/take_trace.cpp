#include "report/trace/take_trace.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "attach/arch/processors.h"
#include "attach/base/guardian.h"
#include "attach/base/interrupt.h"
#include "attach/process/permission.h"
#include "attach/process/process_end.h"
#include "inject/ptrace_control.h"
#include "inject/trace/blob.h"
#include "inject/trace/installation.h"
#include "inject/trace/plan.h"
#include "report/text/human_bytes.h"
#include "report/trace/launched.h"
#include "report/trace/prepared.h"
#include "report/trace/recording.h"
#include "report/trace/trace_words.h"
#include "report/trace/type_watch.h"
#include "symbols/boehm/source.h"
#include "symbols/malloc/source.h"

namespace heapattach::trace {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using WallClock = std::chrono::system_clock;

// How long the reader sleeps; a thread that records each allocation fills the ring in milliseconds.
constexpr auto kBackOff = 2ms;
constexpr auto kExactBackOff = 500us;
constexpr auto kBetweenReports = 250ms;
constexpr auto kBetweenTables = 1s;
// Making tables takes at most this part of the time.
constexpr int kTableShare = 4;
// How long a program that was started may take to initialise its collector.
constexpr auto kUntilCollector = 30s;
// The target's processor time for one sample (integration/bench/trace.sh).
constexpr double kSecondsPerSample = 6e-6;
// How long a record may stay unfinished: its thread may be waiting for a processor, or for the end
// of a collection.
constexpr auto kLongestUnfinished = 10s;
// Share of the time left after the recording in which stacks are unwound and named. The rest is for
// the report.
constexpr double kForStacks = 0.6;
// How long reading the rest of the ring may take before the heap is read.
constexpr auto kLongestDrain = 5s;
// Ten years: small enough to be added to a time without overflow.
constexpr std::chrono::hours kEndless{24 * 3650};
constexpr std::uint64_t kStackBytes = std::uint64_t{16} << 10;
// If each allocation is recorded, copying deep stacks costs too much.
constexpr std::uint64_t kShortStackBytes = std::uint64_t{8} << 10;

std::string rfc3339(WallClock::time_point at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(at - seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(WallClock::to_time_t(seconds)),
                     millis.count());
}

double milliseconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

class Tracing {
 public:
  // `launched` is null for a process that ran before.
  Tracing(const TraceOptions& options, Prepared& prepared, Launched* launched)
      : options_(options),
        prepared_(prepared),
        launched_(launched),
        shown_(std::max<std::uint64_t>(1, options.every), options.live_parts) {}

  Result<Trace> run() {
    const Process& target = *prepared_.target.process;
    const auto control = HA_TRY(PtraceControl::open(target));
    const bool is_exact = options_.every <= 1;
    fill_header();
    const auto collections = collections_so_far(prepared_);
    auto made =
        Installation::make(target, *control, prepared_.found.hooks, install_options(is_exact));
    if (!made && !trace_.header.left_in.empty()) {
      end_early(made.error().message());
      return std::move(trace_);
    }
    const auto installed = HA_TRY(std::move(made));
    // Read the counter only now: on a busy machine, the program allocates much while the tracer is
    // inserted.
    trace_.header.gc_bytes_at_start = total_bytes(prepared_);
    if (launched_ != nullptr) begin_program();
    const auto left = std::max<Clock::duration>(options_.request.deadline.at - Clock::now(), 0s);
    left_ = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::min<Clock::duration>(left, kEndless));
    began_ = monotonic_ns();
    trace_.header.started = rfc3339(WallClock::now());
    trace_.header.entries = installed->entries();
    options_.request.note(fmt::format("traces {}; the longest stop so far was {:.1f} ms",
                                      fmt::join(installed->entries(), ", "),
                                      milliseconds_of(installed->pause())));
    Recording recording(target, prepared_.target.modules, options_.depth, began_);
    recording.set_types(std::move(prepared_.types));
    if (is_exact && prepared_.traces_malloc) recording.skip_unknown_ends();
    FiberWatch fibers(prepared_);
    if (fibers.is_needed()) {
      fibers.look();
      recording.set_fibers(&fibers);
    }
    TypeWatch types(prepared_.objects, prepared_.target.memory,
                    {prepared_.found.hooks.collections, installed->last_collection()});
    if (learns_types()) recording.set_type_watch(&types);
    const auto recorded = record(*installed, recording);
    types.stop();
    end_recording(*installed, recording, recorded.has_value());
    // The recording does not count towards --timeout.
    end_by(Clock::now() + left_, *installed, recording);
    const auto for_stacks =
        std::chrono::duration_cast<std::chrono::milliseconds>(kForStacks * left_);
    const auto stacks_by = Clock::now() + for_stacks;
    if (is_same_program(*installed)) {
      trace_.header.gc_bytes_at_end = total_bytes(prepared_);
      if (collections && collections_so_far(prepared_) == collections) {
        warn(std::string(kNoCollection));
      }
    }
    leave(*installed);
    if (!recorded) end_early(recorded.error().message());
    const std::uint64_t late =
        recorded ? recording.drain_rest(installed->ring(), stacks_by) : std::uint64_t{0};
    add_counts(installed->ring().counts(), recording);
    trace_.header.drops += late;
    if (late != 0 && !recording.is_full()) {
      warn(fmt::format("{} samples were lost: no time was left to read them", late));
    }
    HA_TRY(recording.finish(trace_, stacks_by));
    note_shortfalls(recording, Clock::now() >= stacks_by - for_stacks / 2);
    return std::move(trace_);
  }

 private:
  InstallOptions install_options(bool is_exact) {
    InstallOptions how{.every = std::max<std::uint64_t>(1, options_.every),
                       .stack_bytes = is_exact ? kShortStackBytes : kStackBytes};
    if (options_.request.max_pause) {
      how.max_pause = *options_.request.max_pause;
      how.most_stopped = how.max_pause;
    }
    how.deadline = options_.request.deadline;
    how.on_not_undone = [this](const Error& why) { note_left_in(why); };
    return how;
  }

  void end_recording(Installation& installed, Recording& recording, bool is_good) {
    trace_.header.duration_ns = monotonic_ns() - began_;
    accept_interrupt();
    if (is_good && options_.before_leaving) look_back(installed, recording);
  }

  // Nothing reads the ring meanwhile, but only the ends of samples come into it.
  void look_back(Installation& installed, Recording& recording) {
    const auto quiet = installed.follow_ends_only(left_ + kReaderPatience);
    const auto drained = recording.drain(installed.ring(), Clock::now() + kLongestDrain);
    recording.leave_out_new();
    if (quiet && drained) {
      options_.before_leaving();
    } else {
      end_early(quiet ? drained.error().message() : quiet.error().message());
    }
  }

  void fill_header() {
    Header& header = trace_.header;
    const snapshot::Opened& target = prepared_.target;
    header.tool = "heapattach " HEAPATTACH_VERSION;
    header.pid = target.pid();
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) == 0) header.host = host.data();
    if (auto exe = target.process->read_link("exe")) header.exe = *std::move(exe);
    if (const Module* program = target.modules.main_program()) {
      header.build_id = program->build_id();
    }
    header.resource = target.resource;
    header.every = std::max<std::uint64_t>(1, options_.every);
    if (prepared_.traces_collector) header.heaps.emplace_back(boehm::kHeapKind.key);
    if (prepared_.traces_malloc) header.heaps.emplace_back(glibc::kHeapKind.key);
    header.warnings = prepared_.found.notes;
  }

  // Unwinding fails only if a worker fails or time runs out.
  void note_shortfalls(const Recording& recording, bool is_late) {
    std::string text;
    if (recording.not_unwound() != 0) {
      text = fmt::format("{} stacks could not be unwound", recording.not_unwound());
    } else if (!recording.has_names()) {
      text = "function names could not be read";
    }
    if (text.empty()) return;
    if (is_late) {
      end_early(fmt::format("{}: {}; try a longer --timeout", kDeadlinePassed, text));
    } else {
      warn(std::move(text));
    }
  }

  // Moves the deadline of everything that is still to be done. An interrupt of the request ends
  // only the recording.
  static void end_by(Clock::time_point at, Installation& installed, Recording& recording) {
    Deadline deadline;
    deadline.at = at;
    set_guarded_deadline(deadline.at);
    installed.set_deadline(deadline);
    recording.set_deadline(deadline);
  }

  // Records until the time is over, the user asks for the end, or the process ends.
  Result<void> record(Installation& installed, Recording& recording) {
    Ring& ring = installed.ring();
    const auto back_off = options_.every <= 1 ? kExactBackOff : kBackOff;
    const auto begin = Clock::now();
    const bool is_endless = options_.length.count() == 0;
    const auto until = begin + (is_endless ? kEndless : options_.length);
    // Preparing may have taken long, and must not cut the recording short.
    end_by(until + left_, installed, recording);
    recording.set_end(until);
    auto next_report = begin + kBetweenReports;
    auto last_progress = begin;
    while (Clock::now() < until && !options_.request.deadline.is_interrupted()) {
      ring.beat();
      installed.look_at_stacks();
      const auto now = Clock::now();
      const auto drained = recording.drain(ring, std::min(until, next_report));
      if (!drained && drained.error().kind == ErrorKind::Interrupted) return {};
      if (HA_TRY(drained) || !ring.is_waiting()) last_progress = now;
      if (now - last_progress > kLongestUnfinished) {
        return Error{ErrorKind::Malformed, "a thread left a record half written"};
      }
      if (recording.is_full()) {
        end_early(
            fmt::format("after {:.1f} s and {} samples, the recording reached its memory limit; "
                        "try a larger --every",
                        std::chrono::duration<double>(now - begin).count(), recording.samples()));
        return {};
      }
      if (now >= next_report) {
        next_report = now + kBetweenReports;
        if (!report(installed, recording, now - begin)) return {};
      }
      std::this_thread::sleep_for(back_off);
    }
    return {};
  }

  // Returns false if there will be nothing more to record.
  bool report(Installation& installed, Recording& recording, std::chrono::nanoseconds elapsed) {
    const Ring::Counts counts = installed.ring().counts();
    const TraceProgress progress = progress_of(recording, counts, elapsed);
    if (options_.on_progress) options_.on_progress(progress);
    if (!show_table(installed, recording, progress)) return false;
    if (counts.has_given_up) {
      end_early("nothing read the trace for too long, so the recorder in the process ended it");
      return false;
    }
    return is_same_program(installed);
  }

  [[nodiscard]] TraceProgress progress_of(const Recording& recording,
                                          const Ring::Counts& counts,
                                          std::chrono::nanoseconds elapsed) const {
    const std::uint64_t now = total_bytes(prepared_).value_or(0);
    const std::uint64_t then = trace_.header.gc_bytes_at_start.value_or(now);
    return {.elapsed = elapsed,
            .length = options_.length,
            .samples = recording.samples(),
            .drops = counts.dropped,
            .bytes = now > then ? now - then : 0,
            .waiting = 0};
  }

  // Returns false if the user has asked for the end meanwhile.
  bool show_table(Installation& installed, Recording& recording, TraceProgress progress) {
    const auto begin = Clock::now();
    if (!options_.on_trace || begin < next_table_) return true;
    Trace so_far;
    so_far.header = trace_.header;
    so_far.header.gc_bytes_at_start.reset();
    so_far.header.duration_ns = static_cast<std::uint64_t>(progress.elapsed.count());
    so_far.header.drops = progress.drops;
    if (!recording.show(so_far, shown_)) return !options_.request.deadline.is_interrupted();
    progress.waiting = recording.waiting();
    options_.on_trace(progress, so_far, shown_.cells());
    installed.ring().beat();
    const auto now = Clock::now();
    next_table_ = now + std::max<Clock::duration>(kBetweenTables, kTableShare * (now - begin));
    return true;
  }

  // Whether the process still runs the same program. If not, the trace ends.
  bool is_same_program(const Installation& installed) {
    if (!prepared_.target.process->is_alive()) {
      // A program that was started for the trace is traced to its end.
      if (launched_ == nullptr) {
        end_early(fmt::format("the process {}, with the recorder in it", end_.words()));
      }
      return false;
    }
    if (installed.is_there()) return true;
    end_early("the process runs another program now");
    return false;
  }

  // Types are learned only if the end of each object is seen, as that of each of malloc's samples
  // is.
  [[nodiscard]] bool learns_types() const {
    const Hooks& hooks = prepared_.found.hooks;
    const bool sees_ends = !prepared_.traces_collector || (hooks.follows_ends() && hooks.release);
    return sees_ends && !prepared_.objects.is_empty();
  }

  void leave(Installation& installed) {
    const bool follows_ends = prepared_.found.hooks.follows_ends();
    if (follows_ends && installed.is_there() && !installed.sees_collections()) {
      warn(
          "what is in use is unknown: the program has set another handler of collection events, or "
          "none could be set");
    }
    const auto removed = installed.leave();
    trace_.header.stopped = installed.stopped();
    options_.request.note(
        fmt::format("the longest stop was {:.1f} ms", milliseconds_of(installed.pause())));
    if (!removed) {
      note_left_in(removed.error());
    } else if (!removed->is_whole) {
      warn(fmt::format(
          "some pages of the recorder, named /memfd:{}, stay in the process, where they "
          "do nothing: {}",
          kRingName, removed->why));
    }
  }

  // During a trace, a program may forbid its own user to trace it.
  void note_left_in(const Error& why) {
    const Process& target = *prepared_.target.process;
    std::string reason = why.message();
    if (why.kind == ErrorKind::Denied) {
      if (const auto may = check_may_trace(target); !may) reason = may.error().message();
    }
    trace_.header.left_in = fmt::format(
        "could not remove the recorder from process {}: {}; it turns itself off; "
        "to remove it, run as root: heapattach --stacks {}",
        target.pid(), reason, target.pid());
  }

  void add_counts(const Ring::Counts& counts, const Recording& recording) {
    trace_.header.drops = counts.dropped;
    const auto warn_of = [this](std::uint64_t samples, std::string_view why) {
      if (samples == 0) return;
      warn(fmt::format("{}: \"in use\" may be {} sample{} too high", why, samples,
                       samples == 1 ? "" : "s"));
    };
    warn_of(counts.untracked, "tracking table full");
    warn_of(counts.lost_ends, "the buffer was full when objects were freed");
    warn_of(recording.forgotten(), "a collection was missed");
    if (recording.impossible() != 0) {
      warn(
          fmt::format("{} invalid records were left out: the program's memory may have been "
                      "changed",
                      recording.impossible()));
    }
  }

  void begin_program() {
    launched_->run_on();
    const std::uint64_t before = trace_.header.gc_bytes_at_start.value_or(0);
    if (before == 0) return;
    warn(fmt::format("the program allocated {} before it could be traced", human_bytes(before)));
  }

  void end_early(std::string why) {
    trace_.header.complete = false;
    if (trace_.header.reason.empty()) trace_.header.reason = std::move(why);
  }
  void warn(std::string text) { trace_.header.warnings.push_back(std::move(text)); }

  const TraceOptions& options_;
  Prepared& prepared_;
  ProcessEnd end_{*prepared_.target.process};
  Launched* launched_;
  Trace trace_;
  CellCounter shown_;  // the cells that on_trace has shown
  std::uint64_t began_ = 0;
  std::chrono::milliseconds left_{};  // what is left of --timeout, not counting the recording
  Clock::time_point next_table_{};
};

Result<Trace> take_trace_of_program(const TraceOptions& options) {
  Launched program = HA_TRY(Launched::start(options.command));
  Request of_program = options.request;
  of_program.pid = program.pid();
  std::optional<Prepared> prepared;
  HA_TRY(program.run_until(
      [&]() -> Result<void> {
        auto done = prepare(of_program, options.heap);
        if (!done) return done.error();
        prepared.emplace(std::move(done).value());
        return {};
      },
      kUntilCollector));
  HA_TRY(learn_types(options.request, *prepared));
  auto trace = Tracing(options, *prepared, &program).run();
  const auto end = program.end();
  options.request.warn(end ? fmt::format("the program {}", *end)
                           : fmt::format("the program runs on, as process {}", program.pid()));
  return trace;
}

}  // namespace

Result<Trace> take_trace(const TraceOptions& options) {
  if (!options.command.empty()) return take_trace_of_program(options);
  auto ready = prepare(options.request, options.heap);
  if (!ready && ready.error().kind == ErrorKind::Unsupported && ready.error().advice.empty()) {
    return std::move(ready).error().advise("a program that uses libgc, or malloc of glibc or musl");
  }
  Prepared prepared = HA_TRY(std::move(ready));
  HA_TRY(learn_types(options.request, prepared));
  HA_TRY(options.request.deadline.check("learning about the target"));
  return Tracing(options, prepared, nullptr).run();
}

double expected_cost(double bytes_per_second, std::uint64_t every) {
  return bytes_per_second / static_cast<double>(every) * kSecondsPerSample;
}

Result<TraceFacts> trace_facts(const Request& request, const snapshot::HeapChoice& heap) {
  const Prepared prepared = HA_TRY(prepare(request, heap, false));
  const Disassembler disassembler = HA_TRY(Disassembler::open(kOwnProcessor));
  const Hooks& hooks = prepared.found.hooks;
  TraceFacts facts;
  for (const Entry& entry : hooks.allocations) {
    HA_TRY(check_entry(disassembler, entry));
    facts.entries.push_back(entry.name);
  }
  for (const MallocEntry& one : hooks.of_malloc) {
    HA_TRY(check_entry(disassembler, one.entry));
    facts.entries.push_back(one.entry.name);
  }
  facts.follows_ends = hooks.follows_ends() || !prepared.traces_collector;
  facts.notes = prepared.found.notes;
  facts.bytes_per_second = current_rate(prepared);
  return facts;
}

}  // namespace heapattach::trace
