#include "report/format/read/trace_lines.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/format/read/json_fields.h"
#include "report/model/frame_words.h"
#include "report/trace/trace.h"
#include "report/trace/trace_words.h"
#include "symbols/text/json_cursor.h"

namespace heapattach::read {

namespace {

// Adds the records of a trace to `trace`, line by line.
class TraceRecords {
 public:
  explicit TraceRecords(trace::Trace& trace) : trace_(trace) {}

  // Reads a line. Returns a description of the error, empty if there is none.
  std::string read(std::string_view line);

  [[nodiscard]] bool has_header() const { return has_header_; }
  [[nodiscard]] bool has_end() const { return has_end_; }
  // After the end record of a complete trace, checks its counts. Returns a description of the
  // error, empty if there is none.
  [[nodiscard]] std::string wrong_counts() const;

 private:
  void read_known(std::string_view kind, JsonCursor& json);
  void read_header(JsonCursor& json);
  void read_type(JsonCursor& json);
  void read_frame(JsonCursor& json);
  void read_stack(JsonCursor& json);
  void read_thread(JsonCursor& json);
  void read_fiber(JsonCursor& json);
  void read_event(std::string_view kind, JsonCursor& json);
  void read_end(JsonCursor& json);

  bool read_id(JsonCursor& json, std::size_t expected);
  bool read_index(JsonCursor& json, std::size_t size, std::uint32_t& out);

