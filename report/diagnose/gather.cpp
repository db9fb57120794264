#include "report/diagnose/gather.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/analyze/duplicates.h"
#include "report/analyze/growth_holders.h"
#include "report/analyze/leaks.h"
#include "report/analyze/suspects.h"
#include "report/collect/heap_account.h"
#include "report/model/origin_check.h"
#include "report/short_names.h"
#include "report/stacks/saved_stacks.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

namespace {

using snapshot::Snapshot;

constexpr std::size_t kKeptRows = 10;

bool has_references(const Snapshot& snapshot) {
  return !snapshot.first_edge.empty() && !snapshot.roots.empty();
}

// Why nothing can be said about leaks; empty if something can.
std::string why_leaks_are_unknown(const Snapshot& snapshot) {
  if (snapshot::are_collected(snapshot.heaps)) {
    const snapshot::Heap heap = snapshot.heaps.empty() ? snapshot::Heap() : snapshot.heaps.front();
    return fmt::format("malloc's heap beside {}: --heap both", whose(heap.kind()));
  }
  if (!snapshot.complete) return "leaks: " + snapshot.reason;
  if (snapshot.header.live_only) {
    return "leaks: the file has only reachable objects (--all saves the others, too)";
  }
  if (snapshot.first_edge.empty()) return "leaks: the snapshot was taken without references";
  const std::vector<std::string> places = analyze::unsearched_places(snapshot);
  if (!places.empty()) {
    return fmt::format("leaks: references may be in what was not searched: {}",
                       fmt::join(places, ", "));
  }
  return {};
}

// Whether a mapping is memory that is shared with processes that it forks, and no file.
bool is_shared_with_forks(const Mapping& mapping) {
  const std::string_view path = mapping.path;
  return !mapping.is_private && mapping.writable &&
         (path.starts_with("/dev/zero") || path.starts_with("/memfd:") ||
          path.starts_with("/dev/shm/") || path.starts_with("/SYSV"));
}

// Whether a mapping has the variables of a program or library that began as zeros: it follows its
// writable file.
bool has_variables_after(const Mapping& file, const Mapping& mapping) {
  return file.path.starts_with('/') && file.is_private && file.writable && mapping.path.empty() &&
         mapping.is_private && mapping.writable && file.range.end() == mapping.range.start;
}

LeaksSeen leaks_of(const Snapshot& snapshot) {
  const analyze::Leaks leaks = analyze::find_leaks(snapshot);
  LeaksSeen seen{.rows = {}, .leaks = leaks.leaks, .objects = leaks.objects, .bytes = leaks.bytes};
  for (const analyze::LeakRow& row : leaks.rows) {
    if (seen.rows.size() == kKeptRows) break;
    seen.rows.push_back({.type = shown_type_name(snapshot.types[row.type].name),
                         .guess = shown_type_name(snapshot.types[row.type].guess),
                         .is_cycle = row.is_cycle,
                         .leaks = row.leaks,
                         .objects = row.objects,
                         .bytes = row.bytes,
                         .example = snapshot.objects[row.example].address});
  }
  return seen;
}

// Each thread of Ruby's counts its stack, a mebibyte, as its own, also if it is hardly used.
bool is_of_threads(const Snapshot& snapshot, const analyze::Suspect& suspect) {
  if (snapshot.header.runtime != "ruby") return false;
  const std::string& type = snapshot.types[snapshot.objects[suspect.named].type].name;
  return type == "Ractor" || type == "Thread";
}

// The sentence with "4676224 bytes" as "4.5 MiB".
std::string with_units(std::string_view sentence) {
  constexpr std::string_view kBytes = " bytes";
  std::string text;
  while (!sentence.empty()) {
    const std::size_t digit = std::min(sentence.find_first_of("0123456789"), sentence.size());
    const bool is_word = digit == 0 || sentence[digit - 1] == ' ';
    text += sentence.substr(0, digit);
    sentence.remove_prefix(digit);
    const std::string_view digits = sentence.substr(0, sentence.find_first_not_of("0123456789"));
    sentence.remove_prefix(digits.size());
    std::uint64_t bytes = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
    if (is_word && bytes >= 1024 && sentence.starts_with(kBytes)) {
      text += human_bytes(bytes);
      sentence.remove_prefix(kBytes.size());
    } else {
      text += digits;
    }
  }
  return text;
}

std::optional<HolderSeen> holder_of(const Snapshot& snapshot) {
  constexpr std::size_t kShown = 3;
  const analyze::Suspects suspects = analyze::find_suspects(snapshot);
  const auto found =
      std::find_if(suspects.found.begin(), suspects.found.end(),
                   [&](const analyze::Suspect& one) { return !is_of_threads(snapshot, one); });
  if (found == suspects.found.end()) return {};
  const analyze::Suspect& first = *found;
  HolderSeen seen{.sentence = with_units(first.sentence),
                  .path = first.root_path_summary,
                  .retained_bytes = std::max(first.retained_bytes, first.named_retains),
                  .live_bytes = suspects.live_bytes,
                  .contents = {}};
  for (const analyze::Content& content : first.contents) {
    if (seen.contents.size() == kShown) break;
    seen.contents.push_back(fmt::format("{}, {}: {}", counted(content.objects, "object"),
                                        human_bytes(content.bytes),
                                        shown_type_name(snapshot.types[content.type].name)));
  }
  return seen;
}

std::vector<MappedFile> largest_of(const std::map<std::string, MappedFile>& by_path) {
  std::vector<MappedFile> largest;
  largest.reserve(by_path.size());
  for (const auto& [path, one] : by_path) largest.push_back({path, one.resident_bytes, one.files});
  std::stable_sort(largest.begin(), largest.end(), [](const MappedFile& a, const MappedFile& b) {
    return a.resident_bytes > b.resident_bytes;
  });
  if (largest.size() > kKeptRows) largest.resize(kKeptRows);
  return largest;
}

// A runtime's own heap, if it may be larger than malloc's.
void add_other_objects(const snapshot::MemoryAccount& memory, Evidence& evidence) {
  using snapshot::MemoryUse;
  const auto* const other = memory.objects_of;
  if (other == nullptr) return;
  const std::uint64_t elsewhere = memory.of(MemoryUse::Other).resident_bytes;
  if (elsewhere <= memory.of(MemoryUse::Malloc).resident_bytes) return;
  evidence.not_examined.push_back(
      fmt::format("the objects of {}; try: {}", other->name, other->instead));
}

}  // namespace

