#include "report/format/read/waits.h"

#include <chrono>
#include <string>
#include <unordered_map>
#include <utility>

#include "report/format/read/json_fields.h"
#include "report/model/frame_words.h"

namespace heapattach::read {

namespace {

bool read_seconds(JsonCursor& json, std::optional<std::chrono::milliseconds>& out) {
  constexpr double kMost = 1e12;
  double seconds = 0;
  if (!json.number(seconds)) return false;
  if (!(seconds >= 0 && seconds <= kMost)) return json.fail("an impossible time");
  out = std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
  return true;
}

bool read_fiber_wait(JsonCursor& json, RawFiber& out) {
  snapshot::FiberWait& wait = out.fiber.wait;
  return json.object([&](std::string_view key) {
    if (key == "for") return read_word(json, snapshot::kWaitWords, wait.kind);
    if (key == "object") return json.address(wait.object.value);
    if (key == "type") return json.string(wait.type);
    if (key == "holder") return json.string(wait.holder);
    if (key == "owner") return read_address(json, out.mentions.owner);
    if (key == "descriptor") return json.string(wait.descriptor);
    if (key == "process") return read_number(json, wait.process);
    if (key == "left_s") return read_seconds(json, wait.left);
    if (key == "may_have_limit") return json.boolean(wait.may_have_limit);
    if (key == "lossy") return json.boolean(wait.is_lossy);
    return json.skip();
  });
}

bool read_thread_wait(JsonCursor& json, RawThread& out) {
  snapshot::ThreadWait& wait = out.thread.wait;
  const bool is_read = json.object([&](std::string_view key) {
    if (key == "call") return json.string(wait.call);
    if (key == "thread") return read_number(json, out.mentions.owner);
    if (key == "mutex") return json.string(wait.mutex);
    if (key == "lossy") return json.boolean(wait.is_lossy);
    return json.skip();
  });
  wait.kind = snapshot::thread_wait_of(wait.mutex);
  return is_read;
}

// The position of each, by the name that records use for it.
template <class Key, class All, class Name>
std::unordered_map<Key, std::size_t> numbers_of(const All& all, const Name& name) {
  std::unordered_map<Key, std::size_t> numbers;
  for (std::size_t i = 0; i < all.size(); ++i) numbers.try_emplace(name(all[i]), i);
  return numbers;
}

template <class Key>
std::optional<std::size_t> find(const std::unordered_map<Key, std::size_t>& numbers,
                                const std::optional<Key>& mentioned) {
  if (!mentioned) return {};
  const auto found = numbers.find(*mentioned);
  if (found == numbers.end()) return {};
  return found->second;
}

}  // namespace

bool read_wait(JsonCursor& json, std::string_view key, RawThread& out) {
  if (key == "waits") return read_thread_wait(json, out);
  if (key == "own_function") return json.string(out.thread.function);
  if (key == "fiber") return read_address(json, out.mentions.fiber);
  if (key == "idle") return json.boolean(out.thread.is_idle);
  if (key == "finding") return read_number(json, out.thread.finding);
  return json.skip();
}

bool read_wait(JsonCursor& json, std::string_view key, RawFiber& out) {
  if (key == "waits") return read_fiber_wait(json, out);
  if (key == "own_function") return json.string(out.fiber.function);
  if (key == "context") return json.string(out.fiber.context);
  if (key == "runtime") return json.boolean(out.fiber.is_of_runtime);
  if (key == "thread") return read_number(json, out.mentions.thread);
  if (key == "of_thread") return json.string(out.fiber.of_thread);
  if (key == "finding") return read_number(json, out.fiber.finding);
  return json.skip();
}

void resolve_mentions(const AllMentions& mentions, snapshot::Snapshot& snapshot) {
  const auto threads = numbers_of<pid_t>(snapshot.threads,
                                         [](const snapshot::Thread& thread) { return thread.tid; });
  const auto fibers = numbers_of<std::uint64_t>(
      snapshot.fibers, [](const snapshot::Fiber& fiber) { return fiber.address; });
  const auto check_finding = [&](std::optional<std::size_t>& finding) {
    if (finding && *finding >= snapshot.header.findings.size()) finding.reset();
  };
  for (std::size_t i = 0; i < snapshot.threads.size(); ++i) {
    snapshot::Thread& thread = snapshot.threads[i];
    thread.fiber = find(fibers, mentions.threads[i].fiber);
    thread.wait.thread = find(threads, mentions.threads[i].owner);
    check_finding(thread.finding);
  }
  for (std::size_t i = 0; i < snapshot.fibers.size(); ++i) {
    snapshot::Fiber& fiber = snapshot.fibers[i];
    fiber.thread = find(threads, mentions.fibers[i].thread);
    fiber.wait.owner = find(fibers, mentions.fibers[i].owner);
    check_finding(fiber.finding);
  }
}

}  // namespace heapattach::read
