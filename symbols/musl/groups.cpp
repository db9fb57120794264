#include "symbols/musl/groups.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

namespace heapattach::musl {

namespace {

using glibc::Words;

constexpr std::uint64_t kPage = 4096;  // musl's own unit for mappings, on every machine
constexpr std::uint64_t kClassless = 63;
constexpr std::uint64_t kMostSlots = 32;  // of a group
constexpr std::uint64_t kMostMapped = std::uint64_t{1} << 47;

// The sizes of slots, in units.
constexpr std::array<std::uint16_t, kClasses> kSizes{
    1,   2,   3,   4,    5,    6,    7,    8,    9,    10,   12,   15,   18,   20,   25,   31,
    36,  42,  50,  63,   72,   84,   102,  127,  146,  170,  204,  255,  292,  340,  409,  511,
    584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191};

struct Meta {
  std::uint64_t previous;
  std::uint64_t next;
  std::uint64_t group;
  std::uint32_t available;
  std::uint32_t freed;
  std::uint64_t numbers;

  [[nodiscard]] unsigned last() const { return numbers & 31; }
  [[nodiscard]] bool may_be_freed() const { return (numbers >> 5 & 1) != 0; }
  [[nodiscard]] std::uint64_t size_class() const { return numbers >> 6 & 63; }
  [[nodiscard]] std::uint64_t pages() const { return numbers >> 12; }
};

struct Area {
  std::uint64_t secret;
  std::uint64_t next;
  std::uint32_t metas;
  std::uint32_t unused;
};
constexpr std::uint64_t kMostMetas = (kPage - sizeof(Area)) / sizeof(Meta);

// Whether the group's slots fit into its mapping.
bool measure(const Meta& meta, Group& group) {
  const std::uint64_t pages = meta.pages();
  if (pages > kMostMapped / kPage || group.at.value > kMostMapped) return false;
  if (group.at.value % (group.is_mapped ? kPage : kUnit) != 0) return false;
  if (group.is_mapped && group.slots == 1) {
    group.bytes = pages * kPage;
    group.stride = group.bytes - kUnit;
    return true;
  }
  group.stride = kUnit * kSizes.at(meta.size_class());
  const std::uint64_t bytes = kUnit + group.stride * group.slots;
  group.bytes = group.is_mapped ? pages * kPage : bytes;
  return bytes <= group.bytes;
}

// The slots of the group that a meta describes, and which of them are in use.
Group group_of(RemoteAddr at, const Meta& meta) {
  Group group{.meta = at, .at = RemoteAddr{meta.group}};
  group.slots = meta.last() + 1;
  const std::uint32_t all = (std::uint32_t{2} << meta.last()) - 1;
  group.in_use = all & ~(meta.available | meta.freed);
  group.is_mapped = meta.pages() != 0;
  group.is_nested = !group.is_mapped && meta.may_be_freed();
  return group;
}

// Whether its size class is one that it may have.
bool has_size_class(const Meta& meta, const Group& group) {
  const bool is_classless = meta.size_class() == kClassless && group.slots == 1 && group.is_mapped;
  return meta.size_class() < kClasses || is_classless;
}

class Walk {
 public:
  Walk(const Words& words, const Context& context, std::size_t threads, Groups& result)
      : words_(words), context_(context), threads_(threads), result_(result) {}

  void run() {
    std::unordered_set<std::uint64_t> seen;
    RemoteAddr at = context_.first_area;
    for (;;) {
      const Area area = words_.small_at<Area>(at);
      const bool is_area = at.value % kPage == 0 && area.secret == context_.secret &&
                           area.metas <= kMostMetas && seen.insert(at.value).second;
      if (!is_area) return problem("the list of its areas is broken at {:#x}", at);
      result_.areas.push_back({at, kPage});
      const bool is_last = at == context_.last_area;
      read_metas(at, area, is_last);
      if (is_last) break;
      at = RemoteAddr{area.next};
    }
    report_misfits();
    check_account();
  }

 private:
  void problem(std::string_view words, RemoteAddr at) {
    result_.problems.push_back(fmt::format(fmt::runtime(words), at.value));
  }

