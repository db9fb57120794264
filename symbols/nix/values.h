#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "symbols/heap/heap.h"
#include "symbols/nix/expressions.h"
#include "symbols/nix/facts.h"
#include "symbols/runtimes/heap_view.h"

namespace heapattach::nix {

// A value: its type and its two other words.
struct Value {
  std::uint32_t type = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

// Reads values and their parts. Does not trust the type alone: whatever a value refers to must be
// there, with a size that fits.
class ValueReader {
 public:
  // Borrows its arguments.
  ValueReader(const Facts& facts, const runtimes::HeapView& view)
      : view_(view), expressions_(facts, view) {}

  // The value at `at`, in the heap or in an expression; nothing if its type is unknown, or if its
  // words contradict the type.
  [[nodiscard]] std::optional<Value> value_at(std::uint64_t at);
  // Whether the value's words prove its type, so that nothing needs to refer to it.
  [[nodiscard]] bool proves_itself(const Value& value);
  // The number of values that the object at `at` references; 0 if it contains anything else.
  [[nodiscard]] std::uint64_t count_values(std::uint64_t at);
  // The name of a value: "thunk at /srv/default.nix:12", "int".
  [[nodiscard]] std::string name_of(const Value& value) { return name_of(value, 0); }
  // The place of the expression of a thunk or lambda, " at /srv/default.nix:12"; null if it is
  // unknown. The string lives as long as this reader.
  [[nodiscard]] const std::string* place_of(const Value& value);
  // The name of a set, given its attributes: "set at /srv/default.nix:12". A set that a function or
  // an operator such as // has made has no position, but its attributes have: "set with attributes
  // at …" has the position of the first one.
  [[nodiscard]] std::string name_of_set(std::uint64_t attributes);

  [[nodiscard]] bool is_environment(std::uint64_t at) const;
  [[nodiscard]] bool are_attributes(std::uint64_t at);
  [[nodiscard]] bool are_elements(std::uint64_t at, std::uint64_t count) const;
  [[nodiscard]] std::uint32_t attributes_in(std::uint64_t set) const {
    return static_cast<std::uint32_t>(word(set + kSetSize));
  }
  // Whether all names of the attributes are in the program's source.
  [[nodiscard]] bool has_names(std::uint64_t set) const {
    return expressions_.has_names(word(set + kSetPosition));
  }
  // The name of an attribute; empty if it cannot be shown.
  [[nodiscard]] const std::string& attribute_name(std::uint64_t set, std::uint32_t index) {
    return expressions_.symbol(word(set + kAttributes + index * kAttributeBytes));
  }
  [[nodiscard]] std::uint64_t word(std::uint64_t at) const { return view_.word(at).value_or(0); }

 private:
  // The size of the object at `at`; 0 if there is no object there that may contain values.
  [[nodiscard]] std::uint64_t object_bytes(std::uint64_t at) const;
  [[nodiscard]] bool check_attributes(std::uint64_t at) const;
  [[nodiscard]] std::uint64_t check_values(std::uint64_t at);
  [[nodiscard]] bool is_value_object(std::uint64_t at);
  [[nodiscard]] bool has_expression(const Value& value);
  [[nodiscard]] bool is_consistent(const Value& value);
  [[nodiscard]] std::string name_of(const Value& value, int depth);
  [[nodiscard]] std::string name_of_thunk(const Value& value);
  [[nodiscard]] std::string name_of_primop(const Value& value);
  [[nodiscard]] std::string name_of_function(std::uint64_t at, int depth);

  const runtimes::HeapView& view_;
  ExpressionReader expressions_;
  // The results by address are kept, because any number of values may refer to one large set or
  // list.
  std::unordered_map<std::uint64_t, bool> attributes_;
  std::unordered_map<std::uint64_t, std::uint64_t> elements_;
};

}  // namespace heapattach::nix
