#include "report/cli/write_text.h"

#include <cerrno>
#include <string>
#include <utility>

#include <unistd.h>

#include "report/cli/look.h"
#include "report/cli/output_name.h"
#include "report/format/write/gzip.h"
#include "report/text/terminal_text.h"

namespace heapattach {

Result<OpenOutput> open_output(const Options& options, const Deadline& deadline) {
  const std::string name = output_name(options);
  if (!name.empty()) return OpenOutput::file(name, options.force, deadline);
  if (options.with_gzip && ::isatty(STDOUT_FILENO) == 1) {
    return Error{ErrorKind::Usage, "compressed data is not written to a terminal"}.advise(
        "a file with -o");
  }
  return OpenOutput::standard_output();
}

Result<void> write_text(const Options& options,
                        const Deadline& deadline,
                        OpenOutput output,
                        std::string_view text) {
  std::string shown(text);
  const bool is_raw = options.report == Report::Call || !options.keep.empty();
  if (!is_raw && options.format == Format::Table) shown = for_people(options, std::move(shown));
  OutputFile sink(std::move(output), deadline);
  const auto written = sink.write(options.with_gzip ? GzipMembers().compress(shown) : shown);
  if (!written) return has_reader_gone(options, written.error()) ? Result<void>() : written;
  return sink.finish();
}

bool has_reader_gone(const Options& options, const Error& error) {
  return error.os_errno == EPIPE && (options.output.empty() || options.output == "-");
}

std::string for_people(const Options& options, std::string text) {
  const bool is_terminal = options.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  return wants_ascii(surroundings(), is_terminal) ? ascii_text(text) : text;
}

}  // namespace heapattach
