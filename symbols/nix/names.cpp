#include "symbols/nix/names.h"

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "symbols/nix/values.h"

namespace heapattach::nix {

namespace {

using runtimes::Shape;
using runtimes::ShapeNumber;

class Namer {
 public:
  Namer(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names)
      : view_(view), heap_(view.heap()), names_(names), values_(facts, view) {}

  void run() {
    for_each_unnamed([&](heap::ObjectRef ref, std::uint64_t at) {
      const auto value = may_be_value(ref) ? values_.value_at(at) : std::nullopt;
      if (value && values_.proves_itself(*value)) claim(at, What::Value);
    });
    // While a list is made, or is an argument, only a stack may refer to its elements.
    for_each_unnamed([&](heap::ObjectRef ref, std::uint64_t at) {
      constexpr std::uint64_t kFewest = 3;  // fewer elements are in the value itself
      const heap::Block& block = heap_.blocks()[ref.block];
      if (block.is_uncollectable() || values_.count_values(at) < kFewest) return;
      claim(at, What::Elements, "list");
    });
    name_environments();
  }

 private:
  enum class What : std::uint8_t { Value, Environment, Attributes, Elements, Text, Context };
  struct Claim {
    std::uint64_t at = 0;
    What what = What::Value;
  };
  // The sets that were made at one place in the source.
  struct SetsAt {
    std::vector<std::string> attributes;  // those of the first set
    ShapeNumber same = 0;                 // the shape of sets with these attributes
    ShapeNumber other = 0;                // the shape of all other sets
  };

  template <class Visit>
  void for_each_unnamed(const Visit& visit) {
    const auto blocks = static_cast<std::uint32_t>(heap_.blocks().size());
    heap::for_each_object(heap_, view_.listed(), 0, blocks, [&](heap::ObjectRef ref) {
      if (!names_.has(heap_.number(ref))) visit(ref, heap_.address(ref).value);
      follow_claims();
    });
  }

  [[nodiscard]] bool may_be_value(heap::ObjectRef ref) const {
    const heap::Block& block = heap_.blocks()[ref.block];
    return !block.is_atomic() && !block.is_uncollectable() && !heap_.is_chunk(ref.block) &&
           runtimes::fits(block.object_bytes, kValueBytes);
  }

  // Names the object at `at` if it is what a reference to it says. Its own references are followed
  // later.
  void claim(std::uint64_t at, What what, std::string_view holder = "") {
    const auto ref = view_.object_at(at);
    if (!ref || names_.has(heap_.number(*ref)) || heap_.is_chunk(ref->block)) return;
    const auto shape = shape_of(*ref, at, what, holder);
    if (!shape) return;
    names_.set(heap_.number(*ref), *shape);
    if (what != What::Text) claims_.push_back({at, what});
  }

  [[nodiscard]] std::optional<ShapeNumber> shape_of(heap::ObjectRef ref,
                                                    std::uint64_t at,
                                                    What what,
                                                    std::string_view holder) {
    switch (what) {
      case What::Value: return may_be_value(ref) ? shape_of_value(at) : std::nullopt;
      case What::Environment:
        if (!values_.is_environment(at)) return std::nullopt;
        return shape_of_environment("");
      case What::Attributes:
        return values_.are_attributes(at) ? std::optional(shape_of_set(at)) : std::nullopt;
      case What::Elements:
      case What::Context:
      case What::Text: break;
    }
    const bool is_text = what == What::Text;
    if (heap_.blocks()[ref.block].is_atomic() != is_text) return std::nullopt;
    Shape shape = runtimes::part_of(holder, is_text                 ? "text"
                                            : what == What::Context ? "context"
                                                                    : "elements");
    if (!is_text) {
      shape.element_bytes = 8;
      shape.element_words = {{0, ""}};
    }
    return names_.intern(std::move(shape));
  }

  [[nodiscard]] ShapeNumber shape_of_environment(std::string_view place) {
    return names_.intern(
        {.name = place.empty() ? "environment" : fmt::format("environment used{}", place),
         .holder = "environment",
         .words = {{kUp, "up"}},
         .elements_at = kVariables,
         .element_bytes = 8,
         .element_words = {{0, ""}}});
  }

  // Notes the place of a thunk or lambda that uses the environment, because an environment does not
  // say which expression made it. Of several places, the first one in the file counts.
  void note_use(std::uint64_t environment, const Value& value) {
    const std::string* const place = values_.place_of(value);
    if (place == nullptr) return;
    const std::string*& first = uses_[environment];
    const auto order = [](const std::string& one) { return std::pair(one.size(), one); };
    if (first == nullptr || order(*place) < order(*first)) first = place;
  }

  void name_environments() {
    std::unordered_map<const std::string*, ShapeNumber> shapes;
    const ShapeNumber without_place = shape_of_environment("");
    for (const auto& [at, place] : uses_) {
      const auto ref = view_.object_at(at);
      if (!ref || names_.at(heap_.number(*ref)) != without_place) continue;
      const auto [known, is_new] = shapes.try_emplace(place);
      if (is_new) known->second = shape_of_environment(*place);
      names_.set(heap_.number(*ref), known->second);
    }
  }

