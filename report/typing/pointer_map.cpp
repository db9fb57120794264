#include "report/typing/pointer_map.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attach/base/word.h"
#include "report/typing/cxx_containers.h"

namespace heapattach::snapshot {

namespace {

using types::Member;
using types::Shape;
using types::Type;
using types::TypeModel;
using types::TypeRef;

constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;  // no instance is larger
constexpr int kDeepest = 48;
constexpr std::size_t kMostSteps = 65536;

// The position in the instance during flattening, and its surroundings.
struct Place {
  std::uint64_t offset = 0;
  std::string path;
  TypeRef holder = types::kNoType;
  TypeRef container = types::kNoType;
  int depth = 0;
  bool is_named = true;   // whether `path` is known
  bool is_mixed = false;  // in the value of a mixed union, whose members have no names
  bool is_root = true;    // there are only structures around it, each at the end of the outer one
  bool is_base = false;   // it is a base class of the structure around it
  bool is_whole = true;   // the class derived from it gives the offsets of all virtual bases
};

std::string joined(const std::string& path, std::string_view name) {
  if (path.empty()) return std::string(name);
  if (name.empty()) return path;
  return fmt::format("{}{}{}", path, name.front() == '[' ? "" : ".", name);
}

// Whether the type is a union of Crystal with more than references: the tag of the value, and the
// value.
bool is_mixed_union(const Type& type) {
  return type.members.size() == 2 && type.members[0].name == "type_id" &&
         type.members[1].name == "union";
}

// While an active LeafStop lives, no leaves are recorded.
class LeafStop {
 public:
  LeafStop(int& count, bool is_meant) : count_(count), by_(is_meant ? 1 : 0) { count_ += by_; }
  ~LeafStop() { count_ -= by_; }
  LeafStop(const LeafStop&) = delete;
  LeafStop& operator=(const LeafStop&) = delete;

 private:
  int& count_;
  int by_;
};

class Flattening {
 public:
  Flattening(const TypeModel& model, PointerMap& map) : model_(model), map_(map) {}

  void add(TypeRef ref, const Place& at) {
    if (at.depth > kDeepest || at.offset > kLargest || ++steps_ > kMostSteps) stop(at.offset);
    if (is_stopped_ || ref >= model_.types().size()) return;
    const Type& type = model_[ref];
    if (add_peculiar(ref, type, at)) return;
    switch (type.shape) {
      case Shape::Opaque: add_unknown(ref, at); break;
      case Shape::Number:
      case Shape::Enumeration: add_leaf(ref, at); break;
      case Shape::Pointer:
        add_leaf(ref, at);
        add_word(ref, at, type.is_reference ? WordKind::Reference : WordKind::Pointer);
        break;
      case Shape::Code:
        add_leaf(ref, at);
        add_word(types::kNoType, at, WordKind::Conservative);
        break;
      case Shape::Struct: add_struct(ref, type, at); break;
      case Shape::Union: add_union(ref, type, at); break;
      case Shape::Array: add_array(ref, type, at); break;
    }
  }

  void finish() {
    // Two words may have the same offset, because a base's size covers what is inside the base.
    // Prefer the word with a name.
    std::stable_sort(words_.begin(), words_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.offset, !a.is_named) < std::pair(b.offset, !b.is_named);
    });
    const auto repeated =
        std::unique(words_.begin(), words_.end(),
                    [](const auto& a, const auto& b) { return a.offset == b.offset; });
    words_.erase(repeated, words_.end());
    std::erase_if(words_, [&](const PointerWord& word) {
      return word.offset >= map_.known_to || (map_.bytes != 0 && word.offset + 8 > map_.bytes);
    });
    map_.words = std::move(words_);
    map_.leaves = std::move(leaves_);
    map_.choices = std::move(choices_);
  }

 private:
  using ChoicePlace = std::pair<std::uint64_t, TypeRef>;

  void stop(std::uint64_t offset) {
    if (!is_stopped_) map_.known_to = std::min(map_.known_to, offset);
    is_stopped_ = true;
  }

