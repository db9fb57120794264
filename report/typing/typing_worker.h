#pragma once

#include <array>
#include <atomic>
#include <span>
#include <tuple>
#include <vector>

#include "report/typing/claim_outbox.h"
#include "report/typing/fit_memo.h"
#include "report/typing/object_order.h"
#include "report/typing/typing_plan.h"
#include "symbols/heap/heap.h"

namespace heapattach::snapshot {

// A variable that makes claims about the objects to which it points.
struct VariableWords {
  std::span<const std::byte> contents;
  TypingPlan::Part says;
};

// What all workers share.
struct TypingWork {
  const heap::Heap& heap;
  const ObjectOrder& order;
  const TypeRows& rows;
  const TypingPlan& plan;
  std::span<const VariableWords> variables;
  bool has_headers = false;  // some cells are already filled, from objects that contain their type
  std::span<std::uint32_t> cells;  // by Heap::number
  TypingRegions& regions;
  std::atomic<std::size_t> next{0};  // the next starting point: variables in groups, then regions
};

// Follows the claims of typed objects; see typing.h. Each thread has one.
class TypingWorker {
 public:
  explicit TypingWorker(TypingWork& work);

  // Runs until no work is left anywhere, or another worker has failed.
  void run();

  [[nodiscard]] std::uint64_t conflicts() const { return conflicts_; }

 private:
  static constexpr std::size_t kAhead = 16;  // objects being prefetched

  // An object to which a pointer points.
  struct Place {
    std::uint64_t number = 0;
    std::uint64_t inside = 0;  // from the object's start
    heap::ObjectRef ref;
    std::uint32_t claim = 0;
  };
  struct TypedObject {
    heap::ObjectRef ref;
    TypeIndex row = 0;
  };
  static constexpr std::size_t kAtATime = std::tuple_size_v<decltype(ClaimChunk::claims)>;

  bool begin_next();
  bool go_to_next_region();
  bool scan_next_part();
  bool take_from_others();
  void share();

  void enter(std::uint32_t region);
  void work_on(std::uint32_t region);
  void begin(std::uint32_t region);
  void settle_all(const ClaimChunk& chunk);
  bool look_up(const FoundClaim& found, Place& place) const;
  void settle(const Place& place);
  void settle_slowly(const Place& place);
  bool improve(std::uint32_t& cell, const Fit& found);
  [[nodiscard]] bool has_pointers(heap::ObjectRef ref) const;
  [[nodiscard]] bool is_zero_from(heap::ObjectRef ref, std::uint64_t offset) const;

  void push_parts(heap::ObjectRef ref, TypeIndex row);
  void fetch(const TypedObject& object) const;
  void scan(const TypedObject& object);
  void scan_part(std::span<const std::byte> contents,
                 const TypingPlan::Part& says,
                 std::uint64_t from,
                 std::uint64_t to);
  void keep(std::uint32_t claim, std::uint64_t word);

  TypingWork& work_;
  FitMemo fits_;
  ClaimOutbox outbox_;
  std::array<Place, kAtATime> places_{};
  std::array<TypedObject, kAtATime> typed_{};
  std::size_t objects_ = 0;  // the number of objects in typed_
  Range source_;             // the object that is being scanned; empty for a variable
  std::vector<LargePart> parts_;
  std::uint64_t conflicts_ = 0;
};

}  // namespace heapattach::snapshot
