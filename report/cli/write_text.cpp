#include "report/cli/write_text.h"

#include <string>
#include <utility>

#include <unistd.h>

#include "report/cli/output_name.h"
#include "report/write/gzip.h"

namespace heapattach {

Result<OpenOutput> open_output(const Options& options, const Deadline& deadline) {
  const std::string name = output_name(options);
  if (!name.empty()) return OpenOutput::file(name, options.force, deadline);
  if (options.with_gzip && ::isatty(STDOUT_FILENO) == 1) {
    return Error{ErrorKind::Malformed,
                 "compressed data is not written to a terminal; try: a file with -o"};
  }
  return OpenOutput::standard_output();
}

Result<void> write_text(const Options& options,
                        const Deadline& deadline,
                        OpenOutput output,
                        std::string_view text) {
  OutputFile sink(std::move(output), deadline);
  HA_TRY(sink.write(options.with_gzip ? GzipMembers().compress(text) : text));
  return sink.finish();
}

}  // namespace heapattach
