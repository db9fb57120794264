#include "report/analyze/duplicates.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <tuple>

#include "report/parallel.h"

namespace heapattach::snapshot {

namespace {

struct Entry {
  std::uint64_t hash = 0;
  std::string_view text;
  std::string_view kind;
  std::uint64_t bytes = 0;

  [[nodiscard]] bool is_same(const Entry& other) const {
    return hash == other.hash && kind == other.kind && text == other.text;
  }
};

// Texts with the same hash are in the same part, so each part can be processed by itself.
constexpr std::size_t kParts = 64;
constexpr std::size_t kObjectsAtATime = 65536;
using Parts = std::array<std::vector<Entry>, kParts>;

// The kind of strings that are only known by a pointer to characters.
constexpr std::string_view kCharacters = "char[]";
constexpr std::string_view kNimString = "string";
constexpr std::string_view kVString = "(buffer of string)";
constexpr std::string_view kMonoString = "System.String";

// The result of one worker.
struct Seen {
  Parts parts;
  Duplicates sums;
};

// The text of an object, if the snapshot has it.
const Value* own_text(std::span<const Value> values) {
  const auto found = std::find_if(values.begin(), values.end(), [](const Value& value) {
    return value.path == Value::kOwn && value.is_text;
  });
  return found == values.end() ? nullptr : &*found;
}

void look_at(const Snapshot& snapshot,
             const std::vector<std::string_view>& kinds,
             const ValuePiece* piece,
             ObjectIndex index,
             Seen& seen) {
  const Object& object = snapshot.objects[index];
  const std::string_view kind = kinds[object.type];
  if (kind.empty() || object.is_reachable == 0) return;
  const std::uint64_t bytes = snapshot.bytes_of(object);
  const Value* const value = piece == nullptr ? nullptr : own_text(piece->of(index));
  // Skips an empty buffer, such as one for input: it is not a copy of another empty buffer.
  if (kind == kCharacters && value != nullptr && value->bytes == 0 && !value->is_cut) return;
  seen.sums.strings += 1;
  seen.sums.bytes += bytes;
  if (value == nullptr) {
    seen.sums.without_text += 1;
  } else if (value->is_cut) {
    seen.sums.cut += 1;
  } else {
    const std::string_view text = piece->text_of(*value);
    const std::uint64_t hash = std::hash<std::string_view>()(text);
    seen.parts[hash % kParts].push_back({hash, text, kind, bytes});
  }
}

// Looks at all objects. Objects outside all pieces have no texts.
void look_at_all(const Snapshot& snapshot, std::vector<Seen>& by_worker) {
  std::vector<std::string_view> kinds;
  kinds.reserve(snapshot.types.size());
  for (const Type& type : snapshot.types) kinds.push_back(string_kind(type));
  const std::size_t objects = snapshot.objects.size();
  const auto look_at_piece = [&](std::size_t number, Seen& seen) {
    const auto first = static_cast<ObjectIndex>(number * kObjectsAtATime);
    const auto last =
        static_cast<ObjectIndex>(std::min<std::size_t>(objects, first + kObjectsAtATime));
    const auto& pieces = snapshot.values;
    auto piece = std::upper_bound(
        pieces.begin(), pieces.end(), first,
        [](ObjectIndex object, const ValuePiece& one) { return object < one.first_object; });
    if (piece != pieces.begin()) --piece;
    for (ObjectIndex index = first; index < last; ++index) {
      while (piece != pieces.end() && piece + 1 != pieces.end() &&
             (piece + 1)->first_object <= index) {
        ++piece;
      }
      look_at(snapshot, kinds, piece == pieces.end() ? nullptr : &*piece, index, seen);
    }
  };
  const std::size_t count = (objects + kObjectsAtATime - 1) / kObjectsAtATime;
  std::atomic<std::size_t> next = 0;
  run_workers(static_cast<unsigned>(by_worker.size()), [&](unsigned worker) {
    for (std::size_t i = next++; i < count; i = next++) look_at_piece(i, by_worker[worker]);
  });
}

// Makes the rows of one part, from the results of all workers.
void group(std::size_t part, std::vector<Seen>& by_worker, Duplicates& found) {
  std::vector<Entry> all = std::move(by_worker.front().parts[part]);
  for (std::size_t worker = 1; worker < by_worker.size(); ++worker) {
    const std::vector<Entry>& more = by_worker[worker].parts[part];
    all.insert(all.end(), more.begin(), more.end());
  }
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.hash, a.kind, a.text) < std::tie(b.hash, b.kind, b.text);
  });
  for (std::size_t i = 0; i < all.size();) {
    DuplicateRow row{all[i].text, all[i].kind};
    std::uint64_t largest = 0;
    const std::size_t first = i;
    for (; i < all.size() && all[i].is_same(all[first]); ++i) {
      row.copies += 1;
      row.bytes += all[i].bytes;
      largest = std::max(largest, all[i].bytes);
    }
    row.wasted_bytes = row.bytes - largest;
    found.distinct += 1;
    found.wasted_bytes += row.wasted_bytes;
    if (row.copies > 1) found.rows.push_back(row);
  }
}

void add(const Duplicates& part, Duplicates& to) {
  to.strings += part.strings;
  to.bytes += part.bytes;
  to.distinct += part.distinct;
  to.wasted_bytes += part.wasted_bytes;
  to.without_text += part.without_text;
  to.cut += part.cut;
  to.rows.insert(to.rows.end(), part.rows.begin(), part.rows.end());
}

}  // namespace

std::string_view string_kind(const Type& type) {
  if (type.name == "String" || type.name == kCharacters) return type.name;
  if (type.name == kNimString || type.name == kMonoString) return type.name;
  if (type.name == kVString) return "string";
  return type.holder == "std::string" ? std::string_view("std::string") : std::string_view();
}

Duplicates find_duplicates(const Snapshot& snapshot) {
  const unsigned workers = workers_for(snapshot.objects.size() / kObjectsAtATime + 1);
  std::vector<Seen> by_worker(workers);
  look_at_all(snapshot, by_worker);
  std::vector<Duplicates> of_worker(workers);
  std::atomic<std::size_t> next = 0;
  run_workers(workers, [&](unsigned worker) {
    for (std::size_t part = next++; part < kParts; part = next++) {
      group(part, by_worker, of_worker[worker]);
    }
  });
  Duplicates found;
  for (unsigned worker = 0; worker < workers; ++worker) {
    add(by_worker[worker].sums, found);
    add(of_worker[worker], found);
  }
  std::sort(found.rows.begin(), found.rows.end(), [](const DuplicateRow& a, const DuplicateRow& b) {
    return std::tie(b.wasted_bytes, b.copies, a.text, a.type) <
           std::tie(a.wasted_bytes, a.copies, b.text, b.type);
  });
  return found;
}

void drop_rows(std::optional<std::uint64_t> top, std::uint64_t min_bytes, Duplicates& duplicates) {
  std::vector<DuplicateRow>& rows = duplicates.rows;
  const auto last = std::find_if(rows.begin(), rows.end(), [&](const DuplicateRow& row) {
    return row.wasted_bytes < min_bytes;
  });
  const auto chosen =
      std::min<std::uint64_t>(static_cast<std::uint64_t>(last - rows.begin()), top.value_or(~0ULL));
  for (std::size_t i = chosen; i < rows.size(); ++i) {
    duplicates.left_out_rows += 1;
    duplicates.left_out_wasted += rows[i].wasted_bytes;
  }
  rows.resize(chosen);
}

}  // namespace heapattach::snapshot