  trace::Trace& trace_;
  bool has_header_ = false;
  bool has_end_ = false;
  std::uint64_t allocs_ = 0;
  std::uint64_t frees_ = 0;
  std::uint64_t said_allocs_ = 0;
  std::uint64_t said_frees_ = 0;
  bool has_id_ = false;
};

using trace::Event;
using trace::EventKind;

constexpr std::uint64_t kVersion = 1;  // increases only if the meaning of a key changes

bool read_texts(JsonCursor& json, std::vector<std::string>& out) {
  return json.array([&] { return json.string(out.emplace_back()); });
}

bool read_whose(JsonCursor& json, trace::Whose& out) {
  std::string word;
  if (!json.string(word)) return false;
  const auto whose = snapshot::meant_by(trace::kWhoseWords, word);
  if (!whose) return json.fail("a frame of an unknown owner");
  out = *whose;
  return true;
}

bool read_header_text(JsonCursor& json, std::string_view key, trace::Header& out) {
  if (key == "tool") return json.string(out.tool);
  if (key == "host") return json.string(out.host);
  if (key == "exe") return json.string(out.exe);
  if (key == "build_id") return json.string(out.build_id);
  if (key == "resource") return read_attributes(json, out.resource);
  if (key == "started") return json.string(out.started);
  if (key == "heaps") return read_texts(json, out.heaps);
  if (key == "entries") return read_texts(json, out.entries);
  if (key == "warnings") return read_texts(json, out.warnings);
  return json.skip();
}

// The kind of the record that a line begins with, as our writer puts it; empty if another key comes
// first.
std::string_view first_kind(std::string_view line) {
  constexpr std::string_view kBefore = "{\"record\":\"";
  if (!line.starts_with(kBefore)) return {};
  line.remove_prefix(kBefore.size());
  return line.substr(0, line.find_first_of("\"\\"));
}

std::string TraceRecords::read(std::string_view line) {
  std::string kind(first_kind(line));
  if (kind.empty()) {
    JsonCursor json(line);
    json.object(
        [&](std::string_view key) { return key == "record" ? json.string(kind) : json.skip(); });
    if (!json.is_good()) return json.error();
    if (kind.empty()) return "the key `record` is missing";
  }
  if (!has_header_ && kind != "trace") return "its first record is not `trace`";
  if (has_end_) return "unexpected text after the end record";
  JsonCursor json(line);
  read_known(kind, json);
  if (!json.is_good()) return json.error();
  return json.at_end() ? std::string() : "unexpected text after the record";
}

void TraceRecords::read_known(std::string_view kind, JsonCursor& json) {
  struct Reader {
    std::string_view kind;
    void (TraceRecords::*read)(JsonCursor& json);
  };
  static constexpr std::array<Reader, 7> kReaders{{
      {"trace", &TraceRecords::read_header},
      {"type", &TraceRecords::read_type},
      {"frame", &TraceRecords::read_frame},
      {"stack", &TraceRecords::read_stack},
      {"thread", &TraceRecords::read_thread},
      {"fiber", &TraceRecords::read_fiber},
      {"end", &TraceRecords::read_end},
  }};
  if (kind == "alloc" || kind == "realloc" || kind == "free") return read_event(kind, json);
  has_id_ = false;
  for (const Reader& reader : kReaders) {
    if (reader.kind == kind) return (this->*reader.read)(json);
  }
  json.skip();
}

// Records that others refer to have an id, counted from 0.
bool TraceRecords::read_id(JsonCursor& json, std::size_t expected) {
  std::uint64_t id = 0;
  if (!json.number(id)) return false;
  has_id_ = true;
  return id == expected || json.fail("its id is not the next one");
}

bool TraceRecords::read_index(JsonCursor& json, std::size_t size, std::uint32_t& out) {
  std::uint64_t index = 0;
  if (!json.number(index)) return false;
  if (index >= size || index >= trace::kNone) return json.fail("nothing before it has this id");
  out = static_cast<std::uint32_t>(index);
  return true;
}

void TraceRecords::read_header(JsonCursor& json) {
  if (has_header_) {
    json.fail("a second trace begins here");
    return;
  }
  trace::Header out;
  std::uint64_t version = 0;
  json.object([&](std::string_view key) {
    if (key == "version") return json.number(version);
    if (key == "pid") return read_number(json, out.pid);
    if (key == "every") return json.number(out.every);
    if (key == "duration_ns") return json.number(out.duration_ns);
    if (key == "gc_bytes_at_start") return json.number(out.gc_bytes_at_start.emplace());
    if (key == "gc_bytes_at_end") return json.number(out.gc_bytes_at_end.emplace());
    if (key == "lossy") return json.boolean(out.is_lossy);
    return read_header_text(json, key, out);
  });
  if (version != kVersion) {
    json.fail(version == 0 ? "the trace has no version"
                           : "the trace has a later version; read it with a newer heapattach");
  } else if (out.every == 0) {
    json.fail("`every` is 0");
  }
  has_header_ = json.is_good();
  trace_.header = std::move(out);
}

void TraceRecords::read_type(JsonCursor& json) {
  trace::Type out;
  json.object([&](std::string_view key) {
    if (key == "id") return read_id(json, trace_.types.size());
    if (key == "name") return json.string(out.name);
    if (key == "lossy") return json.boolean(out.is_lossy);
    return json.skip();
  });
  if (!has_id_ || out.name.empty()) json.fail("a type without an id or a name");
  if (json.is_good()) trace_.types.push_back(std::move(out));
}

void TraceRecords::read_frame(JsonCursor& json) {
  trace::Frame out;
  json.object([&](std::string_view key) {
    if (key == "id") return read_id(json, trace_.frames.size());
    if (key == "function") return json.string(out.function);
    if (key == "object") return json.string(out.object);
    if (key == "file") return json.string(out.file);
    if (key == "line") return read_number(json, out.line);
    if (key == "address") return json.address(out.address);
    if (key == "of") return read_whose(json, out.whose);
    if (key == "lossy") return json.boolean(out.is_lossy);
    return json.skip();
  });
  if (!has_id_) json.fail("a frame without an id");
  if (json.is_good()) trace_.frames.push_back(std::move(out));
}

void TraceRecords::read_stack(JsonCursor& json) {
  trace::Stack out;
  json.object([&](std::string_view key) {
    if (key == "id") return read_id(json, trace_.stacks.size());
    if (key == "frames") {
      return json.array(
          [&] { return read_index(json, trace_.frames.size(), out.frames.emplace_back()); });
    }
    if (key == "truncated") return json.boolean(out.is_truncated);
    return json.skip();
  });
  if (!has_id_) json.fail("a stack without an id");
  if (json.is_good()) trace_.stacks.push_back(std::move(out));
}

void TraceRecords::read_thread(JsonCursor& json) {
  trace::Thread out;
  json.object([&](std::string_view key) {
    if (key == "id") return read_id(json, trace_.threads.size());
    if (key == "tid") return read_number(json, out.tid);
    if (key == "name") return json.string(out.name);
    if (key == "lossy") return json.boolean(out.is_lossy);
    return json.skip();
  });
  if (!has_id_) json.fail("a thread without an id");
  if (json.is_good()) trace_.threads.push_back(std::move(out));
}

void TraceRecords::read_fiber(JsonCursor& json) {
  trace::Fiber out;
  json.object([&](std::string_view key) {
    if (key == "id") return read_id(json, trace_.fibers.size());
    if (key == "address") return json.address(out.address);
    if (key == "name") return json.string(out.name);
    if (key == "lossy") return json.boolean(out.is_lossy);
    return json.skip();
  });
  if (!has_id_) json.fail("a fiber without an id");
  if (json.is_good()) trace_.fibers.push_back(std::move(out));
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a list of keys
void TraceRecords::read_event(std::string_view kind, JsonCursor& json) {
  Event out;
  bool has_address = false;
  bool has_collection = false;
  json.object([&](std::string_view key) {
    if (key == "time_ns") return json.number(out.time_ns);
    if (key == "thread") return read_index(json, trace_.threads.size(), out.thread);
    if (key == "fiber") return read_index(json, trace_.fibers.size(), out.fiber);
    if (key == "address") return has_address = true, json.address(out.address);
    if (key == "bytes") return json.number(out.bytes);
    if (key == "type") return read_index(json, trace_.types.size(), out.type);
    if (key == "stack") return read_index(json, trace_.stacks.size(), out.stack);
    if (key == "collection") return has_collection = true, json.number(out.collection);
    if (key == "old_address") return json.address(out.old_address);
    return json.skip();
  });
  if (!has_address) json.fail("it has no address");
  if (kind == "free") {
    out.kind = has_collection ? EventKind::Dead : EventKind::Free;
    ++frees_;
  } else {
    out.kind = kind == "alloc" ? EventKind::Alloc : EventKind::Realloc;
    ++allocs_;
  }
  if (json.is_good()) trace_.events.add(out);
}

void TraceRecords::read_end(JsonCursor& json) {
  trace::Header& out = trace_.header;
  out.complete = false;
  json.object([&](std::string_view key) {
    if (key == "complete") return json.boolean(out.complete);
    if (key == "reason") return json.string(out.reason);
    if (key == "allocs") return json.number(said_allocs_);
    if (key == "frees") return json.number(said_frees_);
    if (key == "drops") return json.number(out.drops);
    return json.skip();
  });
  has_end_ = json.is_good();
}

std::string TraceRecords::wrong_counts() const {
  if (said_allocs_ == allocs_ && said_frees_ == frees_) return {};
  return fmt::format(
      "its end record says {} allocations and {} frees, but there are {} and {}; lines are missing "
      "or duplicated",
      said_allocs_, said_frees_, allocs_, frees_);
}

class TraceReader {
 public:
  TraceReader(TextFile file, const ReadTraceOptions& options)
      : source_(std::move(file), options.block_bytes), options_(options), records_(trace_) {}

  Result<trace::Trace> read() && {
    LineBlock block;
    while (HA_TRY(source_.next(block))) {
      HA_TRY(options_.deadline.check("reading the trace"));
      HA_TRY(read_block(block));
      if (options_.on_progress) options_.on_progress(trace_.events.size());
    }
    return finish();
  }

 private:
  Result<void> read_block(const LineBlock& block) {
    std::string_view text = block.text();
    while (!text.empty()) {
      const auto end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++lines_;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      std::string wrong = records_.read(line);
      if (wrong.empty()) continue;
      const bool is_cut = text.empty() && block.is_last_line_cut && records_.has_header();
      if (is_cut) return {};
      return refused(wrong);
    }
    return {};
  }

  [[nodiscard]] Error refused(std::string_view why) const {
    const std::string& name = source_.file().name();
    if (records_.has_header()) {
      return {ErrorKind::Malformed, fmt::format("{}, line {}: {}", name, lines_, why)};
    }
    return {ErrorKind::Malformed, fmt::format("{} is not a trace: line {}: {}", name, lines_, why)};
  }

  Result<trace::Trace> finish() {
    const std::string& name = source_.file().name();
    trace::Header& header = trace_.header;
    if (!records_.has_header()) {
      return Error{ErrorKind::Malformed, fmt::format("{} is not a trace: it has no records", name)};
    }
    if (!records_.has_end() || source_.file().is_cut()) {
      header.complete = false;
      header.reason = fmt::format("the file ends early, at line {}", lines_);
    } else if (!header.complete && header.reason.empty()) {
      header.reason = "the trace is marked as partial";
    }
    const std::string wrong = header.complete ? records_.wrong_counts() : std::string();
    if (!wrong.empty()) return Error{ErrorKind::Malformed, fmt::format("{}: {}", name, wrong)};
    return std::move(trace_);
  }

  LineSource source_;
  const ReadTraceOptions& options_;
  trace::Trace trace_;
  TraceRecords records_;
  std::size_t lines_ = 0;
};

}  // namespace

Result<trace::Trace> read_trace_lines(TextFile file, const ReadTraceOptions& options) {
  return TraceReader(std::move(file), options).read();
}

}  // namespace heapattach::read
