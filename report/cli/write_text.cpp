#include "report/cli/write_text.h"

#include <cerrno>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "report/cli/output_name.h"
#include "report/cli/text_style.h"
#include "report/format/export/formats.h"
#include "report/format/write/gzip.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

// For people in ASCII where nothing else can be shown.
std::string shown_text(const Options& options, std::string text) {
  const bool is_raw =
      options.report == Report::Call || options.report == Report::Ruby || !options.keep.empty();
  if (is_raw || options.format->read_by != ReadBy::People) return text;
  const bool is_terminal = options.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  return wants_ascii(surroundings(), is_terminal) ? ascii_text(text) : text;
}

}  // namespace

Result<OpenOutput> open_output(const Options& options, const Deadline& deadline) {
  // A report that will be joined with others.
  if (options.gathered != nullptr) return OpenOutput::standard_output();
  const std::string name = options.keep.empty() ? output_name(options) : options.keep;
  if (!name.empty()) return OpenOutput::file(name, options.force, deadline);
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  if (options.with_gzip && is_terminal) {
    return Error{ErrorKind::Usage, "compressed data is not written to a terminal"}.advise(
        "a file with -o");
  }
  if (options.report == Report::Snapshot && is_terminal) {
    return Error{ErrorKind::Usage,
                 fmt::format("the snapshot of {} is not written to a terminal", options.file)}
        .advise("--count, or a new file with -o");
  }
  if (options.format->is_binary && is_terminal) {
    return Error{ErrorKind::Usage,
                 fmt::format("a profile for {} is not written to a terminal", options.format->name)}
        .advise("a file with -o");
  }
  return OpenOutput::standard_output();
}

Result<void> write_shown(const Options& options, std::string text, Sink& sink) {
  text = shown_text(options, std::move(text));
  return sink.write(options.with_gzip ? GzipMembers().compress(text) : std::string_view(text));
}

bool has_reader_gone(const Options& options, const Error& error) {
  return error.os_errno == EPIPE && (options.output.empty() || options.output == "-");
}

}  // namespace heapattach
