#include "report/cli/summary.h"

#include <string_view>

#include <fmt/format.h>

#include "report/text/human_bytes.h"

namespace heapattach {

namespace {

// Advice if Crystal's objects have no names: a --release build by a compiler older than 1.17
// contains none.
std::string hint_about_names(const snapshot::CountTable& table,
                             const snapshot::Snapshot& snapshot) {
  const bool are_named = table.typed_bytes >= table.bytes / 2;
  const bool are_crystals = are_collected(snapshot.heaps);
  if (snapshot.header.runtime != "crystal" || are_named || !are_crystals) return {};
  return fmt::format(
      "; {:.0f} % of the bytes have a type's name: run CRYSTAL_DUMP_TYPE_ID=1 crystal build "
      "SOURCE.cr > types.txt with the same source, compiler and flags as this build, and pass "
      "--type-info types.txt",
      100 * static_cast<double>(table.typed_bytes) / static_cast<double>(table.bytes));
}

}  // namespace

std::string typed_line(const snapshot::CountTable& table) {
  const snapshot::TypedBytes& typed = table.typed;
  const double share = table.bytes == 0 ? 100
                                        : 100 * static_cast<double>(table.typed_bytes) /
                                              static_cast<double>(table.bytes);
  return fmt::format(
      "{:.1f} % of the live bytes are typed: by header {}, by vtable {}, by referrer {}; untyped "
      "{}",
      share, human_bytes(typed.header), human_bytes(typed.vtable), human_bytes(typed.referrer),
      human_bytes(typed.unknown));
}

std::string summary_line(const snapshot::CountTable& table,
                         const snapshot::Snapshot& snapshot,
                         std::chrono::nanoseconds in_all) {
  std::string line =
      fmt::format("{}, {} live", counted(table.objects, "object"), human_bytes(table.bytes));
  if (table.heap_bytes) line += fmt::format(" of {} heap", human_bytes(*table.heap_bytes));
  const std::size_t threads = snapshot.threads.size();
  if (threads != 0) line += fmt::format(", {}", counted(threads, "thread"));
  const auto pause = snapshot.header.pause_ms;
  if (pause) line += fmt::format(", paused {:.1f} ms", *pause);
  line += fmt::format(", {:.2f} s in all", std::chrono::duration<double>(in_all).count());
  if (const auto& marked = snapshot.header.marked_conservatively) {
    line += fmt::format("; {} ({}) marked conservatively", counted(marked->objects, "object"),
                        human_bytes(marked->bytes));
  }
  line += hint_about_names(table, snapshot);
  if (!table.complete) line += fmt::format("; partial: {}", table.reason);
  return line;
}

}  // namespace heapattach
