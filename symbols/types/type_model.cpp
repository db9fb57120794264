#include "symbols/types/type_model.h"

namespace heapattach::types {

TypeRef TypeModel::intern(std::string_view name) {
  const auto [at, is_new] = by_name_.try_emplace(std::string(name), TypeRef{0});
  if (is_new) {
    at->second = static_cast<TypeRef>(types_.size());
    types_.emplace_back().name = name;
  }
  return at->second;
}

TypeRef TypeModel::find(std::string_view name) const {
  const auto at = by_name_.find(std::string(name));
  return at == by_name_.end() ? kNoType : at->second;
}

}  // namespace heapattach::types
