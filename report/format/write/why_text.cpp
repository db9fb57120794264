// The paths that keep an object alive, for people:
//
//    1000 objects of Session, 48000 bytes; they retain 96000 bytes
//
//    998 of 1000 through global CACHE → @h → @entries → [*].value, for instance
//        global CACHE of app
//          → 0x7f1200 Cache
//          @h → 0x7f1240 Hash(String, Session)
//          @entries → 0x7f1300 (buffer of Hash(String, Session))
//          [3].value → 0x7f12a0 Session
//      also 900 of them through global RECENT of app → @buffer → [*]
//      all are retained by (dominators, the closest last)
//          0x7f1240 Hash(String, Session), retains 97000 bytes
//
// For a single object there is no summary, and one path from each root that reaches it.

#include <fmt/format.h>

#include "report/format/write/root_path_text.h"
#include "report/format/write/text_reports.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using analyze::Why;
using analyze::WhyPath;

std::string heading(const snapshot::Snapshot& snapshot, const Why& why) {
  const std::string what =
      why.object ? object_text(snapshot, *why.object)
                 : fmt::format("{} of {}", counted(why.objects, "object"), terminal_text(why.what));
  return fmt::format("{}, {} bytes; {} {} bytes\n", what, why.bytes,
                     why.objects == 1 ? "it retains" : "they retain", why.retained_bytes);
}

std::string path_heading(const Why& why, const WhyPath& path, std::size_t number) {
  if (why.object) {
    return fmt::format("path {} of {}, {}\n", number, why.paths.size() + why.other_paths,
                       counted(path.root_path.size() - 1, "step"));
  }
  return fmt::format("{} of {} through {}{}\n", path.objects, why.objects,
                     terminal_text(path.summary), path.objects == 1 ? "" : ", for instance");
}

std::string dominators_heading(const Why& why, const WhyPath& path) {
  if (path.dominators.empty()) {
    if (!why.object && path.objects != 1) return "  no single object retains them all\n";
    if (!path.is_held_by_root) return "  no single object retains it: there is another path\n";
    const bool is_this_path = path.root_path.size() == 1;
    return fmt::format("  no object retains it: {} root references it directly\n",
                       is_this_path ? "the" : "a");
  }
  return fmt::format("  {} retained by (dominators, closest last)\n",
                     path.objects == 1 ? "it is" : "all are");
}

}  // namespace

std::string format_why_text(const snapshot::Snapshot& snapshot,
                            const Why& why,
                            const TextStyle& style) {
  analyze::EdgeNames names(snapshot);
  std::string text = heading(snapshot, why);
  for (std::size_t i = 0; i < why.paths.size(); ++i) {
    const WhyPath& path = why.paths[i];
    const std::string head = path_heading(why, path, i + 1);
    text += style.with_colour ? fmt::format("\n\x1b[1m{}\x1b[0m", head) : "\n" + head;
    text += root_path_text(snapshot, path.root, path.root_path, names, style);
    text += other_paths_text(path.also, path.objects);
    // All paths to one object have the same dominators.
    if (why.object && i + 1 != why.paths.size()) continue;
    text += dominators_heading(why, path);
    text += dominators_text(snapshot, path.dominators, style);
  }
  if (why.object && why.other_paths != 0) {
    text += fmt::format("\n{} more; --paths N shows more\n", counted(why.other_paths, "path"));
  } else if (why.other_paths != 0) {
    text +=
        fmt::format("\n{} more through {}; --paths N shows more\n",
                    counted(why.other_objects, "object"), counted(why.other_paths, "other path"));
  }
  if (why.unreached != 0) {
    const std::string by =
        why.from.empty() ? "no root reaches" : terminal_text(why.from) + " does not reach";
    text += fmt::format("\n{} of {}: {} {}{}\n", why.unreached, why.objects, by,
                        why.unreached == 1 ? "it" : "them",
                        why.excluded_edges != 0 ? " except through what was excluded" : "");
  }
  if (why.excluded_edges != 0) {
    text += fmt::format("\n{} excluded\n", counted(why.excluded_edges, "pointer"));
  }
  for (const std::string& exclusion : why.unused_exclusions) {
    text += fmt::format("\nno pointer matches --exclude {}\n", terminal_text(exclusion));
  }
  if (!snapshot.complete) text += fmt::format("\npartial: {}\n", terminal_text(snapshot.reason));
  return text;
}

}  // namespace heapattach