  void add_word(TypeRef type, const Place& at, WordKind kind) {
    // The collector reads only aligned words, but the offset may be a mistake in the debug
    // information.
    if (at.offset % kWordBytes != 0) return add_gap(at.offset & ~7ULL, (at.offset | 7) + 9, {});
    if (words_.size() >= kMostWords) stop(at.offset);
    if (is_stopped_) return;
    words_.push_back({at.offset, kind, type, at.holder, at.container, at.path, at.is_named});
    if (at.path.size() <= kLongestPath) return;
    words_.back().path.clear();
    words_.back().is_named = false;
  }

  // Adds the whole words in [from, to), about which nothing is known. The first word gets `path`.
  void add_gap(std::uint64_t from, std::uint64_t to, std::string path = {}) {
    const std::uint64_t first = (from + kWordBytes - 1) / kWordBytes * kWordBytes;
    Place at;
    at.is_named = first == from && !path.empty();
    at.path = std::move(path);
    for (at.offset = first; at.offset + kWordBytes <= to && !is_stopped_; at.offset += kWordBytes) {
      add_word(types::kNoType, at, WordKind::Conservative);
      at.path.clear();
      at.is_named = false;
    }
  }

  void add_unknown(TypeRef ref, const Place& at) {
    add_leaf(ref, at);
    add_gap(at.offset, at.offset + std::min(bytes_of(model_, ref), kLargest), at.path);
  }

  void add_leaf(TypeRef type, const Place& at, const Member* bits = nullptr) {
    if (in_parts_ > 0 || leaves_.size() >= kMostLeaves || at.path.empty()) return;
    Leaf leaf{at.path, at.offset, bytes_of(model_, type), type, 0, 0};
    if (bits != nullptr) {
      leaf.bit_count = bits->bit_count;
      leaf.bit_offset = bits->bit_offset;
    }
    leaves_.push_back(std::move(leaf));
  }

  // Adds a type about which the language defines more than its members show. Returns false for any
  // other type.
  bool add_peculiar(TypeRef ref, const Type& type, const Place& at) {
    const bool is_proc = type.name.starts_with("Proc(") && type.bytes.value_or(16) == 16;
    if (is_proc && type.shape != Shape::Pointer) {
      add_leaf(ref, at);
      Place inner = at;
      inner.offset += kWordBytes;
      add_word(ref, inner, WordKind::Closure);
      return true;
    }
    if (type.shape != Shape::Struct && type.shape != Shape::Union) return false;
    const auto value = value_in_storage(model_, type.name);
    if (!value) return false;
    if (*value == types::kNoType) {
      add_gap(at.offset, at.offset + std::min(type.bytes.value_or(0), kLargest), at.path);
      return true;
    }
    Place inner = at;
    inner.depth += 1;
    inner.is_root = false;
    inner.container = types::kNoType;  // the stored value is not a part of the container
    add(*value, inner);
    return true;
  }

  void add_struct(TypeRef ref, const Type& type, const Place& at) {
    if (type.choice && choices_.size() < kMostLeaves) choices_.emplace_back(at.offset, ref);
    Place inner = at;
    inner.depth += 1;
    inner.holder = ref;
    if (is_cxx_container(type.name)) inner.container = ref;
    std::uint64_t covered = type.has_header ? kWordBytes : 0;
    const std::vector<const Member*> members = by_offset(type);
    inner.is_mixed = is_mixed_union(type);
    if (inner.is_mixed) add_leaf(ref, at);
    const LeafStop no_leaves(in_parts_, inner.is_mixed);
    if (!at.is_base) inner.is_whole = is_whole(type);
    for (const Member* member : members) {
      if (is_stopped_) return;
      if (at.is_base && member->is_virtual_base) continue;
      if (member->offset > kLargest) return stop(at.offset + covered);
      if (member->offset > covered) add_gap(at.offset + covered, at.offset + member->offset);
      const bool is_last = member == members.back() && !member->is_base && !type.has_header;
      inner.is_root = at.is_root && is_last;
      add_member(*member, at, inner);
      const std::uint64_t bytes = std::min(bytes_of(model_, member->type), kLargest);
      covered = std::max(covered, member->offset + bytes);
    }
    const std::uint64_t end = type.bytes.value_or(0);
    if (end > kLargest) return stop(at.offset + covered);
    // The space after a base's members belongs to virtual bases, which are elsewhere in the
    // instance.
    const bool is_elsewhere = at.is_base && at.is_whole && type.has_virtual_bases;
    if (end > covered && !is_elsewhere) add_gap(at.offset + covered, at.offset + end);
  }

