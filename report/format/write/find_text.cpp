// The objects that --find has found, for people:
//
//   2 of 200 Session match
//   0x7f12a0  48 bytes  Session  @user.name: "ann"
//   0x7f1300  48 bytes  Session  @user.name: "ann"
//
// The addresses come first because other reports accept them.

#include <algorithm>

#include <fmt/format.h>

#include "report/format/write/table.h"
#include "report/format/write/text_reports.h"
#include "report/short_names.h"
#include "report/text/terminal_text.h"

namespace heapattach {

std::string format_find_text(const snapshot::Snapshot& snapshot,
                             const analyze::FindMatches& matches,
                             std::size_t most,
                             const TextStyle& style) {
  std::string text = fmt::format("{} of {} {} match{}\n", matches.found.size(), matches.objects,
                                 terminal_text(shown_type_name(matches.type)),
                                 matches.found.size() == 1 ? "es" : "");
  const std::size_t shown = most == 0 ? matches.found.size() : std::min(most, matches.found.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const analyze::FoundObject& found = matches.found[i];
    const snapshot::Object& object = snapshot.objects[found.object];
    std::string line =
        fmt::format("{:#x}  {} bytes  {}", std::uint64_t{object.address}, snapshot.bytes_of(object),
                    terminal_text(shown_type_name(snapshot.types[object.type].name)));
    for (std::size_t path = 0; path < matches.paths.size(); ++path) {
      line += fmt::format("  {}: {}", terminal_text(matches.paths[path]),
                          terminal_text(found.values[path]));
    }
    text += (style.columns == 0 ? line : shortened(line, style.columns)) + '\n';
  }
  if (shown < matches.found.size()) {
    text += fmt::format("… {} more; --top N shows more\n", matches.found.size() - shown);
  }
  if (matches.undecided != 0) {
    text += fmt::format("{} more may match: their texts were cut; --values=N keeps more of them\n",
                        matches.undecided);
  }
  if (!snapshot.complete) text += fmt::format("partial: {}\n", terminal_text(snapshot.reason));
  return text;
}

}  // namespace heapattach
