#include "report/trace/sites.h"

#include <algorithm>
#include <compare>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "report/trace/trace_words.h"
#include "report/type_names.h"

namespace heapattach::trace {

namespace {

using Clock = std::chrono::steady_clock;

// A row while cells are added to it.
struct Group {
  Amounts amounts;
  std::map<std::uint32_t, double> types;  // bytes by type, unless the key contains it
  std::map<std::uint32_t, double> paths;  // bytes by path, unless the key contains it
};

std::uint32_t largest_of(const std::map<std::uint32_t, double>& parts) {
  const auto largest = std::max_element(
      parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest->first;
}

// A row for a function or a line has one frame; other rows have as many as were chosen.
FrameChoice frames_for(const SiteChoice& choice) {
  FrameChoice frames = choice.frames;
  if (choice.by == GroupBy::Function || choice.by == GroupBy::Line) {
    frames.text = choice.by == GroupBy::Line ? FrameText::Full : FrameText::Name;
    frames.depth = 1;
  }
  return frames;
}

void keep_types(std::vector<Cell>& cells,
                const Trace& trace,
                const std::vector<std::string>& types) {
  if (types.empty()) return;
  std::erase_if(cells,
                [&](const Cell& cell) { return !is_chosen(type_name(trace, cell.type), types); });
}

// Half of the remaining time is for reading the events.
Clock::time_point end_of_counting(const Deadline& deadline) {
  if (deadline.at == Clock::time_point::max()) return deadline.at;
  return deadline.at - std::max<Clock::duration>(deadline.at - Clock::now(), {}) / 2;
}

class TableMaker {
 public:
  TableMaker(const Trace& trace, const SiteChoice& choice, const Deadline& deadline)
      : trace_(trace), choice_(choice), deadline_(deadline), places_(trace, frames_for(choice)) {}

  SiteTable make(CountedCells counted) && {
    table_.header = trace_.header;
    table_.by = choice_.by;
    table_.is_of_all_types = choice_.types.empty();
    table_.is_cut = counted.is_cut;
    keep_types(counted.cells, trace_, choice_.types);
    for (const Cell& cell : counted.cells) {
      if (has_no_time()) break;
      add(cell);
    }
    for (const auto& [key, group] : groups_) rows_.push_back(row_of(key, group));
    sort();
    put_rows();
    if (table_.is_cut) note_cut();
    return std::move(table_);
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;

  // There may be very many rows with very many frames, so texts are made only for the rows that are
  // shown.
  struct Row {
    const Group* group = nullptr;
    std::uint32_t type = kNone;  // the one with the most bytes
    Places::Path path = 0;       // the path with the most bytes
    std::string name;
  };

  // Looks at the clock now and then.
  bool has_no_time() {
    constexpr std::size_t kBetweenLooks = 256;
    if (++steps_ % kBetweenLooks == 0 && deadline_.has_passed()) table_.is_cut = true;
    return table_.is_cut && deadline_.has_passed();
  }

  // Whether a row's key contains its type or its place.
  [[nodiscard]] bool is_of_one_type() const {
    return choice_.by == GroupBy::Stack || choice_.by == GroupBy::Type;
  }
  [[nodiscard]] bool is_of_one_place() const {
    return choice_.by == GroupBy::Stack || choice_.by == GroupBy::Function ||
           choice_.by == GroupBy::Line;
  }

  Key key_of(const Cell& cell, Places::Path path) const {
    switch (choice_.by) {
      case GroupBy::Stack: return {path, cell.type};
      case GroupBy::Function:
      case GroupBy::Line: return {path, kNone};
      case GroupBy::Type: return {cell.type, kNone};
      case GroupBy::Thread: return {cell.thread, kNone};
      case GroupBy::Fiber: break;
    }
    return {cell.fiber, kNone};
  }

  void add(const Cell& cell) {
    const Places::Path path = places_.path_of(cell.stack);
    Group& group = groups_[key_of(cell, path)];
    group.amounts += cell.amounts;
    if (!is_of_one_type()) group.types[cell.type] += cell.amounts.bytes;
    if (!is_of_one_place()) group.paths[path] += cell.amounts.bytes;
    table_.total += cell.amounts;
  }

  Row row_of(const Key& key, const Group& group) const {
    Row row;
    row.group = &group;
    const std::uint32_t own_type = choice_.by == GroupBy::Stack ? key.second : key.first;
    row.type = is_of_one_type() ? own_type : largest_of(group.types);
    row.path = is_of_one_place() ? key.first : largest_of(group.paths);
    if (choice_.by == GroupBy::Thread) row.name = thread_name(trace_, key.first);
    if (choice_.by == GroupBy::Fiber) row.name = fiber_name(trace_, key.first);
    return row;
  }

  Site site_of(Row& row) const {
    Site site;
    site.amounts = row.group->amounts;
    site.name = std::move(row.name);
    site.type = type_name(trace_, row.type);
    if (!is_of_one_type()) site.more_types = row.group->types.size() - 1;
    for (const Places::Label label : places_.labels_of(row.path)) {
      site.frames.push_back(places_.text_of(label));
    }
    if (!is_of_one_place()) site.more_places = row.group->paths.size() - 1;
    return site;
  }

  // Bytes per second have the same order as bytes.
  [[nodiscard]] double rank_of(const Row& row) const {
    const Amounts& amounts = row.group->amounts;
    if (choice_.sort == SortBy::InUse) return amounts.in_use_bytes;
    if (choice_.sort == SortBy::Count) return amounts.allocations;
    return amounts.bytes;
  }

  [[nodiscard]] bool has_first_place(const Row& a, const Row& b) const {
    return std::ranges::lexicographical_compare(
        places_.labels_of(a.path), places_.labels_of(b.path), {},
        [this](Places::Label label) -> const std::string& { return places_.text_of(label); },
        [this](Places::Label label) -> const std::string& { return places_.text_of(label); });
  }

  void sort() {
    std::sort(rows_.begin(), rows_.end(), [this](const Row& a, const Row& b) {
      const auto order = std::tuple(rank_of(b), b.group->amounts.bytes) <=>
                         std::tuple(rank_of(a), a.group->amounts.bytes);
      if (order != 0) return order < 0;
      const auto words = std::tuple(std::string_view(a.name), type_name(trace_, a.type)) <=>
                         std::tuple(std::string_view(b.name), type_name(trace_, b.type));
      return words != 0 ? words < 0 : has_first_place(a, b);
    });
  }

  void put_rows() {
    for (Row& row : rows_) {
      const Amounts& amounts = row.group->amounts;
      const bool is_shown = amounts.bytes >= choice_.min_bytes &&
                            amounts.allocations >= choice_.min_count &&
                            (!choice_.top || table_.rows.size() < *choice_.top);
      if (is_shown && !has_no_time()) {
        table_.rows.push_back(site_of(row));
      } else {
        table_.left_out += amounts;
        ++table_.left_out_rows;
      }
    }
  }

  void note_cut() {
    std::string& reason = table_.header.reason;
    reason += fmt::format("{}{}", reason.empty() ? "" : "; ", kTableCut);
    table_.header.complete = false;
  }

  const Trace& trace_;
  const SiteChoice& choice_;
  const Deadline& deadline_;
  Places places_;
  std::map<Key, Group> groups_;
  std::vector<Row> rows_;
  std::size_t steps_ = 0;
  SiteTable table_;
};

}  // namespace

std::string_view name_of(Value value) {
  switch (value) {
    case Value::AllocSpace: return "alloc_space";
    case Value::AllocObjects: return "alloc_objects";
    case Value::InuseSpace: return "inuse_space";
    case Value::InuseObjects: break;
  }
  return "inuse_objects";
}

double amount_of(const Amounts& amounts, Value value) {
  switch (value) {
    case Value::AllocSpace: return amounts.bytes;
    case Value::AllocObjects: return amounts.allocations;
    case Value::InuseSpace: return amounts.in_use_bytes;
    case Value::InuseObjects: break;
  }
  return amounts.in_use_objects;
}

double SiteTable::per_second(double amount) const {
  return header.duration_ns == 0 ? 0 : amount * 1e9 / static_cast<double>(header.duration_ns);
}

std::optional<std::uint64_t> SiteTable::collectors_bytes() const {
  if (!header.gc_bytes_at_start || !header.gc_bytes_at_end) return std::nullopt;
  if (*header.gc_bytes_at_end < *header.gc_bytes_at_start) return std::nullopt;
  return *header.gc_bytes_at_end - *header.gc_bytes_at_start;
}

bool is_chosen(std::string_view type, const std::vector<std::string>& types) {
  return types.empty() || std::any_of(types.begin(), types.end(), [&](const std::string& glob) {
           return matches_type(glob, type);
         });
}

CellParts parts_for(GroupBy by) {
  return {by == GroupBy::Thread, by == GroupBy::Fiber};
}

SiteTable make_site_table(const Trace& trace, const SiteChoice& choice, const Deadline& deadline) {
  CountedCells counted = count_cells(trace, parts_for(choice.by), end_of_counting(deadline));
  return make_site_table(trace, choice, std::move(counted), deadline);
}

SiteTable make_site_table(const Trace& trace,
                          const SiteChoice& choice,
                          CountedCells counted,
                          const Deadline& deadline) {
  return TableMaker(trace, choice, deadline).make(std::move(counted));
}

Result<std::vector<Cell>> chosen_cells(const Trace& trace,
                                       const std::vector<std::string>& types,
                                       const Deadline& deadline,
                                       const CellParts& parts) {
  CountedCells counted = count_cells(trace, parts, deadline.at);
  if (counted.is_cut) HA_TRY(deadline.check("counting the samples"));
  keep_types(counted.cells, trace, types);
  return std::move(counted.cells);
}

std::string_view type_name(const Trace& trace, std::uint32_t type) {
  return type == kNone ? std::string_view("(unknown)") : trace.types[type].name;
}

std::string thread_name(const Trace& trace, std::uint32_t thread) {
  if (thread == kNone) return "(unknown)";
  const Thread& found = trace.threads[thread];
  return fmt::format("thread {}{}{}", found.tid, found.name.empty() ? "" : " ", found.name);
}

std::string fiber_name(const Trace& trace, std::uint32_t fiber) {
  if (fiber == kNone) return "(unknown)";
  const Fiber& found = trace.fibers[fiber];
  return fmt::format("fiber {}{}{:#x}", found.name, found.name.empty() ? "" : " ", found.address);
}

}  // namespace heapattach::trace
