// OpenMetrics 1.0, which is also Prometheus's text format: what the textfile collector of a node
// exporter reads, a gauge for each number.
//
//   # TYPE heapattach_type_objects gauge
//   # HELP heapattach_type_objects Objects of a type.
//   heapattach_type_objects{pid="4711",type="String",reachable="true"} 2000
//   …
//   # EOF
//
// A sample has no time: the collector refuses those that have one. Labels are UTF-8, with \\, \"
// and \n escaped; names are made safe to show first, so that none has a line end. --all gives a
// type two samples, and `reachable` tells them apart. If there are several heaps, each has gauges
// with the label `heap`, "gc" or "malloc"; the others are the sums.
//
// If the process says which service it is (OpenTelemetry's process context), each sample has the
// labels that identify a service, and `heapattach_resource_info` has all that it says, as in
// OpenTelemetry's rules for Prometheus: names get underscores, but only one at the beginning, since
// two are reserved, and Prometheus then refuses the samples of all processes; and a name that
// another one has then, too, is left out.

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "report/format/write/count_formats.h"
#include "report/text/terminal_text.h"

namespace heapattach {

std::string metric_label(std::string_view text) {
  std::string escaped;
  for (const char letter : terminal_text(text)) {
    if (letter == '\\' || letter == '"') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

namespace {

constexpr std::array<std::string_view, 3> kIdentity{"service.name", "service.namespace",
                                                    "service.instance.id"};

std::string label_name(std::string_view name) {
  std::string label;
  for (const char letter : name) {
    const bool is_digit = letter >= '0' && letter <= '9';
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    if (is_digit && label.empty()) label += '_';
    const char next = is_digit || is_letter ? letter : '_';
    if (next != '_' || label != "_") label += next;
  }
  return label;
}

// The labels that all samples of a process have.
class ProcessLabels {
 public:
  explicit ProcessLabels(const snapshot::CountTable& table)
      : common_(fmt::format("pid=\"{}\"", table.pid)), all_(common_) {
    for (const Attribute& one : table.resource) {
      std::string name = label_name(one.name);
      const std::string text = fmt::format(",{}=\"{}\"", name, metric_label(one.value));
      if (!known_.insert(std::move(name)).second) continue;
      all_ += text;
      if (std::ranges::find(kIdentity, one.name) != kIdentity.end()) common_ += text;
    }
  }

  [[nodiscard]] const std::string& common() const { return common_; }
  [[nodiscard]] const std::string& all() const { return all_; }

 private:
  std::set<std::string> known_{"pid"};
  std::string common_;
  std::string all_;
};

class Exposition {
 public:
  explicit Exposition(const snapshot::CountTable& table) : table_(table), labels_(table) {}

  void add_resource() {
    if (table_.resource.empty()) return;
    begin("resource_info", "1 for a process that says which service it is; its labels say it.");
    text_ += fmt::format("heapattach_resource_info{{{}}} 1\n", labels_.all());
  }

  // Adds one number of the whole heap.
  void add(std::string_view name, std::string_view help, std::uint64_t value) {
    begin(name, help);
    text_ += fmt::format("heapattach_{}{{{}}} {}\n", name, labels_.common(), value);
  }

  // Adds the number of each row in a column; none for a row without a value there.
  void add_rows(const Grid& grid, std::size_t column) {
    const ColumnHead& head = grid.columns[column];
    const std::string name = fmt::format("type_{}", head.key);
    begin(name, head.gauge);
    for (std::size_t i = 0; i < grid.rows; ++i) {
      const CellValue value = grid.value_at(i, column);
      const auto* const number = std::get_if<std::uint64_t>(&value);
      if (number == nullptr) continue;
      const snapshot::CountRow& row = table_.rows[i];
      text_ += fmt::format("heapattach_{}{{{},type=\"{}\",reachable=\"{}\"}} {}\n", name,
                           labels_.common(), metric_label(row.type), row.is_reachable, *number);
    }
  }

  // Adds one number of each heap, if there are several.
  template <typename NumberOf>
  void add_heaps(std::string_view name, std::string_view help, NumberOf number_of) {
    if (table_.heaps.size() < 2) return;
    begin(name, help);
    for (const snapshot::HeapCount& heap : table_.heaps) {
      const std::optional<std::uint64_t> number = number_of(heap);
      if (!number) continue;
      text_ += fmt::format("heapattach_{}{{{},heap=\"{}\"}} {}\n", name, labels_.common(),
                           heap.kind->key, *number);
    }
  }

  std::string end() && { return std::move(text_) + "# EOF\n"; }

 private:
  void begin(std::string_view name, std::string_view help) {
    text_ += fmt::format("# TYPE heapattach_{0} gauge\n", name);
    if (name.ends_with("_bytes")) text_ += fmt::format("# UNIT heapattach_{0} bytes\n", name);
    text_ += fmt::format("# HELP heapattach_{0} {1}\n", name, help);
  }

  const snapshot::CountTable& table_;
  ProcessLabels labels_;
  std::string text_;
};

}  // namespace

std::string format_count_openmetrics(const snapshot::CountTable& table) {
  using Number = std::optional<std::uint64_t>;
  Exposition out(table);
  out.add_resource();
  const Grid grid = count_grid(table);
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    if (!grid.columns[i].gauge.empty()) out.add_rows(grid, i);
  }
  out.add("objects", "Reachable objects.", table.objects);
  out.add("live_bytes", "Bytes of the reachable objects.", table.bytes);
  out.add("unreachable_bytes", "Bytes in use that no reachable object has.",
          table.unreachable_bytes);
  if (table.leaked_bytes) {
    out.add("leaked_bytes", "Bytes of malloc's allocations that nothing references.",
            *table.leaked_bytes);
    out.add("overhead_bytes", "Bytes of malloc's own headers and tables.", *table.overhead_bytes);
  }
  if (table.heap_bytes) out.add("heap_bytes", "Bytes of the heap.", *table.heap_bytes);
  if (table.free_bytes) {
    out.add("free_bytes", "Bytes of the heap in free blocks.", *table.free_bytes);
  }
  using Heap = snapshot::HeapCount;
  out.add_heaps("one_heap_objects", "Reachable objects of one heap.",
                [](const Heap& heap) { return Number(heap.objects); });
  out.add_heaps("one_heap_live_bytes", "Bytes of the reachable objects of one heap.",
                [](const Heap& heap) { return Number(heap.bytes); });
  out.add_heaps("one_heap_unreachable_bytes", "Bytes in use that no reachable object has.",
                [](const Heap& heap) { return Number(heap.unreachable_bytes); });
  out.add_heaps("one_heap_bytes", "Bytes of one heap.",
                [](const Heap& heap) { return heap.heap_bytes; });
  out.add_heaps("one_heap_free_bytes", "Bytes of one heap in free blocks.",
                [](const Heap& heap) { return heap.free_bytes; });
  out.add("complete", "1 if the whole heap was read, 0 if only part of it was read.",
          table.complete ? 1 : 0);
  return std::move(out).end();
}

}  // namespace heapattach
