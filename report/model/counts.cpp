#include "report/model/counts.h"

#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>

#include "report/parallel.h"
#include "report/type_names.h"

namespace heapattach::snapshot {

namespace {

struct Count {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};

// Two counts per type: of unreachable objects, and of reachable ones.
using Counts = std::vector<Count>;

// The live objects of a heap, and the bytes of the others.
struct Live {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t dead_bytes = 0;
};

constexpr std::size_t kObjectsPerWorker = 65536;  // below this a thread costs more than it saves

// Neighbours often share a type, and adding to the count that was just changed would wait for that
// store: two sets of counts, for odd and even objects, let the additions overlap.
void count_range(const Snapshot& snapshot, std::size_t from, std::size_t to, Counts& counts) {
  Counts odd(counts.size());
  const auto add = [&](const Object& object, Counts& into) {
    Count& count = into[2 * std::size_t{object.type} + object.is_reachable];
    count.objects += 1;
    count.bytes += snapshot.bytes_of(object);
  };
  std::size_t i = from;
  for (; i + 1 < to; i += 2) {
    add(snapshot.objects[i], counts);
    add(snapshot.objects[i + 1], odd);
  }
  if (i < to) add(snapshot.objects[i], counts);
  for (std::size_t c = 0; c < counts.size(); ++c) {
    counts[c].objects += odd[c].objects;
    counts[c].bytes += odd[c].bytes;
  }
}

Counts count_by_type(const Snapshot& snapshot) {
  const std::size_t objects = snapshot.objects.size();
  const unsigned workers = workers_for(objects / kObjectsPerWorker + 1);
  std::vector<Counts> parts(workers, Counts(2 * snapshot.types.size()));
  std::atomic<unsigned> next = 0;
  run_workers(workers, [&](unsigned) {
    for (unsigned part = next++; part < workers; part = next++) {
      count_range(snapshot, objects * part / workers, objects * (part + 1) / workers, parts[part]);
    }
  });
  for (const Alike& group : snapshot.alike) {
    Count& count = parts[0][2 * std::size_t{group.object.type} + group.object.is_reachable];
    count.objects += group.count;
    count.bytes += group.count * snapshot.bytes_of(group.object);
  }
  for (unsigned part = 1; part < workers; ++part) {
    for (std::size_t c = 0; c < parts[0].size(); ++c) {
      parts[0][c].objects += parts[part][c].objects;
      parts[0][c].bytes += parts[part][c].bytes;
    }
  }
  return std::move(parts[0]);
}

// Ids of different programs or sources can share a name; the table shows them as one type.
void merge_same_names(std::vector<CountRow>& rows) {
  std::sort(rows.begin(), rows.end(), [](const CountRow& a, const CountRow& b) {
    return std::tie(a.type, b.is_reachable) < std::tie(b.type, a.is_reachable);
  });
  std::vector<CountRow> merged;
  for (CountRow& row : rows) {
    if (!merged.empty() && merged.back().type == row.type &&
        merged.back().is_reachable == row.is_reachable) {
      merged.back() += row;
    } else {
      merged.push_back(std::move(row));
    }
  }
  rows = std::move(merged);
}

void sort_rows(std::vector<CountRow>& rows, SortBy sort) {
  std::sort(rows.begin(), rows.end(), [sort](const CountRow& a, const CountRow& b) {
    // Larger first, except for names; a type's reachable row comes before its unreachable one.
    switch (sort) {
      case SortBy::Name: return std::tie(a.type, b.is_reachable) < std::tie(b.type, a.is_reachable);
      case SortBy::Count:
        return std::tie(b.objects, b.bytes, a.type, b.is_reachable) <
               std::tie(a.objects, a.bytes, b.type, a.is_reachable);
      case SortBy::Retained: {
        const std::uint64_t of_a = a.sizes ? a.sizes->retained_bytes : 0;
        const std::uint64_t of_b = b.sizes ? b.sizes->retained_bytes : 0;
        if (of_a != of_b) return of_b < of_a;
        break;
      }
      case SortBy::Bytes: break;
    }
    return std::tie(b.bytes, b.objects, a.type, b.is_reachable) <
           std::tie(a.bytes, a.objects, b.type, a.is_reachable);
  });
}

bool is_chosen(const CountRow& row, const RowChoice& choice) {
  if (row.bytes < choice.min_bytes) return false;
  return choice.types.empty() ||
         std::any_of(choice.types.begin(), choice.types.end(),
                     [&](const std::string& glob) { return matches_type(glob, row.type); });
}

void add_typed(TypedBy by, std::uint64_t bytes, TypedBytes& typed) {
  switch (by) {
    case TypedBy::Nothing: typed.unknown += bytes; break;
    case TypedBy::Header: typed.header += bytes; break;
    case TypedBy::Vtable: typed.vtable += bytes; break;
    case TypedBy::Referrer: typed.referrer += bytes; break;
  }
}

// The bytes that a heap has in use but that are not reachable. A heap that was read without a
// freeze may contradict itself; then only the dead objects that were counted.
std::uint64_t unreachable_of(const Heap& heap, std::uint64_t live, std::uint64_t dead) {
  const std::uint64_t all = heap.heap_bytes.value_or(0);
  const std::uint64_t in_use = all - std::min(heap.free_bytes.value_or(0), all);
  return in_use >= live + dead ? in_use - live : dead;
}

// The live and dead objects of each heap.
std::vector<Live> count_by_heap(const Snapshot& snapshot, const Live& all) {
  std::vector<Live> counts(snapshot.heaps.size());
  if (counts.size() == 1) return {all};
  if (counts.empty()) return {};
  snapshot.for_each_alike([&](const Object& object, std::uint64_t objects) {
    Live& count = counts[object.heap];
    if (object.is_reachable != 0) count.objects += objects;
    const std::uint64_t bytes = objects * snapshot.bytes_of(object);
    (object.is_reachable != 0 ? count.bytes : count.dead_bytes) += bytes;
  });
  return counts;
}

// None if one of them is unknown.
std::optional<std::uint64_t> sum_of(std::optional<std::uint64_t> a,
                                    std::optional<std::uint64_t> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

// None for a collected heap, and if a file lists reachable objects only and does not have the
// number.
std::optional<std::uint64_t> leaked_of(const Snapshot& snapshot,
                                       const Heap& heap,
                                       const Live& counted,
                                       std::uint64_t unreachable) {
  if (heap.kind().is_collected) return std::nullopt;
  if (heap.leaked_bytes) return std::min(*heap.leaked_bytes, unreachable);
  if (snapshot.header.live_only) return std::nullopt;
  return std::min(counted.dead_bytes, unreachable);
}

// Adds up what leaked, and the overhead, over the heaps that are not collected.
void add_leaked(CountTable& table) {
  std::optional<std::uint64_t> leaked;
  std::optional<std::uint64_t> overhead;
  for (const HeapCount& heap : table.heaps) {
    if (heap.kind->is_collected) continue;
    if (!heap.leaked_bytes) return;
    leaked = leaked.value_or(0) + *heap.leaked_bytes;
    overhead = overhead.value_or(0) + *heap.overhead_bytes();
  }
  table.leaked_bytes = leaked;
  table.overhead_bytes = overhead;
}

// Adds the heaps and their sums.
void add_heaps(const Snapshot& snapshot, const Live& all, CountTable& table) {
  const std::vector<Live> counts = count_by_heap(snapshot, all);
  table.unreachable_bytes = counts.empty() ? all.dead_bytes : 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Heap& heap = snapshot.heaps[i];
    HeapCount& count = table.heaps.emplace_back();
    count.kind = &heap.kind();
    count.objects = counts[i].objects;
    count.bytes = counts[i].bytes;
    count.unreachable_bytes = unreachable_of(heap, count.bytes, counts[i].dead_bytes);
    count.heap_bytes = heap.heap_bytes;
    count.free_bytes = heap.free_bytes;
    count.leaked_bytes = leaked_of(snapshot, heap, counts[i], count.unreachable_bytes);
    table.unreachable_bytes += count.unreachable_bytes;
    table.heap_bytes = i == 0 ? heap.heap_bytes : sum_of(table.heap_bytes, heap.heap_bytes);
    table.free_bytes = i == 0 ? heap.free_bytes : sum_of(table.free_bytes, heap.free_bytes);
  }
  add_leaked(table);
}

}  // namespace

const std::string& row_name(const Type& type, CountBy by) {
  return by == CountBy::Holder && !type.holder.empty() ? type.holder : type.name;
}

CountTable count_objects(const Snapshot& snapshot, CountBy by) {
  CountTable table;
  table.pid = snapshot.header.pid;
  table.resource = snapshot.header.resource;
  table.complete = snapshot.complete;
  table.reason = snapshot.reason;
  const Counts counts = count_by_type(snapshot);
  std::uint64_t dead_bytes = 0;
  for (std::size_t type = 0; type < snapshot.types.size(); ++type) {
    const Type& named = snapshot.types[type];
    const Count& dead = counts[2 * type];
    const Count& live = counts[2 * type + 1];
    dead_bytes += dead.bytes;
    table.objects += live.objects;
    table.bytes += live.bytes;
    if (named.is_known()) table.typed_bytes += live.bytes;
    add_typed(named.typed_by, live.bytes, table.typed);
    const std::string& name = row_name(named, by);
    if (live.objects != 0) {
      table.rows.push_back({name, live.objects, live.bytes, true, std::nullopt, named.guess});
    }
    if (dead.objects != 0 && !snapshot.header.live_only) {
      table.rows.push_back({name, dead.objects, dead.bytes, false, std::nullopt, named.guess});
    }
  }
  // A file has the sums, but not the source of each type of one name.
  if (snapshot.header.typed && snapshot.complete) {
    table.typed = *snapshot.header.typed;
    table.typed_bytes = table.typed.header + table.typed.vtable + table.typed.referrer;
  }
  add_heaps(snapshot, {table.objects, table.bytes, dead_bytes}, table);
  merge_same_names(table.rows);
  sort_rows(table.rows, SortBy::Bytes);
  return table;
}

CountTable choose_rows(CountTable table, const RowChoice& choice) {
  sort_rows(table.rows, choice.sort);
  std::vector<CountRow> chosen;
  for (CountRow& row : table.rows) {
    if (is_chosen(row, choice) && chosen.size() < choice.top.value_or(table.rows.size())) {
      chosen.push_back(std::move(row));
    } else if (row.is_reachable) {
      table.left_out_rows += 1;
      table.left_out_objects += row.objects;
      table.left_out_bytes += row.bytes;
    }
  }
  table.rows = std::move(chosen);
  return table;
}

}  // namespace heapattach::snapshot
