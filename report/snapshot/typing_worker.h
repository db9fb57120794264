#pragma once

#include <array>
#include <atomic>
#include <span>
#include <vector>

#include "report/snapshot/claim_fit.h"
#include "report/snapshot/object_order.h"
#include "report/snapshot/type_rows.h"
#include "symbols/boehm/exchange.h"
#include "symbols/boehm/heap.h"

namespace heapattach::snapshot {

// An object whose type is known and says something of others. Of a large object a part, whose
// `slot` is then the part's number.
struct TypedItem {
  std::uint32_t block = 0;
  std::uint32_t slot = 0;
  TypeIndex row = 0;
};

// What workers have too much of and others may take.
using TypedItems = std::vector<TypedItem>;
using TypingExchange = boehm::Exchange<TypedItems>;

// The type of each place for an object: a rank and a row in 32 bits, the better the greater. 0 is
// none.
class TypeCells {
 public:
  static std::uint32_t encode(Rank rank, TypeIndex row) {
    return static_cast<std::uint32_t>(rank) << kRowBits | (kRowMask - row);
  }
  static Rank rank_of(std::uint32_t cell) { return static_cast<Rank>(cell >> kRowBits); }
  static TypeIndex row_of(std::uint32_t cell) { return kRowMask - (cell & kRowMask); }

 private:
  static constexpr unsigned kRowBits = 29;
  static constexpr std::uint32_t kRowMask = (1U << kRowBits) - 1;
};

// Follows the claims of typed objects; see typing.h. One for each thread.
class TypingWorker {
 public:
  struct Shared {
    const boehm::Heap& heap;
    const ObjectOrder& order;
    const TypeRows& rows;
    std::span<std::uint32_t> cells;  // by Heap::number
    TypingExchange& exchange;
    unsigned workers = 1;
  };

  TypingWorker(const Shared& shared, unsigned number) : shared_(shared), number_(number) {}

  // What an object, or a variable's `contents`, says of others, and what follows from it.
  void scan_object(boehm::ObjectRef ref, TypeIndex row);
  void scan_variable(std::span<const std::byte> contents, const Layout& layout);
  // Until there is nothing left, for nobody.
  void finish();

  [[nodiscard]] std::uint64_t conflicts() const { return conflicts_; }

 private:
  static constexpr std::size_t kAhead = 16;  // on their way to the cache; a power of two

  struct Candidate {
    boehm::ObjectRef ref;
    std::uint64_t number = 0;
    std::uint64_t inside = 0;
    const Claim* claim = nullptr;
  };

  void drain();
  void push(boehm::ObjectRef ref, TypeIndex row);
  void share();
  void scan(const TypedItem& item);
  void scan_part(std::span<const std::byte> contents,
                 const Layout& layout,
                 std::uint64_t from,
                 std::uint64_t to);
  void visit(const Claim& claim, std::uint64_t word);
  void settle(const Candidate& candidate);
  bool improve(std::atomic_ref<std::uint32_t> cell, const Fit& found);
  [[nodiscard]] bool is_text_with_pointers(const Fit& found, const Candidate& candidate) const;

  Shared shared_;
  unsigned number_;
  boehm::ObjectRef source_;  // what is scanned, if it is an object
  bool from_object_ = false;
  TypedItems stack_;
  std::array<Candidate, kAhead> candidates_{};
  std::size_t head_ = 0;  // where the next candidate is put; tail_ is where the oldest is
  std::size_t tail_ = 0;
  std::uint64_t conflicts_ = 0;
};

}  // namespace heapattach::snapshot
