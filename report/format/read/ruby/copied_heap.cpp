#include "report/format/read/ruby/copied_heap.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/format/read/ruby/join.h"
#include "report/format/read/ruby/names.h"
#include "report/format/read/ruby/pieces.h"
#include "report/model/counts.h"
#include "symbols/ruby/kinds.h"

namespace heapattach::ruby {

namespace {

using snapshot::Snapshot;

constexpr std::uint64_t kMostObjects = 0xffffffff;

// Turns the objects into the form in which a dump of them is read.
class Builder {
 public:
  Builder(const HeapCopy& heap, CopiedReferences* references)
      : heap_(heap), references_(references), tables_(pieces_.tables.emplace_back()) {}

  Result<void> add_all(const Deadline& deadline) {
    std::uint64_t looks = 0;
    Result<void> goes_on;
    heap_.for_each([&](const HeapCopy::Object& object) {
      if (looks++ % kBetweenLooks == 0 && goes_on) goes_on = deadline.check("Ruby's references");
      if (goes_on) add(object);
    });
    if (!goes_on || references_ == nullptr || pieces_.all.empty()) return goes_on;
    for (RootGroup& root : references_->roots) {
      pieces_.all.front().roots.push_back({root.name, std::move(root.to)});
    }
    return {};
  }

  RubyPieces& pieces() { return pieces_; }

  // Describes what is unknown, for people; empty if all is known.
  [[nodiscard]] std::string what_is_unknown() const {
    std::vector<std::pair<std::uint64_t, std::string>> rows;
    std::uint64_t objects = 0;
    for (const auto& [kind, count] : in_part_) {
      rows.emplace_back(count, tables_.kinds[kind]);
      objects += count;
    }
    if (objects == 0) return {};
    std::sort(rows.rbegin(), rows.rend());
    std::string text;
    for (std::size_t i = 0; i < std::min(rows.size(), kMostNamed); ++i) {
      text += fmt::format("{}{} {}", i == 0 ? "" : ", ", rows[i].first, rows[i].second);
    }
    if (rows.size() > kMostNamed) text += ", …";
    return fmt::format("references of {} objects are known only in part ({})", objects, text);
  }
  [[nodiscard]] std::uint64_t dangling() const { return dangling_; }

 private:
  static constexpr std::size_t kMostNamed = 4;
  static constexpr std::uint64_t kBetweenLooks = 4096;  // objects
  static constexpr std::size_t kEdgesTogether = std::size_t{1} << 22;

  RubyPiece& piece() {
    if (pieces_.all.empty() || pieces_.all.back().edges.size() > kEdgesTogether) {
      pieces_.all.emplace_back().tables = &tables_;
    }
    return pieces_.all.back();
  }

  void add(const HeapCopy::Object& object) {
    RubyPiece& to = piece();
    const Slot& slot = object.slot;
    const Identity identity = identity_of(slot);
    if (slot.kind() == Kind::Class || slot.kind() == Kind::Module || slot.kind() == Kind::Iclass) {
      add_class(object, to);
    }
    snapshot::Object added{};
    added.address = object.address & ((std::uint64_t{1} << 48) - 1);
    added.is_reachable = 1;
    added.type = tables_.type(identity);
    added.size_class = tables_.sizes.size_class(object.bytes);
    if (references_ != nullptr) add_edges(object, identity, to);
    to.add(added);
  }

  Identity identity_of(const Slot& slot) {
    const Kind kind = slot.kind();
    Identity identity;
    std::string detail;
    if (kind == Kind::Imemo) detail = internal_word(slot, heap_.has_fields());
    if (kind == Kind::Data) detail = heap_.data_name(slot);
    const bool has_class = kind != Kind::Imemo && kind != Kind::Iclass && kind != Kind::Node &&
                           kind != Kind::Zombie && kind != Kind::Moved;
    if (has_class || (kind == Kind::Iclass && references_ != nullptr)) {
      identity.of_class = slot.of_class();
    }
    identity.kind = tables_.kind(dump_word(kind), detail);
    identity.is_singleton = heap_.is_singleton_class(slot);
    return identity;
  }

