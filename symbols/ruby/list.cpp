#include "symbols/ruby/list.h"

namespace heapattach::ruby {

std::optional<std::vector<std::uint64_t>> list_nodes(const Values& values,
                                                     std::uint64_t head,
                                                     std::size_t most) {
  std::vector<std::uint64_t> nodes;
  for (auto node = values.word(head); node != head; node = values.word(*node)) {
    if (!node || !is_reference(*node) || nodes.size() >= most) return std::nullopt;
    nodes.push_back(*node);
  }
  return nodes;
}

}  // namespace heapattach::ruby
