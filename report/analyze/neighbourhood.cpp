#include "report/analyze/neighbourhood.h"

#include <limits>
#include <set>
#include <unordered_set>
#include <utility>

#include "report/analyze/find.h"
#include "report/analyze/referrers.h"
#include "report/analyze/roots.h"

namespace heapattach::analyze {

namespace {

using snapshot::ObjectIndex;
using snapshot::Snapshot;

class Search {
 public:
  Search(const Snapshot& snapshot, const NeighbourhoodOptions& options)
      : snapshot_(snapshot),
        roots_(snapshot),
        referrers_({snapshot.first_edge, snapshot.edges, roots_.objects}),
        levels_(options.levels == 0 ? std::numeric_limits<std::size_t>::max() : options.levels),
        most_links_(options.levels == 0 && options.objects == 0
                        ? std::numeric_limits<std::size_t>::max()
                        : kMostLinks) {}

  Neighbourhood run(std::vector<ObjectIndex> objects, std::uint64_t left_out) && {
    found_.left_out_objects = left_out;
    for (const ObjectIndex object : objects) is_shown_.insert(object);
    found_.objects = objects;
    std::uint32_t level = 0;
    for (; level < levels_ && !objects.empty(); ++level) objects = go_back(objects, level);
    for (const ObjectIndex object : objects) {
      if (!referrers_.of(object).empty()) ++found_.open_objects;
    }
    add_roots();
    return std::move(found_);
  }

 private:
  std::vector<ObjectIndex> go_back(const std::vector<ObjectIndex>& from, std::uint32_t level) {
    std::vector<ObjectIndex> next;
    for (const ObjectIndex object : from) {
      for (const analyze::Referrer& referrer : referrers_.of(object)) {
        if (found_.links.size() == most_links_) {
          found_.has_too_many_links = true;
          return {};
        }
        found_.links.push_back({referrer.from, object, referrer.word, level});
        if (is_shown_.insert(referrer.from).second) next.push_back(referrer.from);
      }
    }
    return next;
  }

  void add_roots() {
    std::set<RootInWords> seen;
    for (std::size_t i = 0; i < roots_.objects.size(); ++i) {
      const ObjectIndex object = roots_.objects[i];
      if (!is_shown_.contains(object)) continue;
      if (!seen.insert(same_in_words(snapshot_.roots[roots_.numbers[i]])).second) continue;
      if (found_.roots.size() == most_links_) {
        found_.has_too_many_links = true;
        return;
      }
      found_.roots.push_back({roots_.numbers[i], object});
    }
  }

  const Snapshot& snapshot_;
  RootOrder roots_;
  analyze::Referrers referrers_;
  std::size_t levels_;
  std::size_t most_links_;
  std::unordered_set<ObjectIndex> is_shown_;
  Neighbourhood found_;
};

}  // namespace

Result<Neighbourhood> find_neighbourhood(const Snapshot& snapshot,
                                         const NeighbourhoodOptions& options) {
  std::vector<ObjectIndex> objects;
  if (const auto address = parse_address(options.type)) {
    objects.push_back(HA_TRY(find_object(snapshot, *address)));
  } else {
    objects = HA_TRY(find_objects(snapshot, options.type));
  }
  std::uint64_t left_out = 0;
  if (options.objects != 0 && objects.size() > options.objects) {
    left_out = objects.size() - options.objects;
    objects.resize(options.objects);
  }
  return Search(snapshot, options).run(std::move(objects), left_out);
}

}  // namespace heapattach::analyze