void add_heap(const Snapshot& snapshot, Evidence& evidence) {
  evidence.exe = snapshot.header.exe;
  evidence.resource = snapshot.header.resource;
  evidence.captured = snapshot.header.captured;
  evidence.pause_ms = snapshot.header.pause_ms;
  for (const auto& heap : heap_accounts(snapshot)) {
    if (heap) evidence.heaps.push_back(*heap);
  }
  evidence.objects = analyze::reachable(snapshot).objects;
  if (!snapshot.complete) {
    evidence.is_partial = true;
    evidence.not_examined.push_back("a part of the heap: " + snapshot.reason);
  }
  evidence.lacks_unreachable =
      snapshot.header.live_only && !snapshot::are_collected(snapshot.heaps) && !evidence.is_live;
  std::string no_leaks = why_leaks_are_unknown(snapshot);
  if (no_leaks.empty()) {
    evidence.leaks = leaks_of(snapshot);
  } else {
    evidence.not_examined.push_back(std::move(no_leaks));
  }
  if (has_references(snapshot)) evidence.holder = holder_of(snapshot);
  // Guile's mutexes are objects of its own, with a list of the threads that wait.
  if (snapshot.header.runtime == "guile") evidence.not_examined.emplace_back("locks of Guile");
}

void add_repeated(const Snapshot& snapshot, Evidence& evidence) {
  if (snapshot.values.empty()) return;
  const snapshot::Duplicates all = find_duplicates(snapshot);
  if (all.rows.empty()) return;
  const snapshot::DuplicateRow& first = all.rows.front();
  evidence.repeated = RepeatedSeen{.type = std::string(first.type),
                                   .copies = first.copies,
                                   .text_bytes = first.text.size(),
                                   .wasted_bytes = first.wasted_bytes,
                                   .all_wasted_bytes = all.wasted_bytes,
                                   .live_bytes = analyze::reachable(snapshot).bytes};
}

