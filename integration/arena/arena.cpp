#include "integration/arena/arena.h"

#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "symbols/heap/by_hand.h"

namespace heapattach::arena {

namespace {

// The structures of the program's allocator.
struct Start {
  std::array<char, 16> mark;
  std::uint64_t object_bytes;
  std::uint64_t slots;
};
struct Header {
  std::uint64_t is_used;
  std::uint64_t unused;
};
constexpr std::string_view kMark = "arena of a test";

struct Place {
  RemoteAddr at;
  Start start;
};

std::optional<Place> find_place(const MemoryMap& map, const MemoryReader& memory) {
  for (const Mapping& mapping : map.mappings()) {
    if (!heap::may_hold_allocations(mapping) || !mapping.is_anonymous()) continue;
    const auto start = memory.read_as<Start>(mapping.range.start);
    if (!start || std::string_view(start->mark.data()) != kMark) continue;
    const std::uint64_t slot_bytes = start->object_bytes + sizeof(Header);
    const std::uint64_t room = mapping.range.bytes - sizeof(Start);
    if (start->object_bytes % 16 != 0 || start->slots > room / slot_bytes) continue;
    return Place{mapping.range.start, *start};
  }
  return std::nullopt;
}

class Source final : public heap::Source {
 public:
  [[nodiscard]] const heap::Kind& kind() const override { return kHeapKind; }
  [[nodiscard]] heap::Shape shape() const override { return {.shares_pages = true}; }

  Result<void> read(const heap::Copied& copied,
                    const heap::Taken& /*taken*/,
                    heap::Contents& contents) override {
    const auto found = find_place(copied.map, copied.capture);
    if (!found) return Error{ErrorKind::Unsupported, "there is no arena"};
    const std::uint64_t slot_bytes = found->start.object_bytes + sizeof(Header);
    RemoteAddr at = found->at + sizeof(Start);
    for (std::uint64_t slot = 0; slot < found->start.slots; ++slot, at = at + slot_bytes) {
      const Header header = HA_TRY(copied.capture.read_as<Header>(at));
      if (header.is_used != 0) add_object(at + sizeof(Header), found->start, contents.index);
    }
    const std::uint64_t used = contents.index.blocks.size();
    contents.index.used_bytes = sizeof(Start) + used * slot_bytes;
    contents.index.free_bytes = (found->start.slots - used) * slot_bytes;
    contents.own = {{found->at, contents.index.used_bytes + contents.index.free_bytes}};
    return {};
  }

  heap::LiveSet mark(heap::Heap& heap,
                     const heap::Copied& copied,
                     std::vector<heap::RootRange> roots,
                     unsigned workers) override {
    return heap::find_reachable(heap, copied.capture, std::move(roots), copied.threads, workers);
  }

 private:
  static void add_object(RemoteAddr at, const Start& start, heap::BlockIndex& index) {
    heap::Block& block = index.blocks.emplace_back();
    block.start = at;
    block.object_bytes = start.object_bytes;
    block.descriptor = start.object_bytes;
    block.objects = 1;
    block.flags = heap::kChunk;
  }
};

}  // namespace

Result<std::unique_ptr<heap::Source>> find_heap(const heap::Surroundings& target) {
  if (!find_place(target.map, target.memory)) {
    return Error{ErrorKind::Unsupported, "the process has no arena"};
  }
  return std::unique_ptr<heap::Source>(std::make_unique<Source>());
}

}  // namespace heapattach::arena