  void read_metas(RemoteAddr area, const Area& header, bool is_last) {
    std::uint64_t metas = header.metas;
    if (is_last) {
      metas -= std::min(metas, context_.unused);
      if (area + sizeof header + metas * sizeof(Meta) != context_.unused_metas) {
        problem("the end of its last area is not at {:#x}", context_.unused_metas);
      }
    }
    for (std::uint64_t i = 0; i < metas; ++i) {
      const RemoteAddr at = area + sizeof header + i * sizeof(Meta);
      const Meta meta = words_.small_at<Meta>(at);
      if (meta.group == 0) {
        ++free_metas_;
      } else {
        read_group(at, meta);
      }
    }
  }

  // A thread that makes a group has the lock, and often waits for the group's first page. Then the
  // meta is in no list yet, and the group does not reference it. The same is true for a moment when
  // a nested group is freed.
  [[nodiscard]] bool is_in_change(const Meta& meta) const {
    const bool is_unlisted = meta.previous == 0 && meta.next == 0;
    const bool is_unused = meta.numbers == 0 || (meta.available | meta.freed) != 0;
    return is_unlisted && is_unused && words_.at(RemoteAddr{meta.group}) == 0;
  }

  void read_group(RemoteAddr at, const Meta& meta) {
    if (groups_in_change_ == 0 && is_in_change(meta)) {
      ++groups_in_change_;
      return;
    }
    const std::uint64_t size_class = meta.size_class();
    Group group = group_of(at, meta);
    const std::uint32_t all = (std::uint32_t{2} << meta.last()) - 1;
    const bool fits = has_size_class(meta, group) && ((meta.available | meta.freed) & ~all) == 0 &&
                      (meta.available & meta.freed) == 0 && measure(meta, group) &&
                      words_.at(group.at) == at.value && words_.has(group.end() - 8);
    if (!fits) {
      if (misfits_++ == 0) first_misfit_ = group.at;
      return;
    }
    if (size_class < kClasses && meta.may_be_freed()) slots_.at(size_class) += group.slots;
    result_.all.push_back(group);
  }

  void report_misfits() {
    if (misfits_ == 0) return;
    result_.problems.push_back(fmt::format("{} of its groups do not fit, the first at {:#x}",
                                           misfits_, first_misfit_.value));
  }

  // Each thread may have taken a meta that is in no list yet. The slots of a group that is being
  // made may be counted.
  void check_account() {
    std::uint64_t groups_in_change = groups_in_change_;
    std::uint64_t listed = 0;
    RemoteAddr at = context_.free_metas;
    while (at.value != 0 && listed <= free_metas_) {
      ++listed;
      at = RemoteAddr{words_.small_at<Meta>(at).next};
      if (at == context_.free_metas) break;
    }
    if (std::max(listed, free_metas_) - std::min(listed, free_metas_) > threads_) {
      result_.problems.push_back(
          fmt::format("it lists {} free metas, and {} were found", listed, free_metas_));
    }
    for (unsigned i = 0; i < kClasses; ++i) {
      const std::uint64_t more = context_.slots[i] - slots_[i];
      if (more == 0) continue;
      if (more <= kMostSlots && groups_in_change > 0) {
        --groups_in_change;
        continue;
      }
      result_.problems.push_back(fmt::format("it counts {} slots of {} bytes, and {} were found",
                                             context_.slots[i], kSizes[i] * kUnit, slots_[i]));
    }
  }

  const Words& words_;
  const Context& context_;
  std::size_t threads_;
  Groups& result_;
  std::array<std::uint64_t, kClasses> slots_{};  // found, by size class
  std::uint64_t free_metas_ = 0;
  std::uint64_t groups_in_change_ = 0;
  std::uint64_t misfits_ = 0;
  RemoteAddr first_misfit_;
};

// Marks the slot of `outer` that holds `inner`. False if there is no such slot.
bool nest(const Group& inner, Group& outer) {
  if (inner.at < outer.slot(0)) return false;
  const std::uint64_t slot = (inner.at - outer.slot(0)) / outer.stride;
  if (slot >= outer.slots || inner.end() > outer.slot(slot + 1)) return false;
  const std::uint32_t bit = std::uint32_t{1} << slot;
  if ((outer.in_use & bit) == 0 || (outer.nested & bit) != 0) return false;
  outer.nested |= bit;
  return true;
}

// Puts each nested group after the one around it, and drops groups that overlap.
void arrange(Groups& groups) {
  std::sort(groups.all.begin(), groups.all.end(), [](const Group& a, const Group& b) {
    return a.at != b.at ? a.at < b.at : a.bytes > b.bytes;
  });
  std::vector<Group> kept;
  std::vector<std::size_t> around;  // the groups in which the next one may be nested
  std::size_t dropped = 0;
  RemoteAddr first;
  for (const Group& group : groups.all) {
    while (!around.empty() && kept[around.back()].end() <= group.at) around.pop_back();
    const bool fits =
        around.empty() ? !group.is_nested : group.is_nested && nest(group, kept[around.back()]);
    if (!fits) {
      if (dropped++ == 0) first = group.at;
      continue;
    }
    around.push_back(kept.size());
    kept.push_back(group);
  }
  groups.all = std::move(kept);
  if (dropped == 0) return;
  groups.problems.push_back(
      fmt::format("{} of its groups overlap, the first at {:#x}", dropped, first.value));
}

// The four bytes before an allocation, and the four bytes before those.
struct Header {
  std::uint32_t long_distance;
  std::uint8_t has_long_distance;
  std::uint8_t numbers;
  std::uint16_t distance;

