// An object is large if it retains at least the threshold. Large objects form the upper part of the
// dominator tree; at most live bytes / threshold of them are leaves of that part. An object gathers
// the bytes that it retains, except those that its large children retain. So the holder of one
// large object gathers little, and the buffer of a cache gathers much.
//
// The links of a long list are all large until near its end. Each is the only large child of the
// one before, and none gathers anything. Chains of only children are therefore examined as a whole:
// if the links of one type together gather the threshold, they are a list, which begins at its
// first link.

#include "report/analyze/accumulation.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace heapattach::analyze {

namespace {

using snapshot::TypeIndex;

constexpr std::uint64_t kFewestLinks = 8;  // fewer links are a structure, not a list

class Finder {
 public:
  Finder(const Dominators& dominators,
         std::span<const std::uint64_t> retained,
         std::span<const TypeIndex> types,
         std::uint64_t threshold)
      : dominators_(dominators), retained_(retained), types_(types), threshold_(threshold) {}

  std::vector<Accumulation> run() && {
    count_large_children();
    for (const ObjectIndex object : dominators_.order) {
      if (is_large(object) && begins_chain(object)) look_at_chain(object);
    }
    add_small_links();
    std::sort(found_.begin(), found_.end(), [](const Accumulation& a, const Accumulation& b) {
      return a.gathered != b.gathered ? a.gathered > b.gathered : a.object < b.object;
    });
    return std::move(found_);
  }

 private:
  struct Large {
    ObjectIndex child = kNone;   // one of its large children
    std::uint32_t children = 0;  // the number of its large children
    std::uint64_t bytes = 0;     // that the large children retain
  };

  struct End {
    ObjectIndex link = kNone;  // the last link that has been counted
    TypeIndex type = 0;
    std::size_t list = 0;                       // in `found_`
    std::unordered_set<ObjectIndex> between{};  // what the link dominates of other types
  };

  [[nodiscard]] bool is_large(ObjectIndex object) const { return retained_[object] >= threshold_; }

  void count_large_children() {
    large_.assign(retained_.size(), Large{});
    for (const ObjectIndex object : dominators_.order) {
      const ObjectIndex by = dominators_.of[object];
      if (!is_large(object) || by == kNone) continue;
      Large& above = large_[by];
      above.child = object;
      ++above.children;
      above.bytes += retained_[object];
    }
  }

  [[nodiscard]] bool begins_chain(ObjectIndex object) const {
    const ObjectIndex by = dominators_.of[object];
    return by == kNone || large_[by].children != 1;
  }

  [[nodiscard]] std::uint64_t gathered_at(ObjectIndex object) const {
    return retained_[object] - large_[object].bytes;
  }

  void look_at_chain(ObjectIndex first) {
    std::map<TypeIndex, Accumulation> lists;  // what each type gathers, from its first link on
    std::vector<ObjectIndex> chain;
    for (ObjectIndex at = first;; at = large_[at].child) {
      chain.push_back(at);
      Accumulation& list = lists.try_emplace(types_[at], Accumulation{at, 0, 0}).first->second;
      list.gathered += gathered_at(at);
      ++list.links;
      if (large_[at].children != 1) break;
    }
    drop_small(lists);
    for (const auto& entry : lists) {
      const auto last = std::find_if(chain.rbegin(), chain.rend(),
                                     [&](ObjectIndex link) { return types_[link] == entry.first; });
      ends_.push_back({*last, entry.first, found_.size(), {}});
      found_.push_back(entry.second);
    }
    for (const ObjectIndex at : chain) {
      const std::uint64_t gathered = gathered_at(at);
      const bool is_listed = lists.contains(types_[at]);
      if (gathered >= threshold_ && !is_listed) found_.push_back({at, gathered, 1});
    }
  }

  // Adds the last links of each list: they retain little, because few links come after them, but
  // belong to the list. One object of another type may be between two links. In `order`, each
  // object comes after its dominator.
  void add_small_links() {
    if (ends_.empty()) return;
    for (const ObjectIndex object : dominators_.order) {
      for (End& end : ends_) add_if_next(object, end);
    }
  }

  void add_if_next(ObjectIndex object, End& end) {
    const ObjectIndex by = dominators_.of[object];
    if (types_[object] != end.type) {
      if (by == end.link) end.between.insert(object);
    } else if (!is_large(object) && (by == end.link || end.between.contains(by))) {
      end.link = object;
      end.between.clear();
      ++found_[end.list].links;
    }
  }

  void drop_small(std::map<TypeIndex, Accumulation>& lists) const {
    std::erase_if(lists, [this](const auto& list) {
      return list.second.links < kFewestLinks || list.second.gathered < threshold_;
    });
  }

  const Dominators& dominators_;
  std::span<const std::uint64_t> retained_;
  std::span<const TypeIndex> types_;
  std::uint64_t threshold_;
  FlatArray<Large> large_;  // by object
  std::vector<End> ends_;   // of the lists
  std::vector<Accumulation> found_;
};

}  // namespace

std::vector<Accumulation> find_accumulations(const Dominators& dominators,
                                             std::span<const std::uint64_t> retained,
                                             std::span<const TypeIndex> types,
                                             std::uint64_t threshold) {
  return Finder(dominators, retained, types, std::max<std::uint64_t>(threshold, 1)).run();
}

}  // namespace heapattach::analyze
