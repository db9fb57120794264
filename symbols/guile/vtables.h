#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols/guile/facts.h"
#include "symbols/runtimes/heap_view.h"

namespace heapattach::guile {

// A struct's description in its vtable.
struct Vtable {
  std::string name;                 // "<session>"; empty if it has none
  std::uint64_t slots = 0;          // of an instance
  std::vector<std::string> fields;  // their names; empty if unknown
  bool makes_vtables = false;       // its instances are themselves vtables
};

// The vtables of a heap's structs, each read once.
class Vtables {
 public:
  // Borrows both.
  Vtables(const Facts& facts, const runtimes::HeapView& view) : facts_(facts), view_(view) {}

  // The vtable that the first word of a struct points to; null if it is not one.
  [[nodiscard]] const Vtable* of(std::uint64_t first_word);

 private:
  [[nodiscard]] std::optional<Vtable> read(std::uint64_t cell) const;
  [[nodiscard]] std::optional<std::uint64_t> cell_of_vtable(std::uint64_t first_word) const;
  [[nodiscard]] std::optional<std::uint64_t> slots_of_instances(std::uint64_t cell) const;
  [[nodiscard]] std::optional<std::uint64_t> slot(std::uint64_t cell, std::uint64_t index) const;
  [[nodiscard]] std::vector<std::string> fields_of(std::uint64_t cell,
                                                   std::uint64_t own_slots,
                                                   std::uint64_t fields) const;

  const Facts& facts_;
  const runtimes::HeapView& view_;
  std::unordered_map<std::uint64_t, std::optional<Vtable>> known_;  // by first word
};

}  // namespace heapattach::guile