  [[nodiscard]] std::optional<ShapeNumber> shape_of_value(std::uint64_t at) {
    const auto value = values_.value_at(at);
    if (!value) {
      const bool is_unset = values_.word(at) == 0 && values_.word(at + kFirst) == 0 &&
                            values_.word(at + kSecond) == 0;
      return is_unset ? std::optional(names_.intern({.name = "(value that is not set)"}))
                      : std::nullopt;
    }
    return names_.intern({.name = values_.name_of(*value), .words = words_of(*value)});
  }

  [[nodiscard]] static std::vector<Shape::Word> words_of(const Value& value) {
    switch (value.type) {
      case kString: return {{kFirst, "text"}, {kSecond, "context"}};
      case kPath: return {{kFirst, "text"}};
      case kSet: return {{kFirst, "attributes"}};
      case kList1:
      case kList2: return {{kFirst, "[0]"}, {kSecond, "[1]"}};
      case kList: return {{kSecond, "elements"}};
      case kThunk:
      case kLambda: return {{kFirst, "environment"}};
      case kApplication:
      case kPartialPrimOp: return {{kFirst, "function"}, {kSecond, "argument"}};
      default: return {};
    }
  }

  // Returns the shape of a set. Most sets that one expression makes have the same attributes, in
  // the same order.
  [[nodiscard]] ShapeNumber shape_of_set(std::uint64_t at) {
    constexpr std::uint32_t kMostNames = 256;
    const std::uint32_t size = values_.attributes_in(at);
    const bool has_names = size <= kMostNames && values_.has_names(at);
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < size && has_names; ++i) {
      names.push_back(values_.attribute_name(at, i));
    }
    const std::string holder = values_.name_of_set(at);
    const auto [known, is_new] = sets_.try_emplace(holder);
    SetsAt& sets = known->second;
    if (is_new) {
      Shape shape = runtimes::part_of(holder, "attributes");
      shape.elements_at = kAttributes;
      shape.element_bytes = kAttributeBytes;
      shape.element_words = {{kAttributeValue, "value"}};
      sets.other = names_.intern(shape);
      sets.attributes = names;
      shape.elements_at = shape.element_bytes = 0;
      shape.element_words.clear();
      for (std::uint32_t i = 0; i < names.size(); ++i) {
        shape.words.push_back({kAttributes + i * kAttributeBytes + kAttributeValue, names[i]});
      }
      sets.same = names.empty() ? sets.other : names_.intern(std::move(shape));
    }
    return sets.attributes == names ? sets.same : sets.other;
  }

  void follow_claims() {
    while (!claims_.empty()) {
      const Claim claim = claims_.back();
      claims_.pop_back();
      follow(claim);
    }
  }

  void follow(const Claim& claimed) {
    const std::uint64_t at = claimed.at;
    switch (claimed.what) {
      case What::Value: follow_value(at); break;
      case What::Environment:
        claim(values_.word(at + kUp), What::Environment);
        follow_words(at, kVariables, What::Value);
        break;
      case What::Attributes: {
        const std::uint32_t size = values_.attributes_in(at);
        for (std::uint32_t i = 0; i < size; ++i) {
          claim(values_.word(at + kAttributes + i * kAttributeBytes + kAttributeValue),
                What::Value);
        }
        break;
      }
      case What::Elements: follow_words(at, 0, What::Value); break;
      case What::Context: follow_words(at, 0, What::Text, "string"); break;
      case What::Text: break;
    }
  }

  void follow_words(std::uint64_t at, std::uint64_t from, What what, std::string_view holder = "") {
    const auto ref = view_.object_at(at);
    if (!ref) return;
    const std::uint64_t bytes = heap_.blocks()[ref->block].object_bytes;
    for (std::uint64_t offset = from; offset + 8 <= bytes; offset += 8) {
      claim(values_.word(at + offset), what, holder);
    }
  }

  void follow_value(std::uint64_t at) {
    const auto value = values_.value_at(at);
    if (!value) return;
    switch (value->type) {
      case kString:
        claim(value->first, What::Text, "string");
        claim(value->second, What::Context, "string");
        break;
      case kPath: claim(value->first, What::Text, "path"); break;
      case kSet: claim(value->first, What::Attributes); break;
      case kList2: claim(value->second, What::Value); [[fallthrough]];
      case kList1: claim(value->first, What::Value); break;
      case kList: claim(value->second, What::Elements, "list"); break;
      case kThunk:
      case kLambda:
      case kBeingComputed:
        note_use(value->first, *value);
        claim(value->first, What::Environment);
        break;
      case kApplication:
      case kPartialPrimOp:
        claim(value->first, What::Value);
        claim(value->second, What::Value);
        break;
      default: break;
    }
  }

  const runtimes::HeapView& view_;
  const heap::Heap& heap_;
  runtimes::ObjectNames& names_;
  ValueReader values_;
  std::unordered_map<std::string, SetsAt> sets_;                // by name
  std::unordered_map<std::uint64_t, const std::string*> uses_;  // places, by environment
  std::vector<Claim> claims_;
};

}  // namespace

void name_objects(const Facts& facts,
                  const runtimes::HeapView& view,
                  runtimes::ObjectNames& names) {
  Namer(facts, view, names).run();
}

}  // namespace heapattach::nix