  static bool is_whole(const Type& type) {
    return std::any_of(type.members.begin(), type.members.end(),
                       [](const Member& member) { return member.is_virtual_base; });
  }

  void add_member(const Member& member, const Place& at, Place& inner) {
    inner.offset = at.offset + member.offset;
    inner.is_base = member.is_base;
    const bool is_transparent = member.is_base || inner.is_mixed;
    std::string_view name = is_transparent ? std::string_view() : member.name;
    const bool is_key =
        inner.holder != types::kNoType && model_[inner.holder].name.starts_with("NamedTuple(");
    if (is_key && name.starts_with('@')) name.remove_prefix(1);
    inner.path = joined(at.path, name);
    if (inner.is_mixed && member.name == "type_id") return;
    if (member.bit_count != 0) {
      add_leaf(member.type, inner, &member);
    } else {
      add(member.type, inner);
    }
  }

  static std::vector<const Member*> by_offset(const Type& type) {
    std::vector<const Member*> members;
    members.reserve(std::min(type.members.size(), kMostSteps));
    for (const Member& member : type.members) {
      if (members.size() == kMostSteps) break;
      members.push_back(&member);
    }
    std::stable_sort(members.begin(), members.end(),
                     [](const Member* a, const Member* b) { return a->offset < b->offset; });
    return members;
  }

  // Returns the words of a part instead of adding them.
  std::vector<PointerWord> part(TypeRef ref, const Place& at) {
    std::vector<PointerWord> outer = std::exchange(words_, {});
    const LeafStop no_leaves(in_parts_, true);
    add(ref, at);
    return std::exchange(words_, std::move(outer));
  }

  // Whether the union has only one member, which fills it. This member is as certain as one of a
  // structure: if the source had left out a larger member, the union would be larger.
  [[nodiscard]] bool is_of_one_member(const Type& type) const {
    return type.members.size() == 1 && type.members.front().offset == 0 &&
           type.members.front().bit_count == 0 &&
           bytes_of(model_, type.members.front().type) == type.bytes;
  }

  void add_union(TypeRef ref, const Type& type, const Place& at) {
    if (is_of_one_member(type) && !at.is_mixed) {
      Place only = at;
      only.depth += 1;
      only.is_root = false;
      only.path = joined(at.path, type.members.front().name);
      return add(type.members.front().type, only);
    }
    add_leaf(ref, at);
    if (type.members.empty()) {
      const std::uint64_t bytes = std::min(bytes_of(model_, ref), kLargest);
      return add_gap(at.offset, at.offset + bytes, at.path);
    }
    Place inner = at;
    inner.depth += 1;
    inner.is_root = false;
    std::vector<PointerWord> merged;
    const std::size_t choices = choices_.size();
    for (const Member& member : type.members) {
      if (is_stopped_) break;
      if (member.offset > kLargest) return stop(at.offset);
      inner.offset = at.offset + member.offset;
      inner.path = at.is_mixed ? at.path : joined(at.path, member.name);
      inner.is_mixed = false;
      for (PointerWord& word : part(member.type, inner)) merged.push_back(std::move(word));
    }
    choices_.resize(choices);  // of which the number may be something else
    merge_union(std::move(merged), at.is_mixed);
  }

