#include "report/cli/write_text.h"

#include <string>
#include <utility>

#include "report/cli/output_name.h"
#include "report/write/gzip.h"
#include "report/write/output_file.h"

namespace heapattach {

Result<void> write_text(const Options& options, const Deadline& deadline, std::string_view text) {
  const std::string name = output_name(options);
  auto output = HA_TRY(name.empty() ? OpenOutput::standard_output()
                                    : OpenOutput::file(name, options.force, deadline));
  OutputFile sink(std::move(output), deadline);
  HA_TRY(sink.write(options.with_gzip ? GzipMembers().compress(text) : text));
  return sink.finish();
}

}  // namespace heapattach