Evidence proven_by(const Snapshot& snapshot, std::optional<ProcessFacts> facts) {
  Evidence evidence;
  evidence.pid = snapshot.header.pid;
  evidence.facts = std::move(facts);
  if (!snapshot.threads.empty()) evidence.stacks = stacks::saved_stacks(snapshot);
  return evidence;
}

std::optional<std::uint64_t> possibly_leaked(const Snapshot& snapshot) {
  constexpr std::uint64_t kLeast = 1U << 20U;
  constexpr std::uint64_t kShare = 10;  // a tenth of the heap
  std::uint64_t leaked = 0;
  std::uint64_t in_heaps = 0;
  for (const snapshot::Heap& heap : snapshot.heaps) {
    leaked += heap.leaked_bytes.value_or(0);
    if (heap.leaked_bytes) in_heaps += heap.heap_bytes.value_or(0);
  }
  if (!snapshot.complete || leaked < kLeast || leaked < in_heaps / kShare) return {};
  return leaked;
}

void add_growth(const Snapshot& baseline,
                const std::string& file,
                const Snapshot& snapshot,
                Evidence& evidence) {
  const std::vector<snapshot::NamedSnapshot> named{{file, &baseline}, {evidence.source, &snapshot}};
  const snapshot::OriginCheck origins = snapshot::check_origins(named);
  const std::vector<const Snapshot*> both{&baseline, &snapshot};
  const analyze::Difference difference = analyze::compare(both, snapshot::CountBy::Type);
  GrowthSeen seen{.baseline = file,
                  .captured = baseline.header.captured,
                  .before = difference.total.before,
                  .after = difference.total.after,
                  .types = {},
                  .remarks = origins.remarks};
  if (analyze::knows_holders(snapshot)) {
    const analyze::GrowthHolders holders = analyze::find_growth_holders(
        both, origins.is_same_process, snapshot::CountBy::Type, difference);
    for (const analyze::GrowthHolder& holder : holders.found) {
      seen.types.push_back(
          {shown_type_name(holder.type), holder.objects, holder.retained_bytes, holder.summary});
    }
  }
  evidence.growth = std::move(seen);
}

void add_memory(const snapshot::SeenMemory& seen, Evidence& evidence) {
  evidence.memory = account_for(seen);
  add_other_objects(*evidence.memory, evidence);
  std::map<std::string, MappedFile> files;
  std::map<std::string, MappedFile> shared;
  const Mapping* before = nullptr;
  for (const snapshot::SeenMapping& one : seen.mappings) {
    const Mapping& mapping = one.mapping.mapping;
    const std::uint64_t resident = one.mapping.resident_bytes;
    if (is_shared_with_forks(mapping)) {
      evidence.shared_bytes += resident;
      if (mapping.path != "/dev/zero") shared[mapping.path].resident_bytes += resident;
    } else if (mapping.path.starts_with('/')) {
      files[mapping.path].resident_bytes += resident;
    }
    if (before != nullptr && has_variables_after(*before, mapping)) {
      evidence.variable_bytes += resident;
    }
    before = &mapping;
  }
  std::map<std::string, MappedFile> folders;
  for (const auto& [path, file] : files) {
    MappedFile& folder = folders[path.substr(0, path.rfind('/'))];
    folder.resident_bytes += file.resident_bytes;
    folder.files += 1;
  }
  evidence.shared = largest_of(shared);
  evidence.files = largest_of(files);
  evidence.folders = largest_of(folders);
}

}  // namespace heapattach::diagnose
