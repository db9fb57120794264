// A trace in Perfetto's format (perfetto.cpp): what each stack had allocated, and how much of that
// was still in use, at the end of each of up to 50 steps of equal length. The reader shows each
// step as a flame graph, and what was allocated since the step before. Amounts are estimates of all
// allocations, not samples. The types are not in it: the format has stacks alone.

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "report/format/export/perfetto_packets.h"
#include "report/format/export/trace_exports.h"
#include "report/trace/cells.h"
#include "report/trace/event_log.h"

namespace heapattach {

namespace {

using namespace perfetto;  // NOLINT(google-build-using-namespace): numbers of fields

constexpr std::uint64_t kSteps = 50;
constexpr std::size_t kBetweenLooks = 65536;  // at the clock

std::uint64_t whole(double amount) {
  return amount <= 0 ? 0 : static_cast<std::uint64_t>(std::llround(amount));
}

class Writer {
 public:
  Writer(const trace::Trace& trace, ExportStream& out, const TraceExportOptions& options)
      : trace_(trace),
        out_(out),
        options_(options),
        places_(trace, options.frames),
        moment_(moment_of(trace.header.pid, trace.header.exe, trace.header.started)) {
    moment_.resource = &trace.header.resource;
  }

  Result<void> put() {
    put_clocks(out_, moment_);
    put_start(out_, moment_);
    HA_TRY(name_stacks());
    const std::uint64_t length = std::max<std::uint64_t>(trace_.header.duration_ns, 1);
    const std::uint64_t step_ns = (length + kSteps - 1) / kSteps;
    trace::CellCounter counter(trace_.header.every, {});
    trace::EventLog::Reader reader(trace_.events);
    std::uint64_t end_ns = step_ns;
    std::size_t events = 0;
    for (trace::Event event; reader.next(event);) {
      if (++events % kBetweenLooks == 0) HA_TRY(options_.stream.deadline.check("writing"));
      // Events are roughly in order, and those after the end belong to the last step.
      for (; event.time_ns >= end_ns && end_ns < length; end_ns += step_ns) {
        put_dump(counter, end_ns);
      }
      counter.add(event);
    }
    for (; end_ns < length; end_ns += step_ns) put_dump(counter, end_ns);
    put_dump(counter, length);
    return {};
  }

 private:
  [[nodiscard]] bool is_meant(std::uint32_t type) const {
    return trace::is_chosen(trace::type_name(trace_, type), options_.types);
  }

  // All names come first.
  Result<void> name_stacks() {
    Callstacks names;
    for (const trace::Cell& cell : trace::count_cells(trace_, {})) {
      const auto path = places_.path_of(cell.stack);
      const auto [at, is_new] = stack_of_.try_emplace(path, 0);
      if (!is_new) continue;
      const auto& labels = places_.labels_of(path);
      for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
        const trace::Frame* const frame = places_.frame_of(*label);
        Callstacks::Line line;
        line.function = places_.text_of(*label);
        if (frame != nullptr) {
          line.file = frame->file;
          line.line = frame->line;
          line.module = frame->object;
          line.offset = frame->address;
        }
        names.push(names.frame(line));
      }
      at->second = names.finish_stack();
    }
    names.put(out_, moment_);
    return options_.stream.deadline.check("writing");
  }

  void put_dump(const trace::CellCounter& counter, std::uint64_t at_ns) {
    std::map<std::uint64_t, trace::Amounts> by_stack;
    for (const trace::Cell& cell : counter.cells()) {
      if (is_meant(cell.type)) by_stack[stack_of_[places_.path_of(cell.stack)]] += cell.amounts;
    }
    Moment moment = moment_;
    moment.time_ns += at_ns;
    ProtobufMessage dump;
    dump.number(1, static_cast<std::uint64_t>(moment.pid));
    dump.number(9, moment.time_ns);
    dump.bytes(11, "heapattach");
    dump.number(12, trace_.header.every);
    for (const auto& [stack, amounts] : by_stack) dump.message(2, sample_of(stack, amounts));
    ProtobufMessage packet;
    packet.message(5, dump);
    packet.number(7, index_++);
    put_packet(out_, moment, kProfilePacket, packet, Names::Defined);
  }

  static ProtobufMessage sample_of(std::uint64_t stack, const trace::Amounts& amounts) {
    const std::uint64_t bytes = whole(amounts.bytes);
    const std::uint64_t count = whole(amounts.allocations);
    ProtobufMessage sample;
    sample.number(1, stack);
    sample.number(2, bytes);
    sample.number(3, bytes - std::min(bytes, whole(amounts.in_use_bytes)));
    sample.number(5, count);
    sample.number(6, count - std::min(count, whole(amounts.in_use_objects)));
    return sample;
  }

  const trace::Trace& trace_;
  ExportStream& out_;
  const TraceExportOptions& options_;
  trace::Places places_;
  Moment moment_;
  std::map<trace::Places::Path, std::uint64_t> stack_of_;  // by path, from 1 on
  std::uint64_t index_ = 0;
};

}  // namespace

Result<void> write_trace_perfetto(const trace::Trace& trace,
                                  Sink& sink,
                                  const TraceExportOptions& options) {
  ExportStream out(sink, options.stream);
  HA_TRY(Writer(trace, out, options).put());
  return out.finish();
}

}  // namespace heapattach
