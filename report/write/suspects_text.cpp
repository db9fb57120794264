// Where most of the memory is, for people:
//
//    1. one Hash(String, Session) keeps 4676224 bytes, 95 % of all that is alive: mostly 20375
//    Session global CACHE of app
//          → 0x7f1200 Cache
//          @h → 0x7f1240 Hash(String, Session)
//          @entries → 0x7f1300 (buffer of Hash(String, Session))
//      what would go with it
//         20375 objects   978000 bytes  Session
//
// If no place gathers a tenth, that is said.

#include <algorithm>

#include <fmt/format.h>

#include "report/write/suspects_formats.h"
#include "report/write/terminal_text.h"
#include "report/write/way_text.h"

namespace heapattach {

namespace {

std::string contents_text(const snapshot::Snapshot& snapshot,
                          const std::vector<explain::Content>& contents,
                          const Look& look) {
  std::size_t objects = 0;
  std::size_t bytes = 0;
  for (const explain::Content& content : contents) {
    objects = std::max(objects, std::to_string(content.objects).size());
    bytes = std::max(bytes, std::to_string(content.bytes).size());
  }
  std::string text;
  for (const explain::Content& content : contents) {
    const std::string line =
        fmt::format("      {:>{}} objects  {:>{}} bytes  {}", content.objects, objects,
                    content.bytes, bytes, terminal_text(snapshot.types[content.type].name));
    text += (look.columns == 0 ? line : shortened(line, look.columns)) + "\n";
  }
  return text;
}

}  // namespace

std::string format_suspects_text(const snapshot::Snapshot& snapshot,
                                 const explain::Suspects& suspects,
                                 const Look& look) {
  explain::EdgeNames names(snapshot);
  std::string text;
  for (std::size_t i = 0; i < suspects.found.size(); ++i) {
    const explain::Suspect& suspect = suspects.found[i];
    const std::string head = fmt::format("{}. {}", i + 1, terminal_text(suspect.sentence));
    text += look.with_colour ? fmt::format("\x1b[1m{}\x1b[0m\n", head) : head + "\n";
    if (suspect.is_type) {
      text += fmt::format("  most through {}, for instance\n", terminal_text(suspect.way_summary));
    }
    text += way_text(snapshot, suspect.root, suspect.way, names, look);
    text += fmt::format("  what would go with {}\n", suspect.is_type ? "them" : "it");
    text += contents_text(snapshot, suspect.contents, look) + "\n";
  }
  if (suspects.found.empty()) {
    text += fmt::format("nothing gathers a tenth of the {} bytes that are alive\n",
                        suspects.live_bytes);
  } else {
    text += fmt::format("{} gather{} a tenth or more of the {} bytes that are alive\n",
                        counted(suspects.found.size(), "place"),
                        suspects.found.size() == 1 ? "s" : "", suspects.live_bytes);
  }
  if (suspects.untyped_bytes >= suspects.threshold) {
    text +=
        fmt::format("{} bytes are of unknown types, and gather nowhere\n", suspects.untyped_bytes);
  }
  if (!snapshot.complete) text += fmt::format("partial: {}\n", terminal_text(snapshot.reason));
  return text;
}

}  // namespace heapattach
