#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "report/export/html_sections.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

constexpr std::size_t kMostThreads = 1000;
constexpr std::size_t kMostFibers = 500;

using RetainedById = std::unordered_map<std::uint64_t, std::uint64_t>;

RetainedById by_id(const std::vector<HtmlView::Stack>& stacks) {
  RetainedById retained;
  for (const HtmlView::Stack& stack : stacks) retained.emplace(stack.id, stack.retained);
  return retained;
}

// Those of them whose stacks hold most, at most so many; `id_of` tells the id of one.
template <class One, class IdOf>
std::vector<const One*> holding_most(const std::vector<One>& all,
                                     RetainedById& retained,
                                     std::size_t most,
                                     const IdOf& id_of) {
  std::vector<const One*> chosen;
  chosen.reserve(all.size());
  for (const One& one : all) chosen.push_back(&one);
  std::stable_sort(chosen.begin(), chosen.end(), [&](const One* a, const One* b) {
    return retained[id_of(*a)] > retained[id_of(*b)];
  });
  chosen.resize(std::min(chosen.size(), most));
  return chosen;
}

}  // namespace

void put_html_stacks(HtmlJson& json, const Snapshot& snapshot, const HtmlView& view) {
  auto of_threads = by_id(view.threads);
  const auto tid = [](const snapshot::Thread& one) { return static_cast<std::uint64_t>(one.tid); };
  json.number("threads_in_all", snapshot.threads.size());
  json.open("threads", '[');
  for (const auto* thread : holding_most(snapshot.threads, of_threads, kMostThreads, tid)) {
    json.open('{');
    json.number("tid", thread->tid);
    json.text("name", thread->name);
    json.text("state", std::string(1, thread->state));
    json.number("retained", of_threads[tid(*thread)]);
    json.close('}');
  }
  json.close(']');
  auto of_fibers = by_id(view.fibers);
  const auto address = [](const snapshot::Fiber& one) { return one.address; };
  json.number("fibers_in_all", snapshot.fibers.size());
  json.open("fibers", '[');
  for (const auto* fiber : holding_most(snapshot.fibers, of_fibers, kMostFibers, address)) {
    json.open('{');
    json.text("address", fmt::format("{:#x}", fiber->address));
    json.text("name", fiber->name);
    json.number("retained", of_fibers[fiber->address]);
    json.close('}');
  }
  json.close(']');
}

}  // namespace heapattach
