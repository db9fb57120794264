#include "symbols/crystal/fiber_list.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace heapattach::crystal {

namespace {

constexpr std::size_t kMostFibers = 1'000'000;

class FiberList {
 public:
  FiberList(const FiberLayout& layout, const MemoryReader& memory)
      : layout_(layout), memory_(memory) {
    words_ = layout.stack_bottom / 8;
    for (const auto& field : {layout.next, layout.previous, layout.name}) {
      if (field) words_ = std::max(words_, *field / 8);
    }
    ++words_;
  }

  std::vector<ListedFiber> from(RemoteAddr known) {
    found_.clear();
    seen_.clear();
    const auto first = read(known);
    if (!first) return {};
    add(*first);
    follow(*first, *layout_.next, *layout_.previous);
    follow(*first, *layout_.previous, *layout_.next);
    // A finished fiber still has its links, but no neighbour that knows it.
    if (found_.size() == 1 && (first->links(layout_.next) || first->links(layout_.previous))) {
      return {};
    }
    return std::move(found_);
  }

 private:
  struct Node {
    RemoteAddr at;
    std::vector<std::uint64_t> words;
    [[nodiscard]] std::uint64_t word(std::uint64_t offset) const { return words[offset / 8]; }
    [[nodiscard]] bool links(const std::optional<std::uint64_t>& link) const {
      return word(*link) != 0;
    }
  };

  [[nodiscard]] std::optional<Node> read(RemoteAddr at) const {
    if (at.value == 0 || at.value % 8 != 0) return std::nullopt;
    Node node{at, std::vector<std::uint64_t>(words_)};
    if (!memory_.read(at, std::as_writable_bytes(std::span(node.words)))) return std::nullopt;
    if (static_cast<std::uint32_t>(node.words[0]) != *layout_.type_id) return std::nullopt;
    return node;
  }

  void add(const Node& node) {
    seen_.insert(node.at.value);
    const std::uint64_t name = layout_.name ? node.word(*layout_.name) : 0;
    found_.push_back({node.at, {node.word(layout_.stack_bottom)}, {name}});
  }

  void follow(Node node, std::uint64_t there, std::uint64_t back) {
    while (found_.size() < kMostFibers) {
      auto next = read({node.word(there)});
      if (!next || next->word(back) != node.at.value || seen_.contains(next->at.value)) return;
      add(*next);
      node = std::move(*next);
    }
  }

  const FiberLayout& layout_;
  const MemoryReader& memory_;
  std::size_t words_ = 0;
  std::vector<ListedFiber> found_;
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace

std::vector<ListedFiber> listed_fibers(const FiberLayout& layout,
                                       std::span<const RemoteAddr> known,
                                       const MemoryReader& memory) {
  if (!layout.is_known() || !layout.next || !layout.previous) return {};
  FiberList list(layout, memory);
  for (const RemoteAddr at : known) {
    auto found = list.from(at);
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace heapattach::crystal
