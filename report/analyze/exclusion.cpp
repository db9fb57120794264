#include "report/analyze/exclusion.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/glob.h"

namespace heapattach::analyze {

namespace {

using snapshot::ObjectIndex;

// By type, its excluded fields.
std::vector<std::vector<std::string>> fields_by_type(const snapshot::Snapshot& snapshot,
                                                     const std::vector<Exclusion>& exclusions) {
  std::vector<std::vector<std::string>> fields;
  for (const snapshot::Type& type : snapshot.types) {
    auto& own = fields.emplace_back();
    for (const Exclusion& exclusion : exclusions) {
      const bool is_meant = exclusion.type == type.name || matches_glob(exclusion.type, type.name);
      if (is_meant) own.push_back(exclusion.field);
    }
  }
  return fields;
}

bool is_any_of(const std::vector<std::string>& fields,
               EdgeNames& names,
               ObjectIndex from,
               std::uint32_t word) {
  if (fields.empty()) return false;
  const std::string name = names.name(from, word);
  return std::any_of(fields.begin(), fields.end(), [&](const std::string& field) {
    return field == name || matches_glob(field, name);
  });
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
  const auto fields = fields_by_type(snapshot, exclusions);
  const analyze::Graph all{snapshot.first_edge, snapshot.edges, {}};
  first_edge_.push_back(0);
  for (ObjectIndex object = 0; object < all.size(); ++object) {
    const auto& excluded = fields[snapshot.objects[object].type];
    for (const snapshot::Edge& edge : all.from(object)) {
      if (is_any_of(excluded, names, object, edge.offset_words)) {
        ++excluded_;
      } else {
        edges_.push_back(edge);
      }
    }
    first_edge_.push_back(edges_.size());
  }
}

analyze::Graph RemainingEdges::graph(const std::vector<ObjectIndex>& roots) const {
  if (is_copy_) return {first_edge_, edges_, roots};
  return {snapshot_.first_edge, snapshot_.edges, roots};
}

}  // namespace heapattach::analyze