  void add_class(const HeapCopy::Object& object, RubyPiece& to) {
    auto name = heap_.class_name(object.address);
    const bool is_own =
        object.slot.kind() != Kind::Iclass && !heap_.is_singleton_class(object.slot);
    if (references_ != nullptr && is_own) {
      if (!name) name = references_->reader.class_name(object.address);
      if (name && !name->starts_with('#')) to.add_text(*name);
    }
    if (name) to.classes.push_back({object.address, 0, *name, false, false, false});
  }

  void add_edges(const HeapCopy::Object& object, const Identity& identity, RubyPiece& to) {
    const Extent extent = references_->reader.read(object.address, object.slot, found_);
    if (extent != Extent::Whole) ++in_part_[identity.kind];
    for (const Reference& one : found_) {
      const bool is_object = heap_.has_object(one.to);
      if (!is_object && is_reference(one.to)) ++dangling_;
      if (!is_object && !one.name.empty()) continue;
      const std::uint16_t key = one.name.empty() ? PackedEdge::kElement : key_of(one, object);
      to.edges.push_back({is_object ? one.to & ((std::uint64_t{1} << 48) - 1) : 0, key});
    }
  }

  // A name is that of one reference of an object. Others have none, as the entries of a hash.
  std::uint16_t key_of(const Reference& reference, const HeapCopy::Object& object) {
    const bool is_variable = reference.name.starts_with('@');
    if (object.slot.kind() == Kind::Hash && !is_variable) return PackedEdge::kReference;
    const std::uint16_t key = tables_.key(reference.name);
    if (last_use_.size() <= key) last_use_.resize(key + std::size_t{1});
    if (last_use_[key] == object.address) return PackedEdge::kReference;
    last_use_[key] = object.address;
    return key;
  }

  const HeapCopy& heap_;
  CopiedReferences* references_;
  std::vector<Value> last_use_;  // by key: the object
  RubyPieces pieces_;
  Tables& tables_;
  std::vector<Reference> found_;                    // of one object
  std::map<std::uint32_t, std::uint64_t> in_part_;  // objects, by kind
  std::uint64_t dangling_ = 0;                      // references to something that is not an object
};

std::string what_is_missing(const HeapCopy& heap, const Builder& builder, bool with_edges) {
  std::string text =
      "read from outside, so not collected first: objects that nothing references may be counted; "
      "sizes lack what libraries allocated";
  if (heap.unsized_objects() > 0) {
    text += fmt::format("; sizes of {} objects lack variables that are not in their slots",
                        heap.unsized_objects());
  }
  if (with_edges) {
    const std::string unknown = builder.what_is_unknown();
    if (!unknown.empty()) text += "; " + unknown;
    text += "; roots are words that look like objects";
    if (builder.dangling() > 0) {
      text += fmt::format("; {} references point to something that is not an object",
                          builder.dangling());
    }
  }
  if (heap.is_collecting()) text += "; a collection was running";
  if (heap.misfits() > 0) text += fmt::format("; {} slots could not be decoded", heap.misfits());
  if (heap.unread_bytes() > 0) {
    text += fmt::format("; {} bytes could not be read", heap.unread_bytes());
  }
  return text;
}

}  // namespace

Result<void> add_objects(const HeapCopy& heap,
                         CopiedReferences* references,
                         Snapshot& snapshot,
                         const Deadline& deadline) {
  std::uint64_t count = 0;
  heap.for_each([&](const HeapCopy::Object&) { ++count; });
  if (count >= kMostObjects) {
    return Error{ErrorKind::Unsupported, "more than four billion objects"};
  }
  Builder builder(heap, references);
  HA_TRY(builder.add_all(deadline));
  HA_TRY(deadline.check("Ruby's references"));
  const Names names(builder.pieces());
  const bool with_edges = references != nullptr;
  const Joined joined = join(builder.pieces(), names, with_edges, snapshot);
  if (!joined.wrong.empty()) return Error{ErrorKind::Malformed, "Ruby's heap: " + joined.wrong};
  if (with_edges) snapshot.header.typed = count_objects(snapshot).typed;
  snapshot.complete = false;
  snapshot.skipped = heap.misfits();
  snapshot.reason = what_is_missing(heap, builder, with_edges);
  return {};
}

}  // namespace heapattach::ruby
