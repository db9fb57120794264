#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/result.h"
#include "report/trace/cells.h"
#include "report/trace/places.h"
#include "report/trace/trace.h"

// Computes the table of a trace: which code allocates what, how fast, and how much of it stays in
// use.
namespace heapattach::trace {

enum class GroupBy : std::uint8_t { Stack, Function, Line, Type, Thread, Fiber };
enum class SortBy : std::uint8_t { Allocated, InUse, Count, Rate };

// Selects one of the four amounts, for formats that have room for only one.
enum class Value : std::uint8_t { AllocSpace, AllocObjects, InuseSpace, InuseObjects };
[[nodiscard]] std::string_view name_of(Value value);
[[nodiscard]] double amount_of(const Amounts& amounts, Value value);

struct SiteChoice {
  GroupBy by = GroupBy::Stack;
  SortBy sort = SortBy::Allocated;
  FrameChoice frames;
  std::vector<std::string> types;  // globs; empty: all
  double min_bytes = 0;            // allocated
  double min_count = 0;            // of allocations
  std::optional<std::size_t> top;
};

struct Site {
  Amounts amounts;
  std::string name = {};                 // name of the thread or fiber; empty for other groups
  std::string type = {};                 // the type with the most bytes
  std::size_t more_types = 0;            // besides it
  std::vector<std::string> frames = {};  // innermost first, of the place with the most bytes
  std::size_t more_places = 0;           // besides it
};

struct SiteTable {
  Header header;
  GroupBy by = GroupBy::Stack;
  Value value = Value::InuseSpace;  // for formats that have room for only one
  std::vector<Site> rows;
  Amounts total;                  // the total of the chosen types, including dropped rows
  std::size_t left_out_rows = 0;  // rows left out because of min_bytes, min_count or top
  Amounts left_out;
  bool is_of_all_types = true;
  bool is_cut = false;  // the time was too short for the whole trace; the header says so, too

  [[nodiscard]] bool is_estimate() const { return header.every > 1; }
  // 0 if the trace has no duration.
  [[nodiscard]] double per_second(double amount) const;
  // The collector's own count of bytes allocated during the trace.
  [[nodiscard]] std::optional<std::uint64_t> collectors_bytes() const;
};

// If the deadline passes, the table has only a part of the trace.
[[nodiscard]] SiteTable make_site_table(const Trace& trace,
                                        const SiteChoice& choice,
                                        const Deadline& deadline = {});
// Makes a table from cells that were counted by at least these parts, without reading the events.
[[nodiscard]] SiteTable make_site_table(const Trace& trace,
                                        const SiteChoice& choice,
                                        CountedCells counted,
                                        const Deadline& deadline = {});
[[nodiscard]] CellParts parts_for(GroupBy by);

// Whether a type matches one of these globs, or there are none.
[[nodiscard]] bool is_chosen(std::string_view type, const std::vector<std::string>& types);

// The cells of the chosen types. Fails with Timeout if the deadline passes.
[[nodiscard]] Result<std::vector<Cell>> chosen_cells(const Trace& trace,
                                                     const std::vector<std::string>& types,
                                                     const Deadline& deadline,
                                                     const CellParts& parts = {});

// "(unknown)" for kNone.
[[nodiscard]] std::string_view type_name(const Trace& trace, std::uint32_t type);
// "thread 4711 worker", "fiber worker 0x7f12a0"; "(unknown)" for kNone.
[[nodiscard]] std::string thread_name(const Trace& trace, std::uint32_t thread);
[[nodiscard]] std::string fiber_name(const Trace& trace, std::uint32_t fiber);

}  // namespace heapattach::trace
