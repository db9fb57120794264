// The JSON of Alys, a tracer of Crystal's allocations that must be built into the program, as its
// converter writes it: an array of events in their order.
//
//   {"id":0,"time":1.009839517,"kind":"alloc","addr":281471443894272,"size":96,
//    "stack":[{"ip":4721576,"line":279,"file":"/src/shop.cr","name":"Shop#login"}]}
//
// All events of one allocation have its `id`. `time` is in seconds, here since the start of the
// trace, numbers are decimal, and the innermost frame is first. A realloc has `prev_addr` and
// `prev_size` too. An object that was found unreachable counts as freed. Only sampled
// events are listed, each once; the free of an object that was not sampled is left out.

#include <fmt/format.h>

#include "report/format/export/stream.h"
#include "report/format/export/trace_exports.h"
#include "report/text/json_text.h"
#include "report/trace/live_samples.h"
#include "report/type_names.h"

namespace heapattach {

namespace {

using trace::Event;
using trace::EventKind;

class Alys {
 public:
  Alys(const trace::Trace& trace, ExportStream& out, const TraceExportOptions& options)
      : trace_(trace), out_(out), options_(options), stacks_(trace.stacks.size()) {
    for (const trace::Type& type : trace.types) is_chosen_.push_back(is_chosen(type.name));
    are_unknown_chosen_ = is_chosen(trace::type_name(trace, trace::kNone));
  }

  void put() {
    out_.put('[');
    trace::EventLog::Reader reader(trace_.events);
    for (Event event; reader.next(event) && !out_.has_failed();) {
      if (event.kind == EventKind::Alloc) put_alloc(event);
      if (event.kind == EventKind::Realloc) put_realloc(event);
      if (event.kind == EventKind::Free || event.kind == EventKind::Dead) put_free(event);
    }
    out_.put("]\n");
  }

 private:
  [[nodiscard]] bool is_chosen(std::string_view type) const {
    for (const std::string& glob : options_.types) {
      if (matches_type(glob, type)) return true;
    }
    return options_.types.empty();
  }
  [[nodiscard]] bool is_chosen(const Event& event) const {
    return event.type == trace::kNone ? are_unknown_chosen_ : is_chosen_[event.type];
  }

  void put_head(std::uint64_t id, const Event& event, std::string_view kind, std::uint64_t bytes) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    out_.put(fmt::format("{}{{\"id\":{},\"time\":{}.{:09},\"kind\":\"{}\",\"addr\":{},\"size\":{}",
                         has_some_ ? ",\n" : "\n", id, event.time_ns / kSecond,
                         event.time_ns % kSecond, kind, event.address, bytes));
    has_some_ = true;
  }

  void put_alloc(const Event& event) {
    if (!is_chosen(event)) return;
    const std::uint32_t id = next_++;
    live_.put(event.address, {event.bytes, id});
    put_head(id, event, "alloc", event.bytes);
    put_stack(event);
  }

  void put_realloc(const Event& event) {
    const auto before = live_.remove(event.old_address);
    if (!before) return event.address == event.old_address ? void() : put_alloc(event);
    live_.put(event.address, {event.bytes, before->cell});
    put_head(before->cell, event, "realloc", event.bytes);
    out_.put(fmt::format(",\"prev_addr\":{},\"prev_size\":{}", event.old_address, before->bytes));
    put_stack(event);
  }

  void put_free(const Event& event) {
    const auto freed = live_.remove(event.address);
    if (!freed) return;
    put_head(freed->cell, event, "free", freed->bytes);
    out_.put(",\"stack\":[]}");
  }

  // The text of a stack is made once.
  void put_stack(const Event& event) {
    if (event.stack == trace::kNone) return out_.put(",\"stack\":[]}");
    std::string& text = stacks_[event.stack];
    if (text.empty()) text = stack_text(trace_.stacks[event.stack]);
    out_.put(text);
  }

  [[nodiscard]] std::string stack_text(const trace::Stack& stack) const {
    const trace::FrameText how = options_.frames.text;
    std::string text = ",\"stack\":[";
    for (const std::uint32_t index : trace::shown_frames(trace_, stack, options_.frames)) {
      const trace::Frame& frame = trace_.frames[index];
      if (text.back() == '}') text += ',';
      text += fmt::format("{{\"ip\":{}", frame.address);
      if (how == trace::FrameText::Full && frame.line != 0) {
        text += fmt::format(",\"line\":{}", frame.line);
      }
      if (how == trace::FrameText::Full) add_text(text, "file", frame.file);
      if (how != trace::FrameText::Address) add_text(text, "name", frame.function);
      text += '}';
    }
    return text + "]}";
  }

  static void add_text(std::string& text, std::string_view key, std::string_view value) {
    if (value.empty()) return;
    text += fmt::format(",\"{}\":", key);
    append_json_string(text, value);
  }

  const trace::Trace& trace_;
  ExportStream& out_;
  const TraceExportOptions& options_;
  std::vector<std::string> stacks_;
  std::vector<bool> is_chosen_;  // by type
  bool are_unknown_chosen_ = true;
  trace::LiveSamples live_;  // a sample's cell is its id
  std::uint32_t next_ = 0;
  bool has_some_ = false;
};

}  // namespace

Result<void> write_trace_alys(const trace::Trace& trace,
                              Sink& sink,
                              const TraceExportOptions& options) {
  ExportStream out(sink, options.stream);
  Alys(trace, out, options).put();
  return out.finish();
}

}  // namespace heapattach
