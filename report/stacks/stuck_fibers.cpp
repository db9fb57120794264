// All roots count, even leftover words on stacks: a false root only means that a stuck fiber is not
// reported. The objects are entered from all roots except the stacks of the waiting fibers. When a
// fiber's object is reached, somebody may wake the fiber, so its stack counts from then on.

#include "report/stacks/stuck_fibers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "report/stacks/stack_report.h"

namespace heapattach::stacks {

namespace {

using snapshot::Object;
using snapshot::ObjectIndex;
using snapshot::Snapshot;

std::optional<ObjectIndex> object_at(const Snapshot& snapshot, std::uint64_t address) {
  const auto& objects = snapshot.objects;
  const auto found =
      std::lower_bound(objects.begin(), objects.end(), address,
                       [](const Object& object, std::uint64_t at) { return object.address < at; });
  const bool is_there =
      found != objects.end() && found->address == address && found->is_reachable != 0;
  if (!is_there) return {};
  return static_cast<ObjectIndex>(found - objects.begin());
}

class Search {
 public:
  Search(const Snapshot& snapshot,
         std::span<const std::size_t> waiting,
         std::optional<std::uint32_t> block_word)
      : snapshot_(snapshot), block_word_(block_word), is_reached_(snapshot.objects.size()) {
    std::unordered_map<std::uint64_t, std::size_t> by_address;
    for (const std::size_t number : waiting) {
      const snapshot::Fiber& fiber = snapshot.fibers[number];
      const auto awaited = object_at(snapshot, fiber.wait.object.value);
      const auto object = object_at(snapshot, fiber.address);
      if (!awaited || !object) continue;
      by_address.emplace(fiber.address, waiting_.size());
      fibers_.emplace(*object, waiting_.size());
      awaited_.emplace(*awaited, waiting_.size());
      waiting_.push_back({number, true, false, {}});
    }
    for (const snapshot::Root& root : snapshot.roots) {
      const auto whose = root.fiber ? by_address.find(*root.fiber) : by_address.end();
      if (whose == by_address.end()) {
        reach(root.to);
      } else {
        waiting_[whose->second].has_stack = true;
        waiting_[whose->second].held.push_back(root.to);
      }
    }
  }

  std::vector<std::size_t> run() && {
    while (!open_.empty()) {
      const ObjectIndex object = open_.back();
      open_.pop_back();
      const auto [first, last] = awaited_.equal_range(object);
      for (auto at = first; at != last; ++at) wake(waiting_[at->second]);
      follow(object);
    }
    std::vector<std::size_t> stuck;
    for (const Waiting& fiber : waiting_) {
      if (fiber.is_stuck && fiber.has_stack) stuck.push_back(fiber.number);
    }
    return stuck;
  }

 private:
  struct Waiting {
    std::size_t number = 0;
    bool is_stuck = true;
    bool has_stack = false;         // that is known, and references something
    std::vector<ObjectIndex> held;  // what its stack references, and its block
  };

  void wake(Waiting& fiber) {
    fiber.is_stuck = false;
    for (const ObjectIndex object : std::exchange(fiber.held, {})) reach(object);
  }

  void follow(ObjectIndex object) {
    const auto fiber = fibers_.find(object);
    for (const snapshot::Edge& edge : snapshot_.edges_of(object)) {
      const bool is_held = fiber != fibers_.end() && waiting_[fiber->second].is_stuck &&
                           edge.offset_words == block_word_;
      if (is_held) {
        waiting_[fiber->second].held.push_back(edge.to);
      } else {
        reach(edge.to);
      }
    }
  }

  void reach(ObjectIndex object) {
    if (is_reached_[object]) return;
    is_reached_[object] = true;
    open_.push_back(object);
  }

  const Snapshot& snapshot_;
  std::optional<std::uint32_t> block_word_;
  std::vector<bool> is_reached_;
  std::vector<ObjectIndex> open_;
  std::vector<Waiting> waiting_;
  std::unordered_map<ObjectIndex, std::size_t> fibers_;        // of waiting_, by the Fiber
  std::unordered_multimap<ObjectIndex, std::size_t> awaited_;  // by what it waits for
};

std::string who(const Snapshot& snapshot, const std::vector<std::size_t>& alike) {
  const snapshot::Fiber& first = snapshot.fibers[alike.front()];
  const std::string in = first.function.empty() ? std::string() : " in " + first.function;
  if (alike.size() > 1) return fmt::format("{} fibers{}", alike.size(), in);
  snapshot::Fiber shown = first;
  shown.context.clear();
  return title_of(shown) + in;
}

}  // namespace

std::vector<std::size_t> stuck_fibers(const Snapshot& snapshot,
                                      std::span<const std::size_t> waiting,
                                      std::optional<std::uint32_t> block_word) {
  if (waiting.empty() || snapshot.first_edge.empty()) return {};
  return Search(snapshot, waiting, block_word).run();
}

void add_stuck_fibers(Snapshot& snapshot, std::span<const std::size_t> stuck) {
  if (stuck.empty()) return;
  constexpr std::size_t kShown = 3;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> alike;
  for (const std::size_t number : stuck) {
    snapshot::Fiber& fiber = snapshot.fibers[number];
    fiber.finding = snapshot.header.findings.size();
    FiberWait kind;
    kind.kind = fiber.wait.kind;
    kind.type = fiber.wait.type;
    alike[{fiber.function, describe_wait(kind, nullptr)}].push_back(number);
  }
  std::string text = fmt::format(
      "deadlock: {} for objects that nothing else can reach, and will never run again: ",
      stuck.size() == 1 ? "a fiber waits" : fmt::format("{} fibers wait", stuck.size()));
  std::size_t shown = 0;
  for (const auto& [what, fibers] : alike) {
    if (++shown > kShown) {
      text += "; …";
      break;
    }
    const std::string wait = fibers.size() == 1
                                 ? describe_wait(snapshot.fibers[fibers.front()].wait, nullptr)
                                 : in_plural(what.second);
    text += fmt::format("{}{} {}", shown == 1 ? "" : "; ", who(snapshot, fibers), wait);
  }
  snapshot.header.findings.push_back(std::move(text));
}

}  // namespace heapattach::stacks
