#include "report/format/read/trace_lines.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "report/format/read/trace_records.h"

namespace heapattach::read {

namespace {

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
      header.reason = "the trace says so";
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
