#include "report/collect/size_guesses.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attach/arch/addresses.h"
#include "report/typing/pointer_map.h"

namespace heapattach::snapshot {

namespace {

constexpr std::uint64_t kLargest = 64U << 10U;  // the size of the largest struct that is guessed
constexpr std::uint64_t kLooks = 1000;          // the number of objects of a size that are examined

// The struct that objects of a size probably are.
struct Candidate {
  types::TypeRef type = types::kNoType;
  PointerMap map;
  std::uint64_t seen = 0;
  std::uint64_t fitting = 0;    // objects whose words all fit
  std::uint64_t confirmed = 0;  // fitting objects with a pointer that confirms the guess
};

using Candidates = std::unordered_map<std::uint64_t, Candidate>;  // by usable size

// The sizes that only one struct or union of the program has.
std::unordered_map<std::uint64_t, types::TypeRef> unique_sizes(const types::TypeModel& model) {
  std::unordered_map<std::uint64_t, types::TypeRef> sizes;
  for (types::TypeRef ref = 0; ref < model.types().size(); ++ref) {
    const types::Type& type = model[ref];
    const bool is_structure =
        type.shape == types::Shape::Struct || type.shape == types::Shape::Union;
    if (!is_structure || type.bytes.value_or(0) == 0 || *type.bytes > kLargest) continue;
    const auto [at, is_new] = sizes.try_emplace(usable_size_for(*type.bytes), ref);
    if (!is_new) at->second = types::kNoType;
  }
  return sizes;
}

bool has_pointer(const PointerMap& map) {
  return std::any_of(map.words.begin(), map.words.end(),
                     [](const PointerWord& word) { return word.kind == WordKind::Pointer; });
}

// Returns nothing if objects of the type would show their type, or if nothing could confirm the
// guess.
std::optional<Candidate> candidate_of(const types::TypeModel& model, types::TypeRef ref) {
  if (ref == types::kNoType) return std::nullopt;
  const types::Type& type = model[ref];
  if (type.shape != types::Shape::Struct || type.has_header) return std::nullopt;
  PointerMap map = flatten(model, ref);
  if (!has_pointer(map)) return std::nullopt;
  return Candidate{.type = ref, .map = std::move(map)};
}

Candidates candidates_of(const types::TypeModel& model) {
  Candidates candidates;
  for (const auto& [size, ref] : unique_sizes(model)) {
    if (auto candidate = candidate_of(model, ref)) candidates.emplace(size, *std::move(candidate));
  }
  return candidates;
}

// The rows of those objects of one size that have a type.
class Siblings {
 public:
  void add(TypeIndex row) {
    if (Naming::is_unknown(row)) {
      has_unknown_ = true;
      return;
    }
    // Neighbours are often alike.
    if (latest_ == nullptr || row != latest_row_) latest_ = &rows_[latest_row_ = row];
    ++*latest_;
    ++typed_;
  }

  [[nodiscard]] bool has_unknown() const { return has_unknown_; }
  // The row that nearly all of these objects have; nothing if there is none.
  [[nodiscard]] std::optional<TypeIndex> usual_row() const {
    constexpr std::uint64_t kFewest = 10;
    if (typed_ < kFewest) return std::nullopt;
    for (const auto& [row, count] : rows_) {
      if (count >= typed_ - typed_ / 20) return row;
    }
    return std::nullopt;
  }

 private:
  std::uint64_t typed_ = 0;
  std::map<TypeIndex, std::uint64_t> rows_;
  TypeIndex latest_row_ = kNoRow;
  std::uint64_t* latest_ = nullptr;  // the count of latest_row_
  bool has_unknown_ = false;
};

std::unordered_map<std::uint64_t, Siblings> siblings_of(const JoinSources& from) {
  std::unordered_map<std::uint64_t, Siblings> by_size;
  std::uint64_t latest_bytes = 0;
  Siblings* siblings = nullptr;
  const auto blocks = static_cast<std::uint32_t>(from.heap.blocks().size());
  heap::for_each_object(from.heap, from.order.listed(), 0, blocks, [&](heap::ObjectRef ref) {
    const std::uint64_t bytes = from.heap.blocks()[ref.block].object_bytes;
    if (!from.heap.is_chunk(ref.block) || bytes > kLargest) return;
    if (siblings == nullptr || bytes != latest_bytes) siblings = &by_size[latest_bytes = bytes];
    siblings->add(from.typing.row_of(ref));
  });
  return by_size;
}

// Adds guesses by size: an object without a type probably has the type that references show for
// nearly all other objects of its size. This also contradicts other guesses.
void add_siblings(const JoinSources& from, Candidates& candidates) {
  const types::TypeModel& model = from.rows.model();
  for (const auto& [size, siblings] : siblings_of(from)) {
    const auto row = siblings.usual_row();
    if (!siblings.has_unknown() || !row) continue;
    const types::TypeRef ref = from.rows.type_of(*row);
    auto candidate = candidate_of(model, ref);
    candidates.erase(size);
    if (!candidate || usable_size_for(bytes_of(model, ref)) != size) continue;
    candidates.emplace(size, *std::move(candidate));
  }
}

// Whether a word may be a pointer: null, or an address of a process.
bool may_be_pointer(std::uint64_t word) {
  constexpr std::uint64_t kFirstAddress = 0x10000;  // vm.mmap_min_addr
  return word == 0 || (word >= kFirstAddress && word < kUsualAddressEnd);
}

class Look {
 public:
  Look(const JoinSources& from, Candidate& candidate)
      : heap_(from.heap), model_(from.rows.model()), candidate_(candidate) {}

