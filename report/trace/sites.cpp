#include "report/trace/sites.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "report/glob.h"

namespace heapattach::trace {

namespace {

// A row while cells are added to it.
struct Group {
  Amounts amounts;
  std::map<std::uint32_t, double> types;  // bytes by type, if the key does not say it
  std::map<std::uint32_t, double> paths;  // bytes by path, as well
};

std::uint32_t largest_of(const std::map<std::uint32_t, double>& parts) {
  const auto largest = std::max_element(
      parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest->first;
}

// One function or line is one frame; the others show as many as were chosen.
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

class TableMaker {
 public:
  TableMaker(const Trace& trace, const SiteChoice& choice)
      : trace_(trace), choice_(choice), places_(trace, frames_for(choice)) {}

  SiteTable make(std::vector<Cell> cells) && {
    table_.header = trace_.header;
    table_.by = choice_.by;
    table_.is_of_all_types = choice_.types.empty();
    keep_types(cells, trace_, choice_.types);
    for (const Cell& cell : cells) add(cell);
    for (const auto& [key, group] : groups_) table_.rows.push_back(site_of(key, group));
    sort();
    drop();
    return std::move(table_);
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;

  // Whether the key of a row says its type, or its place.
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

  Site site_of(const Key& key, const Group& group) const {
    Site site;
    site.amounts = group.amounts;
    if (choice_.by == GroupBy::Thread) site.name = thread_name(trace_, key.first);
    if (choice_.by == GroupBy::Fiber) site.name = fiber_name(trace_, key.first);
    const std::uint32_t own_type = choice_.by == GroupBy::Stack ? key.second : key.first;
    site.type = type_name(trace_, is_of_one_type() ? own_type : largest_of(group.types));
    if (!is_of_one_type()) site.more_types = group.types.size() - 1;
    const Places::Path path = is_of_one_place() ? key.first : largest_of(group.paths);
    for (const Places::Label label : places_.labels_of(path)) {
      site.frames.push_back(places_.text_of(label));
    }
    if (!is_of_one_place()) site.more_places = group.paths.size() - 1;
    return site;
  }

  // Bytes per second have the order of bytes.
  [[nodiscard]] double rank_of(const Site& site) const {
    if (choice_.sort == SortBy::InUse) return site.amounts.in_use_bytes;
    if (choice_.sort == SortBy::Count) return site.amounts.allocations;
    return site.amounts.bytes;
  }

  void sort() {
    std::sort(table_.rows.begin(), table_.rows.end(), [this](const Site& a, const Site& b) {
      return std::tuple(rank_of(b), b.amounts.bytes, std::tie(a.name, a.type, a.frames)) <
             std::tuple(rank_of(a), a.amounts.bytes, std::tie(b.name, b.type, b.frames));
    });
  }

  void drop() {
    std::size_t kept = 0;
    for (Site& site : table_.rows) {
      const bool is_kept = site.amounts.bytes >= choice_.min_bytes &&
                           site.amounts.allocations >= choice_.min_count &&
                           (!choice_.top || kept < *choice_.top);
      if (is_kept) {
        if (&table_.rows[kept] != &site) table_.rows[kept] = std::move(site);
        ++kept;
      } else {
        table_.left_out += site.amounts;
      }
    }
    table_.left_out_rows = table_.rows.size() - kept;
    table_.rows.resize(kept);
  }

  const Trace& trace_;
  const SiteChoice& choice_;
  Places places_;
  std::map<Key, Group> groups_;
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
           return matches_glob(glob, type);
         });
}

CellParts parts_for(GroupBy by) {
  return {by == GroupBy::Thread, by == GroupBy::Fiber};
}

SiteTable make_site_table(const Trace& trace, const SiteChoice& choice) {
  return make_site_table(trace, choice, count_cells(trace, parts_for(choice.by)));
}

SiteTable make_site_table(const Trace& trace, const SiteChoice& choice, std::vector<Cell> cells) {
  return TableMaker(trace, choice).make(std::move(cells));
}

std::vector<Cell> chosen_cells(const Trace& trace,
                               const std::vector<std::string>& types,
                               const CellParts& parts) {
  std::vector<Cell> cells = count_cells(trace, parts);
  keep_types(cells, trace, types);
  return cells;
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
