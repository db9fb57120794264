#include <algorithm>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "report/format/export/html_sections.h"

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

// Those whose stacks hold most, at most this many; `id_of` returns the id of one.
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

// The stacks of threads and fibers, numbered on first use.
class StackNumbers {
 public:
  // Adds "stack" to the open object.
  void put_number(HtmlJson& json, const std::optional<std::uint32_t>& stack) {
    if (!stack) return;
    const auto [at, is_new] = numbers_.try_emplace(*stack, asked_.size());
    if (is_new) asked_.push_back(*stack);
    json.number("stack", at->second);
  }

  void put_stacks(HtmlJson& json, const Snapshot& snapshot) const {
    json.open("stacks", '[');
    for (const std::uint32_t number : asked_) {
      const snapshot::Stack& stack = snapshot.stacks[number];
      json.open('[');
      for (std::size_t i = 0; i < std::min(stack.frames.size(), kMostFrames); ++i) {
        put_place(json, snapshot.places[stack.frames[i].place]);
      }
      const std::uint64_t left =
          stack.left_out + stack.frames.size() - std::min(stack.frames.size(), kMostFrames);
      if (left != 0) put_line(json, fmt::format("… {} more", left), "");
      json.close(']');
    }
    json.close(']');
  }

 private:
  static constexpr std::size_t kMostFrames = 100;

  static void put_line(HtmlJson& json, std::string_view what, std::string_view where) {
    json.open('[');
    json.text(what);
    json.text(where);
    json.close(']');
  }
  static void put_code(HtmlJson& json, const snapshot::CodeLine& code, std::string_view or_else) {
    const std::string where =
        code.line == 0 ? code.file : fmt::format("{}:{}", code.file, code.line);
    put_line(json, code.function.empty() ? or_else : code.function, where);
  }
  // Inlined functions first, because they were called last.
  static void put_place(HtmlJson& json, const snapshot::Place& place) {
    for (const snapshot::CodeLine& inlined : place.inlined) put_code(json, inlined, "(inlined)");
    put_code(json, place.at,
             fmt::format("{:#x}{}{}", place.pc, place.module.empty() ? "" : " of ", place.module));
  }

  std::unordered_map<std::uint32_t, std::size_t> numbers_;
  std::vector<std::uint32_t> asked_;
};

}  // namespace

void put_html_stacks(HtmlJson& json, const Snapshot& snapshot, const HtmlView& view) {
  StackNumbers stacks;
  auto of_threads = by_id(view.threads);
  const auto tid = [](const snapshot::Thread& one) { return static_cast<std::uint64_t>(one.tid); };
  json.number("threads_in_all", snapshot.threads.size());
  json.open("threads", '[');
  for (const auto* thread : holding_most(snapshot.threads, of_threads, kMostThreads, tid)) {
    json.open('{');
    json.number("tid", thread->tid);
    json.text("name", thread->name);
    json.text("state", std::string(1, thread->state));
    stacks.put_number(json, thread->stack);
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
    stacks.put_number(json, fiber->stack);
    json.number("retained", of_fibers[fiber->address]);
    json.close('}');
  }
  json.close(']');
  stacks.put_stacks(json, snapshot);
}

}  // namespace heapattach