  void at(heap::ObjectRef ref) {
    ++candidate_.seen;
    auto next = candidate_.map.words.begin();
    const auto end = candidate_.map.words.end();
    const std::uint64_t known =
        std::min({candidate_.map.bytes, candidate_.map.known_to, std::uint64_t{kLargest}});
    bool is_confirmed = false;
    for (std::uint64_t offset = 0; offset + 8 <= known; offset += 8) {
      const auto word = heap_.word_at(ref, offset);
      if (!word) return;
      while (next != end && next->offset < offset) ++next;
      const PointerWord* const field = next != end && next->offset == offset ? &*next : nullptr;
      if (!fits(*word, field)) return;
      is_confirmed |= confirms(*word, field);
    }
    ++candidate_.fitting;
    candidate_.confirmed += is_confirmed;
  }

 private:
  [[nodiscard]] bool fits(std::uint64_t word, const PointerWord* field) const {
    if (field == nullptr) return !heap_.object_at(word);
    return field->kind == WordKind::Conservative || may_be_pointer(word);
  }

  // Whether the word points to an object with room for the type that the field points to.
  [[nodiscard]] bool confirms(std::uint64_t word, const PointerWord* field) const {
    if (field == nullptr || field->kind != WordKind::Pointer) return false;
    const auto to = heap_.object_at(word);
    if (!to) return false;
    const types::TypeRef target =
        field->type == types::kNoType ? types::kNoType : model_[field->type].target;
    const std::uint64_t needed = target == types::kNoType ? 0 : bytes_of(model_, target);
    return heap_.blocks()[to->block].object_bytes >= needed;
  }

  const heap::Heap& heap_;
  const types::TypeModel& model_;
  Candidate& candidate_;
};

// Whether enough objects fit. A few texts and buffers of the same size may be among them.
bool is_likely(const Candidate& candidate) {
  return candidate.seen > 0 && candidate.fitting >= candidate.seen - candidate.seen / 20 &&
         candidate.confirmed >= (candidate.seen + 1) / 2;
}

// Whether the heap rounds sizes as usable_size_for() does. In a heap that has exact sizes, or
// rounds them in another way, a text would be taken for the struct of the next size. Not even glibc
// rounds the sizes of mapped chunks in this way, but these are few.
bool rounds_sizes(const heap::Heap& heap) {
  constexpr std::uint64_t kOneIn = 100;
  std::uint64_t seen = 0;
  std::uint64_t others = 0;
  for (std::uint32_t i = 0; i < heap.blocks().size(); ++i) {
    const std::uint64_t bytes = heap.blocks()[i].object_bytes;
    if (!heap.is_chunk(i) || bytes > kLargest) continue;
    ++seen;
    others += usable_size_for(bytes) != bytes;
  }
  return others <= seen / kOneIn;
}

bool has_sizes_for_names(const Snapshot& snapshot) {
  return std::any_of(snapshot.heaps.begin(), snapshot.heaps.end(),
                     [](const Heap& heap) { return heap.kind().is_named_by_size; });
}

}  // namespace

std::uint64_t usable_size_for(std::uint64_t bytes) {
  constexpr std::uint64_t kHeader = 8;
  constexpr std::uint64_t kSmallest = 32;  // the size of the smallest chunk, with its header
  constexpr std::uint64_t kStep = 16;
  const std::uint64_t chunk = (bytes + kHeader + kStep - 1) / kStep * kStep;
  return std::max(chunk, kSmallest) - kHeader;
}

SizeGuesses guess_by_size(const JoinSources& from, const Snapshot& snapshot) {
  if (from.rows.model().empty() || !has_sizes_for_names(snapshot) || !rounds_sizes(from.heap)) {
    return {};
  }
  Candidates candidates = candidates_of(from.rows.model());
  add_siblings(from, candidates);
  if (candidates.empty()) return {};
  const auto blocks = static_cast<std::uint32_t>(from.heap.blocks().size());
  heap::for_each_object(from.heap, from.order.listed(), 0, blocks, [&](heap::ObjectRef ref) {
    if (!from.heap.is_chunk(ref.block)) return;
    const auto found = candidates.find(from.heap.blocks()[ref.block].object_bytes);
    if (found == candidates.end() || found->second.seen == kLooks) return;
    if (Naming::is_unknown(from.typing.row_of(ref))) Look(from, found->second).at(ref);
  });
  SizeGuesses guesses;
  for (const auto& [size, candidate] : candidates) {
    if (is_likely(candidate)) guesses[size] = from.rows.shown(candidate.type);
  }
  return guesses;
}

}  // namespace heapattach::snapshot
