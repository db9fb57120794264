#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

// Looks up what a user means by the name of a type or a root.
namespace heapattach {

struct NamedType {
  // The program's own name, or the glob as given; empty if nothing matches.
  std::string name;
  std::string problem;  // why it is empty, with similar names
};

// Whether a type's name is `wanted` with a label: "System.Action (Game.Shop.Refresh)".
[[nodiscard]] bool is_labelled(std::string_view wanted, std::string_view name);

// Whether `wanted` is the name of a type, in its full or its short form (short_names.h), with or
// without its label, or a glob that matches one of them.
[[nodiscard]] bool matches_type(std::string_view wanted, std::string_view name);

// Tries `wanted`, in this order, as the name of a type in its full or its short form, as a glob
// that matches some, and as a name without its namespaces ("RequestLog" for "Blog::RequestLog",
// "leaf" for "struct leaf") that only one type has. If nothing is similar, the problem names what
// lists the types.
[[nodiscard]] NamedType find_type_name(std::string_view wanted,
                                       std::span<const std::string_view> known,
                                       std::string_view listed_by = "--count lists them");
// Finds a variable's name, by the same rules as find_type_name().
[[nodiscard]] NamedType find_root_name(std::string_view wanted,
                                       std::span<const std::string_view> known);

// "(unnamed, in an Array(Page))": the name of an object that is known only by its holder.
[[nodiscard]] std::string unnamed_in(std::string_view holder);
// Earlier releases wrote "(held by Array(Page))" instead, in snapshots too. Returns the present
// form of such a name, and any other name unchanged.
[[nodiscard]] std::string as_named_now(std::string_view name);

// "(48 bytes)": the name of an object of which only the size is known.
[[nodiscard]] std::string named_by_size(std::uint64_t bytes);
// "48 bytes", from such a name; empty for any other.
[[nodiscard]] std::string_view size_in_name(std::string_view name);

// A set of type names.
class TypeNames {
 public:
  void add(const std::string& name) { names_.insert(name); }
  [[nodiscard]] NamedType find(std::string_view wanted,
                               std::string_view listed_by = "--count lists them") const;

 private:
  std::unordered_set<std::string> names_;
};

}  // namespace heapattach
