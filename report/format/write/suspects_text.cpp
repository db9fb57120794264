// The few objects that keep most memory alive, for people:
//
//   1. one Hash(String, Session) keeps 4676224 bytes, 95 % of all live bytes: through 20375
//      Session
//        global CACHE of app
//          → 0x7f1200 Cache
//          @h → 0x7f1240 Hash(String, Session)
//          @entries → 0x7f1300 (buffer of Hash(String, Session))
//      it retains
//         20375 objects   978000 bytes  Session
//
// A suspect within another follows it, indented, with the path from there on. If nothing retains a
// tenth, the report says so.
//
// After --trace, what grew comes first, with the code that adds to it:
//
//   in 60.0 s, 96000 bytes came and stayed
//
//   1. 1000 new Session retain 96000 bytes, 94 % of what is new
//     all through global CACHE → @h → [*].value, for instance
//       …
//     allocated here: about 990 objects, 95040 bytes, by 23 samples
//         open_session (shop.c:12)
//   traced for 60.0 s, one sample per 16384 bytes; 23 samples are in what grew

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/format/write/root_path_text.h"
#include "report/format/write/suspect_formats.h"
#include "report/short_names.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

std::string contents_text(const snapshot::Snapshot& snapshot,
                          const std::vector<analyze::Content>& contents,
                          const TextStyle& style) {
  std::size_t objects = 0;
  std::size_t bytes = 0;
  for (const analyze::Content& content : contents) {
    objects = std::max(objects, std::to_string(content.objects).size());
    bytes = std::max(bytes, std::to_string(content.bytes).size());
  }
  std::string text;
  for (const analyze::Content& content : contents) {
    const std::string line = fmt::format(
        "      {:>{}} objects  {:>{}} bytes  {}", content.objects, objects, content.bytes, bytes,
        terminal_text(shown_type_name(snapshot.types[content.type].name)));
    text += (style.columns == 0 ? line : shortened(line, style.columns)) + "\n";
  }
  return text;
}

// How many suspects are around this one.
std::size_t depth_of(const analyze::Suspects& suspects, std::size_t suspect) {
  std::size_t depth = 0;
  while (suspects.found[suspect].within) {
    suspect = *suspects.found[suspect].within;
    ++depth;
  }
  return depth;
}

std::string indented(const std::string& text, std::size_t depth) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (end - at > 1) result += std::string(4 * depth, ' ');
    result += text.substr(at, end - at);
    at = end;
  }
  return result;
}

// The path to one suspect; to one within another, from the other on.
std::string path_text(const snapshot::Snapshot& snapshot,
                      const analyze::Suspects& suspects,
                      const analyze::Suspect& suspect,
                      analyze::EdgeNames& names,
                      const TextStyle& style) {
  if (!suspect.within) {
    return root_path_text(snapshot, suspect.root, suspect.root_path, names, style);
  }
  const snapshot::ObjectIndex around = suspects.found[*suspect.within].object;
  analyze::RootPath rest = suspect.root_path;
  const auto begin = std::find_if(rest.begin(), rest.end(), [around](const analyze::Step& step) {
    return step.object == around;
  });
  rest.erase(rest.begin(), begin);
  return steps_text(snapshot, rest, names, style);
}

// Puts the shares of a few live bytes into perspective.
std::string small_text(const snapshot::Snapshot& snapshot, const analyze::Suspects& suspects) {
  std::uint64_t whole = 0;
  for (const snapshot::Heap& heap : snapshot.heaps) whole += heap.heap_bytes.value_or(0);
  if (whole >= analyze::Suspects::kSmallHeap && whole / 4 > suspects.live_bytes) {
    return fmt::format("little is reachable: {} bytes of the heap's {}; see --summary{}\n\n",
                       suspects.live_bytes, whole,
                       snapshot::are_collected(snapshot.heaps) ? "" : " and --leaks");
  }
  return fmt::format(
      "the whole heap is small, {} live bytes: a large share of it is nothing unusual\n\n",
      suspects.live_bytes);
}

std::string growth_text(const SuspectGrowth& found,
                        analyze::EdgeNames& names,
                        const TextStyle& style) {
  const analyze::GrowthHolders& holders = found.growth.holders;
  const double seconds = std::chrono::duration<double>(found.apart).count();
  std::string text =
      fmt::format("in {:.1f} s, {} bytes came and stayed\n\n", seconds, holders.new_bytes);
  if (holders.found.empty()) {
    text =
        fmt::format("nothing grew in {:.1f} s: no type has more objects than before\n\n", seconds);
  }
  for (std::size_t i = 0; i < holders.found.size(); ++i) {
    text += holder_text(found.growth, i, names, style);
    text += sites_text(
        found.code[i],
        [](const CodeSite& site) {
          return fmt::format("allocated here: about {:.0f} object{}, {:.0f} bytes, by {}",
                             site.objects, std::llround(site.objects) == 1 ? "" : "s", site.bytes,
                             counted(site.samples, "sample"));
        },
        "allocated by unknown code: before the recording, or it was not sampled");
    text += '\n';
  }
  return text + recording_text(found.recording, "are in what grew") + '\n';
}

}  // namespace

std::string format_suspects_text(const snapshot::Snapshot& snapshot,
                                 const SuspectReport& report,
                                 const TextStyle& style) {
  const analyze::Suspects& suspects = report.found;
  analyze::EdgeNames names(snapshot);
  std::string text;
  if (report.growth) text += growth_text(*report.growth, names, style);
  if (suspects.is_small() && !suspects.found.empty()) text += small_text(snapshot, suspects);
  std::size_t outer = 0;
  for (std::size_t i = 0; i < suspects.found.size(); ++i) {
    const analyze::Suspect& suspect = suspects.found[i];
    if (!suspect.within) ++outer;
    const std::string head = (suspect.within ? std::string() : fmt::format("{}. ", outer)) +
                             terminal_text(suspect.sentence);
    std::string part = style.with_colour ? fmt::format("\x1b[1m{}\x1b[0m\n", head) : head + "\n";
    if (suspect.is_type) {
      part += fmt::format("  most through {}, for instance\n",
                          terminal_text(suspect.root_path_summary));
    }
    part += path_text(snapshot, suspects, suspect, names, style);
    part += other_paths_text(suspect.also, suspect.objects);
    part += fmt::format("  {}\n", suspect.is_type ? "they retain" : "it retains");
    part += contents_text(snapshot, suspect.contents, style) + "\n";
    text += indented(part, depth_of(suspects, i));
  }
  if (suspects.found.empty()) {
    text += fmt::format("nothing retains a tenth of the {} live bytes\n", suspects.live_bytes);
  } else {
    // The program's code and stacks are live, too, and do not count.
    const bool has_code = suspects.threshold < suspects.live_bytes / 10;
    text += fmt::format("{} retain{} a tenth or more of the {} live bytes{}\n",
                        counted(outer, suspects.is_small() ? "object" : "suspect"),
                        outer == 1 ? "s" : "", suspects.live_bytes,
                        has_code ? fmt::format(", or {} bytes, a tenth of all but code and stacks",
                                               suspects.threshold)
                                 : "");
  }
  if (suspects.untyped_bytes >= suspects.threshold) {
    text += fmt::format("objects of unknown types retain {}{} bytes\n",
                        suspects.found.empty() ? "" : "another ", suspects.untyped_bytes);
  }
  if (!snapshot.complete) text += fmt::format("partial: {}\n", terminal_text(snapshot.reason));
  return text;
}

}  // namespace heapattach
