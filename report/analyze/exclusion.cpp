#include "report/analyze/exclusion.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/glob.h"
#include "report/type_names.h"

namespace heapattach::analyze {

namespace {

using snapshot::ObjectIndex;

// The exclusions that apply to each type.
std::vector<std::vector<std::size_t>> exclusions_by_type(const snapshot::Snapshot& snapshot,
                                                         const std::vector<Exclusion>& exclusions) {
  std::vector<std::vector<std::size_t>> by_type;
  for (const snapshot::Type& type : snapshot.types) {
    auto& own = by_type.emplace_back();
    for (std::size_t i = 0; i < exclusions.size(); ++i) {
      const std::string& wanted = exclusions[i].type;
      if (matches_type(wanted, type.name)) own.push_back(i);
    }
  }
  return by_type;
}

}  // namespace

Result<Exclusion> parse_exclusion(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const bool is_whole = colon != std::string::npos && colon != 0 && colon + 1 != text.size() &&
                        text[colon - 1] != ':';
  if (!is_whole) {
    return Error{ErrorKind::Malformed,
                 fmt::format("--exclude {}: not TYPE:FIELD, such as 'WeakRef(*):@target'", text)};
  }
  return Exclusion{text.substr(0, colon), text.substr(colon + 1)};
}

RemainingEdges::RemainingEdges(const snapshot::Snapshot& snapshot,
                               const std::vector<Exclusion>& exclusions,
                               EdgeNames& names)
    : snapshot_(snapshot), is_copy_(!exclusions.empty()) {
  if (!is_copy_) return;
  const auto by_type = exclusions_by_type(snapshot, exclusions);
  std::vector<bool> is_used(exclusions.size());
  const auto is_excluded = [&](ObjectIndex from, std::uint32_t word) {
    const auto& own = by_type[snapshot.objects[from].type];
    if (own.empty()) return false;
    const std::string name = names.name(from, word);
    const auto found = std::find_if(own.begin(), own.end(), [&](std::size_t i) {
      return exclusions[i].field == name || matches_glob(exclusions[i].field, name);
    });
    if (found != own.end()) is_used[*found] = true;
    return found != own.end();
  };
  const analyze::Graph all{snapshot.first_edge, snapshot.edges, {}};
  first_edge_.push_back(0);
  for (ObjectIndex object = 0; object < all.size(); ++object) {
    for (const snapshot::Edge& edge : all.from(object)) {
      if (!is_excluded(object, edge.offset_words)) edges_.push_back(edge);
    }
    first_edge_.push_back(edges_.size());
  }
  excluded_ = snapshot.edges.size() - edges_.size();
  for (std::size_t i = 0; i < exclusions.size(); ++i) {
    if (!is_used[i]) unused_.push_back(exclusions[i].type + ':' + exclusions[i].field);
  }
}

analyze::Graph RemainingEdges::graph(const std::vector<ObjectIndex>& roots) const {
  if (is_copy_) return {first_edge_, edges_, roots};
  return {snapshot_.first_edge, snapshot_.edges, roots};
}

}  // namespace heapattach::analyze
