#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "report/collect/memory_account.h"
#include "report/format/write/columns.h"

// The rows and columns of --summary, once for people and for JSON.
namespace heapattach {

// A use of memory, with its row's words and its name in JSON.
struct MemoryUseRow {
  snapshot::MemoryUse use{};
  std::string_view key;
  std::string_view words;
  std::size_t snapshot::MemoryAccount::*count = nullptr;  // null: it is not counted
};
[[nodiscard]] std::span<const MemoryUseRow> memory_uses();

// Borrows both.
[[nodiscard]] Grid memory_grid(const snapshot::MemoryAccount& memory,
                               std::span<const MemoryUseRow> rows);

// Memory with names, under the heading `head`. Borrows all of it.
[[nodiscard]] Grid named_memory_grid(std::span<const snapshot::NamedMemory> rows,
                                     std::string_view head);

// A part of a heap. Without words, people do not see it; without a key, JSON has it not.
struct HeapPart {
  std::uint64_t bytes = 0;
  std::string_view words;
  std::string_view key;
};
// The parts of a heap, in order, without their sum. Borrows the account.
[[nodiscard]] std::vector<HeapPart> parts_of(const snapshot::HeapAccount& heap);

}  // namespace heapattach
