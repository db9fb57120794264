#include "report/cli/take_file.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/format/read/collector_dump.h"
#include "report/format/read/join_dump.h"
#include "report/format/read/json_lines.h"
#include "report/format/read/ruby/dump.h"

namespace heapattach {

namespace {

// Reports that need roots.
bool needs_roots(const Options& options) {
  switch (options.report) {
    case Report::Sizes:
    case Report::Why:
    case Report::Suspects:
    case Report::ObjectSizes: return true;
    default: break;
  }
  return std::any_of(options.fail_if.begin(), options.fail_if.end(), [](const FailIf& condition) {
    return condition.what == FailIf::What::Retained;
  });
}

Result<snapshot::Snapshot> take_from_dump(read::TextFile file,
                                          const Options& options,
                                          const Deadline& deadline,
                                          Console& console) {
  if (needs_roots(options)) {
    return Error{ErrorKind::Usage,
                 fmt::format("{} is a collector's dump, which has no roots: nothing in it shows "
                             "what keeps objects alive",
                             file.name())}
        .advise("--count, --diff, --graph, or -o");
  }
  if (options.type_info.empty()) {
    console.say("without --type-info the objects of a dump have no types");
  }
  const bool is_kept = needs_contents(options);
  read::CollectorDump dump = HA_TRY(read::read_collector_dump(std::move(file), deadline, is_kept));
  console.step(
      fmt::format("read {} objects in {} blocks", dump.objects.size(), dump.index.blocks.size()));
  read::DumpOptions what;
  what.type_info = options.type_info;
  what.deadline = deadline;
  what.with_edges = needs_edges(options);
  what.with_texts = options.report == Report::Strings;
  auto snapshot = HA_TRY(read::join_dump(dump, what));
  if (is_kept) snapshot.contents = std::move(dump.contents);
  return snapshot;
}

}  // namespace

Result<snapshot::Snapshot> take_from_file(const Options& options,
                                          const Deadline& deadline,
                                          Console& console) {
  console.progress("reading the file");
  auto file = HA_TRY(read::TextFile::open(options.file, deadline));
  if (read::is_collector_dump(file)) {
    return take_from_dump(std::move(file), options, deadline, console);
  }
  if (!options.type_info.empty()) {
    return Error{
        ErrorKind::Usage,
        fmt::format("--type-info is for processes and dumps: {} already contains its types",
                    options.file)};
  }
  const bool is_ruby = ruby::is_dump(file);
  if (options.by == snapshot::CountBy::Line && !is_ruby) {
    return Error{
        ErrorKind::Usage,
        fmt::format("--by line is for Ruby dumps: {} does not record where objects were allocated",
                    options.file)};
  }
  ruby::DumpOptions what;
  what.with_edges = needs_edges(options);
  what.deadline = deadline;
  what.note = [&console](std::string_view step) { console.step(step); };
  if (!is_ruby) return read::read_json_lines(std::move(file), what);
  const bool needs_texts = options.report == Report::Strings || options.report == Report::Find;
  what.text_bytes = needs_texts ? std::string::npos : 0;
  what.by_line = options.by == snapshot::CountBy::Line;
  return ruby::read_dump(std::move(file), what);
}

}  // namespace heapattach
