#include "report/cli/output_name.h"

#include <climits>
#include <ctime>

#include <fmt/format.h>
#include <unistd.h>

#include "report/format/export/formats.h"
#include "report/format/write/output_file.h"

namespace heapattach {

namespace {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, HOST_NAME_MAX) != 0) return "host";
  return name;
}

}  // namespace

std::string file_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

std::string output_name(const Options& options) {
  if (!options.output.empty()) {
    return expand_name(options.output, options.pid, host_name(), file_time());
  }
  if (options.gathered != nullptr) return {};
  // A snapshot is useless on a terminal.
  const bool is_snapshot = options.report == Report::Snapshot || options.report == Report::Inject;
  if (is_snapshot && options.file.empty() && ::isatty(STDOUT_FILENO) == 1) {
    const std::string_view extensions = options.format->extensions;
    return fmt::format("heap.{}.{}{}", options.pid, extensions.substr(0, extensions.find(' ')),
                       options.with_gzip ? ".gz" : "");
  }
  return {};
}

bool has_file_for_each(const Options& options) {
  return options.output.find("%p") != std::string::npos;
}

}  // namespace heapattach
