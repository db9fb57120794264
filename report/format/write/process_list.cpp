// The processes that can be read, for people:
//
//    pid  resident                 since  runtime  heap  name
//   4711  19456000  2026-11-24T09:30:00Z  crystal    gc  shop
//   next: heapattach diagnose 4711
//
// or as one JSON object on one line, version 1:
//
//   {"version":1,"report":"list","processes":[{"pid":4711,"name":"shop","runtime":"crystal",
//    "heaps":["gc","malloc"],"resident_bytes":19456000,"started":"2026-11-24T09:30:00Z"}],
//    "left_out":3,"not_permitted":12}
//
// The process with the most resident memory is the first. `heaps` has the values of --heap that
// work; it is empty if only reports on stacks and on all memory work, and missing if there was no
// time to look. `runtime` is missing if it is unknown, and `title` unless the process has written
// one over its command line. `left_out` is the number of processes that
// --top left out, and `not_permitted` the number of those that may not be read.

#include "report/format/write/process_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/format/write/columns.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using snapshot::ProcessList;
using snapshot::ReadableProcess;

std::vector<std::string> keys_of(const ReadableProcess& process) {
  std::vector<std::string> keys;
  for (const heap::Kind* const kind : process.heaps) keys.emplace_back(kind->key);
  return keys;
}

std::string shown_heaps(const ReadableProcess& process) {
  if (!process.is_known) return "?";
  return process.heaps.empty() ? "-" : fmt::format("{}", fmt::join(keys_of(process), ","));
}

// What the process calls itself says more than its name.
std::string shown_name(const ReadableProcess& process) {
  constexpr std::size_t kMost = 80;
  if (process.title.empty()) return process.name;
  return process.title.size() > kMost ? process.title.substr(0, kMost) + "…" : process.title;
}

constexpr Column<ProcessList, ReadableProcess> kColumns[] = {
    {{.head = "pid", .key = "pid", .unit = Unit::Digits},
     [](const auto&, const auto& row) { return CellValue(static_cast<std::uint64_t>(row.pid)); }},
    {{.json = "name"}, member<&ReadableProcess::name>},
    {{.json = "title"},
     [](const auto&, const auto& row) {
       return row.title.empty() ? CellValue() : CellValue(row.title);
     }},
    {{.json = "runtime"},
     [](const auto&, const auto& row) {
       return row.runtime.empty() ? CellValue() : CellValue(row.runtime);
     }},
    {{.json = "heaps"},
     [](const auto&, const auto& row) {
       return row.is_known ? CellValue(keys_of(row)) : CellValue();
     }},
    {{.head = "resident", .json = "resident_bytes", .unit = Unit::Bytes},
     member<&ReadableProcess::resident_bytes>},
    {{.head = "since", .json = "started"}, member<&ReadableProcess::started>},
    {{.head = "runtime"},
     [](const auto&, const auto& row) {
       return CellValue(row.runtime.empty() ? "-" : row.runtime);
     }},
    {{.head = "heap"}, [](const auto&, const auto& row) { return CellValue(shown_heaps(row)); }},
    {{.head = "name"},
     [](const auto&, const auto& row) { return CellValue(terminal_text(shown_name(row))); }},
};

}  // namespace

std::string format_processes_table(const ProcessList& list, const TextStyle& style) {
  if (list.processes.empty()) return {};
  std::string out = table_of(grid_of(kColumns, list, list.processes), style);
  if (list.left_out != 0) {
    out += fmt::format("{} more: heapattach list --top 1000\n", list.left_out);
  }
  return out + fmt::format("next: heapattach diagnose {}\n", list.processes.front().pid);
}

std::string format_processes_json(const ProcessList& list) {
  JsonRecord record;
  record.number("version", 1);
  record.text("report", "list");
  add_rows("processes", grid_of(kColumns, list, list.processes), record);
  if (list.left_out != 0) record.number("left_out", list.left_out);
  record.number("not_permitted", list.not_permitted);
  return std::move(record).line();
}

}  // namespace heapattach
