#include "symbols/ruby/lock_queue.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "symbols/ruby/list.h"

namespace heapattach::ruby {

namespace {

constexpr std::uint64_t kThreadBytes = 640;
constexpr std::uint64_t kCountBehind = 16;
// The most bytes between the holder of the lock and the queue.
constexpr std::uint64_t kMostBehind = 64;

// Whether each node is in another of the threads (sorted), at the same place.
bool are_in(const std::vector<std::uint64_t>& threads, const std::vector<std::uint64_t>& nodes) {
  std::optional<std::uint64_t> place;
  for (const std::uint64_t node : nodes) {
    const auto after = std::upper_bound(threads.begin(), threads.end(), node);
    if (after == threads.begin()) return false;
    const std::uint64_t offset = node - *std::prev(after);
    if (offset >= kThreadBytes || offset != place.value_or(offset)) return false;
    place = offset;
  }
  return true;
}

std::optional<LockQueue> find_behind(const Values& values,
                                     std::uint64_t lock_owner,
                                     const std::vector<std::uint64_t>& threads) {
  for (std::uint64_t head = lock_owner + 8; head <= lock_owner + kMostBehind; head += 8) {
    const auto nodes = list_nodes(values, head, threads.size());
    if (!nodes || nodes->empty() || !are_in(threads, *nodes)) continue;
    if (values.as<std::uint32_t>(head + kCountBehind) != nodes->size()) continue;
    return LockQueue{RemoteAddr{head}, static_cast<std::uint32_t>(nodes->size())};
  }
  return std::nullopt;
}

}  // namespace

std::vector<LockQueue> find_lock_queues(const Machine& machine, const MemoryReader& memory) {
  const Layout& form = *machine.layout;
  std::vector<LockQueue> queues;
  if (!machine.no_threads.empty() || form.ractor.lock_owner == 0) return queues;
  const Values values(memory, form.values);
  const auto ractors = list_nodes(values, machine.vm + form.vm.ractors, kMostRactors);
  if (!ractors) return queues;
  for (const std::uint64_t node : *ractors) {
    const std::uint64_t ractor = node - form.ractor.node;
    auto threads = list_nodes(values, ractor + form.ractor.threads, kMostThreads);
    if (!threads) continue;
    std::sort(threads->begin(), threads->end());
    const auto queue = find_behind(values, ractor + form.ractor.lock_owner, *threads);
    if (queue) queues.push_back(*queue);
  }
  return queues;
}

std::vector<std::uint64_t> threads_in_queue(const Values& values,
                                            std::uint64_t lock_owner,
                                            std::vector<std::uint64_t> threads) {
  std::sort(threads.begin(), threads.end());
  for (std::uint64_t head = lock_owner + 8; head <= lock_owner + kMostBehind; head += 8) {
    auto nodes = list_nodes(values, head, threads.size());
    if (!nodes || nodes->empty() || !are_in(threads, *nodes)) continue;
    for (std::uint64_t& node : *nodes) {
      node = *std::prev(std::upper_bound(threads.begin(), threads.end(), node));
    }
    return *std::move(nodes);
  }
  return {};
}

std::vector<std::byte> empty_queue(RemoteAddr head) {
  const std::array<std::uint64_t, 2> links{head.value, head.value};
  std::vector<std::byte> bytes(sizeof links + sizeof(std::uint32_t));
  std::memcpy(bytes.data(), links.data(), sizeof links);
  return bytes;
}

}  // namespace heapattach::ruby