  [[nodiscard]] unsigned slot() const { return numbers & 31; }
  [[nodiscard]] unsigned unused() const { return numbers >> 5; }
  // Whether the header gives this distance from the group's first slot, in units.
  [[nodiscard]] bool says(std::uint64_t units) const {
    if (has_long_distance == 0) return distance == units;
    return distance == 0 && long_distance == units;
  }
};

constexpr std::uint64_t kDistances = 1 << 16;
constexpr unsigned kUnusedInFooter = 5;
constexpr std::uint8_t kBeginsLater = 7 << 5;

// The bytes at the end of a slot that the program did not ask for; none if they do not fit.
std::optional<std::uint64_t> unused_bytes(const Words& words,
                                          const Header& header,
                                          RemoteAddr end,
                                          std::uint64_t room) {
  std::uint64_t unused = header.unused();
  if (unused == kUnusedInFooter) {
    unused = words.small_at<std::uint32_t>(end - 4);
    if (unused < kUnusedInFooter) return std::nullopt;
  }
  if (unused > room) return std::nullopt;
  return unused;
}

}  // namespace

Groups walk_groups(const Words& words, const std::vector<Context>& contexts, std::size_t threads) {
  Groups found;
  for (const Context& context : contexts) Walk(words, context, threads, found).run();
  arrange(found);
  return found;
}

std::optional<Allocation> read_slot(const Words& words, const Group& group, unsigned slot) {
  constexpr std::uint64_t kHeader = 8;
  constexpr std::uint64_t kEndBytes = 4;
  const RemoteAddr start = group.slot(slot);
  const RemoteAddr end = start + group.stride - kEndBytes;
  RemoteAddr at = start;
  const auto first = words.small_at<Header>(start - kHeader);
  const bool begins_later = first.numbers == kBeginsLater;
  if (begins_later) at = start + first.distance * kUnit;
  // With a large alignment, the distance does not fit into 16 bits.
  const std::uint64_t step = begins_later && group.slots == 1 ? kDistances * kUnit : group.stride;
  for (; at < end; at = at + step) {
    const auto header = words.small_at<Header>(at - kHeader);
    const bool is_header = header.slot() == slot && header.unused() <= kUnusedInFooter &&
                           header.says((at - group.slot(0)) / kUnit);
    if (!is_header) continue;
    const std::uint64_t room = end - at;
    const auto unused = unused_bytes(words, header, end, room);
    return Allocation{at, room - unused.value_or(0), !unused};
  }
  return std::nullopt;
}

std::optional<Allocation> allocation_at(const Words& words, const Context& context, RemoteAddr at) {
  if (at.value % kUnit != 0) return std::nullopt;
  const auto header = words.small_at<Header>(at - sizeof(Header));
  const std::uint64_t units =
      header.has_long_distance != 0 ? header.long_distance : header.distance;
  const RemoteAddr start = at - (units + 1) * kUnit;
  const RemoteAddr described{words.at_or_zero(start)};
  const RemoteAddr area{described.value & ~(kPage - 1)};
  if (words.at(area) != context.secret) return std::nullopt;
  const Meta meta = words.small_at<Meta>(described);
  Group group = group_of(described, meta);
  const bool is_group = group.at == start && has_size_class(meta, group) && measure(meta, group);
  const bool is_in_use = header.slot() < group.slots && (group.in_use >> header.slot() & 1) != 0;
  if (!is_group || !is_in_use) return std::nullopt;
  const auto found = read_slot(words, group, header.slot());
  return found && found->at == at ? found : std::nullopt;
}

}  // namespace heapattach::musl
