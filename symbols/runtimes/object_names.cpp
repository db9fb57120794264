#include "symbols/runtimes/object_names.h"

#include <fmt/format.h>

namespace heapattach::runtimes {

Shape part_of(std::string_view holder, std::string_view what) {
  return {.name = fmt::format("({} of {})", what, holder), .holder = std::string(holder)};
}

ShapeNumber ObjectNames::intern(Shape shape) {
  const auto number = static_cast<ShapeNumber>(shapes_.size());
  const auto [at, is_new] = numbers_.try_emplace(shape, number);
  if (is_new) shapes_.push_back(std::move(shape));
  return at->second;
}

}  // namespace heapattach::runtimes
