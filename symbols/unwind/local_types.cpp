#include "symbols/unwind/local_types.h"

#include <charconv>
#include <string>

namespace heapattach::unwind {

namespace {

using types::kNoType;
using types::Shape;
using types::TypeRef;

constexpr int kMostSteps = 8;
constexpr std::uint64_t kPointerBytes = 8;
constexpr std::uint64_t kLargestCount = std::uint64_t{1} << 32;

// The name of the type to which a pointer points: "struct node" for "struct node *", "char *" for
// "char **".
std::string_view pointed_to(std::string_view name) {
  name.remove_suffix(1);
  if (name.ends_with(' ')) name.remove_suffix(1);
  return name;
}

// The position of an array's dimensions in its name: 3 in "int[4][2]". The length of the name if it
// has none.
std::size_t dimensions_at(std::string_view name) {
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] == ']') {
    const std::size_t open = name.rfind('[', at - 1);
    if (open == std::string_view::npos ||
        name.substr(open + 1, at - open - 2).find_first_not_of("0123456789") !=
            std::string_view::npos) {
      break;
    }
    at = open;
  }
  return at;
}

TypeRef derive(std::string_view name, types::TypeModel& model, int steps);

TypeRef derive_pointer(std::string_view name, types::TypeModel& model, int steps) {
  const TypeRef target = derive(pointed_to(name), model, steps + 1);
  if (target == kNoType) return kNoType;
  const TypeRef made = model.intern(name);
  model[made].shape = Shape::Pointer;
  model[made].bytes = kPointerBytes;
  model[made].target = target;
  model[made].known_from = {"dwarf"};
  return made;
}

TypeRef derive_array(std::string_view name, std::size_t open, types::TypeModel& model, int steps) {
  const std::size_t close = name.find(']', open);
  std::uint64_t count = 0;
  std::from_chars(name.data() + open + 1, name.data() + close, count);
  // The first dimension is the outermost.
  const std::string element_name =
      std::string(name.substr(0, open)) + std::string(name.substr(close + 1));
  const TypeRef element = derive(element_name, model, steps + 1);
  if (element == kNoType || count == 0 || count > kLargestCount) return kNoType;
  const auto bytes = model[element].bytes;
  if (!bytes || *bytes > kLargestCount) return kNoType;
  const TypeRef made = model.intern(name);
  model[made].shape = Shape::Array;
  model[made].bytes = *bytes * count;
  model[made].target = element;
  model[made].count = count;
  model[made].known_from = {"dwarf"};
  return made;
}

TypeRef derive(std::string_view name, types::TypeModel& model, int steps) {
  const TypeRef known = model.find(name);
  if (known != kNoType || steps == kMostSteps || name.empty()) return known;
  // Pointers to functions and to arrays are written around their names: "int (*)[4]".
  if (name.find("(*") != std::string_view::npos) return kNoType;
  if (name.ends_with('*')) return derive_pointer(name, model, steps);
  if (const std::size_t open = dimensions_at(name); open < name.size()) {
    return derive_array(name, open, model, steps);
  }
  return kNoType;
}

}  // namespace

TypeRef type_of_local(std::string_view name, types::TypeModel& model) {
  return derive(name, model, 0);
}

}  // namespace heapattach::unwind
