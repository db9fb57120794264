#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "report/format/export/html_sections.h"
#include "report/stacks/saved_stacks.h"

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

// Chooses the threads or fibers whose stacks retain most, at most `most` of them. `id_of` returns
// the id of one.
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
    const stacks::OwnCode own_code(snapshot);
    json.open("stacks", '[');
    for (const std::uint32_t number : asked_) {
      const snapshot::Stack& stack = snapshot.stacks[number];
      json.open('[');
      for (std::size_t i = 0; i < std::min(stack.frames.size(), kMostFrames); ++i) {
        put_place(json, snapshot.places[stack.frames[i].place], own_code);
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

  static void put_line(HtmlJson& json,
                       std::string_view what,
                       std::string_view where,
                       bool is_own = false) {
    json.open('[');
    json.text(what);
    json.text(where);
    if (is_own) json.number(1);
    json.close(']');
  }
  static void put_code(HtmlJson& json,
                       const snapshot::CodeLine& code,
                       std::string_view or_else,
                       bool is_own) {
    const std::string where =
        code.line == 0 ? code.file : fmt::format("{}:{}", code.file, code.line);
    put_line(json, code.function.empty() ? or_else : code.function, where, is_own);
  }
  // Inlined functions first, because they were called last.
  static void put_place(HtmlJson& json,
                        const snapshot::Place& place,
                        const stacks::OwnCode& own_code) {
    for (const snapshot::CodeLine& inlined : place.inlined) {
      put_code(json, inlined, "(inlined)", own_code.is_own(place, inlined));
    }
    put_code(json, place.at,
             fmt::format("{:#x}{}{}", place.pc, place.module.empty() ? "" : " of ", place.module),
             own_code.is_own(place, place.at));
  }

  std::unordered_map<std::uint32_t, std::size_t> numbers_;
  std::vector<std::uint32_t> asked_;
};

void put_texts(HtmlJson& json, std::string_view name, const std::vector<std::string>& texts) {
  json.open(name, '[');
  for (const std::string& text : texts) json.text(text);
  json.close(']');
}

}  // namespace

void put_html_stacks(HtmlJson& json, const Snapshot& snapshot, const HtmlView& view) {
  put_texts(json, "findings", snapshot.header.findings);
  put_texts(json, "remarks", snapshot.header.remarks);
  StackNumbers numbers;
  auto of_threads = by_id(view.threads);
  const auto tid = [](const snapshot::Thread& one) { return static_cast<std::uint64_t>(one.tid); };
  json.number("threads_in_all", snapshot.threads.size());
  json.open("threads", '[');
  for (const auto* thread : holding_most(snapshot.threads, of_threads, kMostThreads, tid)) {
    json.open('{');
    json.number("tid", thread->tid);
    json.text("name", thread->name);
    json.text("state", std::string(1, thread->state));
    json.text("call", thread->wait.call);
    if (thread->wait.thread) {
      json.text("waits",
                "waits for a mutex of " + stacks::title_of(snapshot.threads[*thread->wait.thread]));
    }
    if (thread->finding) json.number("finding", *thread->finding);
    numbers.put_number(json, thread->stack);
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
    if (fiber->wait.kind != stacks::WaitKind::Unknown) {
      json.text("waits", stacks::describe_wait(snapshot.fibers, fiber->wait));
    }
    if (fiber->finding) json.number("finding", *fiber->finding);
    numbers.put_number(json, fiber->stack);
    json.number("retained", of_fibers[fiber->address]);
    json.close('}');
  }
  json.close(']');
  numbers.put_stacks(json, snapshot);
}

}  // namespace heapattach