  // Adds the words of a union's members. If several words share an offset, the first one with a
  // type counts. If exactly one of the possible values is a pointer, and one of them must be valid,
  // the word is probably the pointer.
  void merge_union(std::vector<PointerWord> merged, bool is_mixed) {
    const auto rank = [](const PointerWord& word) {
      return std::pair(word.offset, word.type == types::kNoType);
    };
    std::stable_sort(merged.begin(), merged.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    for (std::size_t i = 0; i < merged.size(); ++i) {
      const PointerWord& word = merged[i];
      if (i > 0 && merged[i - 1].offset == word.offset) continue;
      const bool is_only = i + 1 == merged.size() || merged[i + 1].offset != word.offset;
      Place place{word.offset, word.path, word.holder, word.container};
      place.is_named = word.is_named;
      const bool is_likely = is_only && (is_mixed || is_buffer_of_container(word));
      add_word(is_likely ? word.type : types::kNoType, place, WordKind::Conservative);
    }
  }

  // Whether the word is a container's pointer to its buffer. A string of libc++, for example,
  // contains either such a pointer or the text.
  [[nodiscard]] bool is_buffer_of_container(const PointerWord& word) const {
    if (word.container == types::kNoType || word.type == types::kNoType) return false;
    const auto how = follow(model_, model_[word.container].name, last_member(word.path));
    return how && how->leads == ContainerWord::Leads::ToBuffer;
  }

  void add_array(TypeRef ref, const Type& type, const Place& at) {
    add_leaf(ref, at);
    const bool is_tail = at.is_root && type.count.value_or(0) <= 1 && at.depth > 0;
    if (is_tail && !map_.tail) {
      map_.tail = PointerMap::Tail{at.offset, at.path, type.target};
      return;
    }
    Place inner = at;
    inner.depth += 1;
    inner.is_root = false;
    inner.path.clear();
    const std::size_t first_choice = choices_.size();
    const std::vector<PointerWord> element = part(type.target, inner);
    const std::vector<ChoicePlace> chosen(
        choices_.begin() + static_cast<std::ptrdiff_t>(first_choice), choices_.end());
    choices_.resize(first_choice);
    const std::uint64_t stride = bytes_of(model_, type.target);
    if (element.empty() || stride == 0) return;
    if (stride % kWordBytes != 0 || stride > kLargest) return stop(at.offset);
    for (std::uint64_t i = 0; i < type.count.value_or(0) && !is_stopped_; ++i) {
      if (at.offset + i * stride > kLargest) return stop(at.offset + i * stride);
      for (const ChoicePlace& one : chosen) {
        if (choices_.size() < kMostLeaves)
          choices_.emplace_back(one.first + i * stride, one.second);
      }
      for (const PointerWord& word : element) {
        Place place{word.offset + i * stride, {}, word.holder, word.container};
        place.is_named = word.is_named;
        place.path = joined(fmt::format("{}[{}]", at.path, i), word.path);
        add_word(word.type, place, word.kind);
      }
    }
  }

  const TypeModel& model_;
  PointerMap& map_;
  std::vector<PointerWord> words_;
  std::vector<Leaf> leaves_;
  std::vector<ChoicePlace> choices_;
  std::size_t steps_ = 0;
  int in_parts_ = 0;
  bool is_stopped_ = false;
};

}  // namespace

std::uint64_t bytes_of(const TypeModel& model, TypeRef type) {
  std::uint64_t times = 1;
  for (int depth = 0; depth < kDeepest && type < model.types().size(); ++depth) {
    const Type& at = model[type];
    std::uint64_t factor = at.count.value_or(0);
    const bool is_array = at.shape == Shape::Array && !at.bytes;
    if (!is_array) {
      const bool is_word = at.shape == Shape::Pointer || at.shape == Shape::Code;
      factor = at.bytes.value_or(is_word ? kWordBytes : 0);
    }
    if (__builtin_mul_overflow(times, factor, &times)) return kLargest + 1;
    if (!is_array) return times;
    type = at.target;
  }
  return 0;
}

PointerMap flatten(const TypeModel& model, TypeRef type) {
  PointerMap map;
  map.bytes = bytes_of(model, type);
  Flattening flattening(model, map);
  flattening.add(type, {});
  flattening.finish();
  return map;
}

}  // namespace heapattach::snapshot
