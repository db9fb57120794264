#include "report/format/write/trace_lines.h"

#include <charconv>
#include <string>
#include <utility>

#include "report/format/write/gzip.h"
#include "report/format/write/json_record.h"
#include "report/model/frame_words.h"
#include "report/trace/trace_words.h"

namespace heapattach {

namespace {

using trace::Event;
using trace::EventKind;
using trace::kNone;

constexpr std::size_t kFlushBytes = 512 * 1024;

JsonRecord header_record(const trace::Header& header) {
  JsonRecord record("trace");
  record.number("version", 1);
  record.text_unless_empty("tool", header.tool);
  record.number("pid", header.pid);
  record.text_unless_empty("host", header.host);
  record.text_unless_empty("exe", header.exe);
  record.text_unless_empty("build_id", header.build_id);
  record.attributes_unless_empty("resource", header.resource);
  record.number("every", header.every);
  record.text_unless_empty("started", header.started);
  record.number("duration_ns", header.duration_ns);
  record.number("gc_bytes_at_start", header.gc_bytes_at_start);
  record.number("gc_bytes_at_end", header.gc_bytes_at_end);
  record.list_unless_empty("heaps", header.heaps);
  record.list("entries", header.entries);
  record.list("warnings", header.warnings);
  record.lossy_if(header.is_lossy);
  return record;
}

JsonRecord record_of(const trace::Type& type, std::size_t id) {
  JsonRecord record("type");
  record.number("id", id);
  record.text("name", type.name);
  record.lossy_if(type.is_lossy);
  return record;
}

JsonRecord record_of(const trace::Frame& frame, std::size_t id) {
  JsonRecord record("frame");
  record.number("id", id);
  record.text_unless_empty("function", frame.function);
  record.text_unless_empty("object", frame.object);
  record.text_unless_empty("file", frame.file);
  if (frame.line != 0) record.number("line", frame.line);
  if (frame.address != 0) record.address("address", frame.address);
  record.text("of", snapshot::word_for(trace::kWhoseWords, frame.whose));
  record.lossy_if(frame.is_lossy);
  return record;
}

JsonRecord record_of(const trace::Stack& stack, std::size_t id) {
  JsonRecord record("stack");
  record.number("id", id);
  std::string frames = "[";
  for (const std::uint32_t frame : stack.frames) {
    if (frames.size() > 1) frames += ',';
    frames += std::to_string(frame);
  }
  record.raw("frames", frames + ']');
  if (stack.is_truncated) record.boolean("truncated", true);
  return record;
}

JsonRecord record_of(const trace::Thread& thread, std::size_t id) {
  JsonRecord record("thread");
  record.number("id", id);
  record.number("tid", thread.tid);
  record.text_unless_empty("name", thread.name);
  record.lossy_if(thread.is_lossy);
  return record;
}

JsonRecord record_of(const trace::Fiber& fiber, std::size_t id) {
  JsonRecord record("fiber");
  record.number("id", id);
  record.address("address", fiber.address);
  record.text_unless_empty("name", fiber.name);
  record.lossy_if(fiber.is_lossy);
  return record;
}

// The records of events are put together by hand: there are millions.
class EventText {
 public:
  explicit EventText(std::string& out) : out_(out) {}

  void add(const Event& event) {
    out_ += kind_of(event.kind);
    number(",\"time_ns\":", event.time_ns);
    index(",\"thread\":", event.thread);
    index(",\"fiber\":", event.fiber);
    address(",\"address\":\"0x", event.address);
    if (is_allocation(event)) {
      number(",\"bytes\":", event.bytes);
      index(",\"type\":", event.type);
      index(",\"stack\":", event.stack);
    }
    if (event.kind != EventKind::Free) number(",\"collection\":", event.collection);
    if (event.kind == EventKind::Realloc) address(",\"old_address\":\"0x", event.old_address);
    out_ += "}\n";
  }

  static bool is_allocation(const Event& event) {
    return event.kind == EventKind::Alloc || event.kind == EventKind::Realloc;
  }

 private:
  static std::string_view kind_of(EventKind kind) {
    switch (kind) {
      case EventKind::Alloc: return "{\"record\":\"alloc\"";
      case EventKind::Realloc: return "{\"record\":\"realloc\"";
      case EventKind::Free:
      case EventKind::Dead: break;
    }
    return "{\"record\":\"free\"";
  }

  void number(std::string_view key, std::uint64_t value, int base = 10) {
    char digits[24];
    out_ += key;
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, value, base).ptr);
  }
  void index(std::string_view key, std::uint32_t value) {
    if (value != kNone) number(key, value);
  }
  void address(std::string_view key, std::uint64_t value) {
    number(key, value, 16);
    out_ += '"';
  }

  std::string& out_;
};

class TraceWriter {
 public:
  TraceWriter(const trace::Trace& trace, Sink& sink, const TraceLinesOptions& options)
      : trace_(trace), sink_(sink), options_(options) {}

  Result<bool> write() {
    text_ += header_record(trace_.header).line();
    HA_TRY(put_all(trace_.types));
    HA_TRY(put_all(trace_.frames));
    HA_TRY(put_all(trace_.stacks));
    HA_TRY(put_all(trace_.threads));
    HA_TRY(put_all(trace_.fibers));
    const bool in_time = HA_TRY(put_events());
    put_end(in_time);
    HA_TRY(flush());
    return in_time;
  }

 private:
  template <class Records>
  Result<void> put_all(const Records& records) {
    for (std::size_t id = 0; id < records.size(); ++id) {
      text_ += record_of(records[id], id).line();
      if (text_.size() > kFlushBytes) HA_TRY(flush());
    }
    return {};
  }

  // False if the deadline passed.
  Result<bool> put_events() {
    EventText line(text_);
    trace::EventLog::Reader reader(trace_.events);
    for (Event event; reader.next(event);) {
      line.add(event);
      ++(EventText::is_allocation(event) ? allocs_ : frees_);
      if (text_.size() < kFlushBytes) continue;
      HA_TRY(flush());
      if (options_.on_progress) options_.on_progress(allocs_ + frees_);
      const auto in_time = options_.deadline.check("writing the trace");
      if (in_time) continue;
      if (in_time.error().kind == ErrorKind::Timeout) return false;
      return Error(in_time.error());
    }
    return true;
  }

  void put_end(bool in_time) {
    const trace::Header& header = trace_.header;
    JsonRecord record("end");
    record.boolean("complete", header.complete && in_time);
    record.text_unless_empty("reason", in_time ? header.reason : "the deadline passed");
    record.number("allocs", allocs_);
    record.number("frees", frees_);
    record.number("drops", header.drops);
    text_ += std::move(record).line();
  }

  Result<void> flush() {
    HA_TRY(sink_.write(options_.with_gzip ? gzip_.compress(text_) : std::string_view(text_)));
    text_.clear();
    return {};
  }

  const trace::Trace& trace_;
  Sink& sink_;
  const TraceLinesOptions& options_;
  GzipMembers gzip_;
  std::string text_;
  std::uint64_t allocs_ = 0;
  std::uint64_t frees_ = 0;
};

}  // namespace

Result<bool> write_trace_lines(const trace::Trace& trace,
                               Sink& sink,
                               const TraceLinesOptions& options) {
  return TraceWriter(trace, sink, options).write();
}

}  // namespace heapattach
