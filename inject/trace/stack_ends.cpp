#include "inject/trace/stack_ends.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "attach/base/page.h"
#include "attach/process/thread_activity.h"
#include "inject/trace/arch/thread_memory.h"
#include "inject/trace/blob.h"

namespace heapattach::trace {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostThreads = 16;
constexpr std::uint64_t kLeastStack = 2048;
constexpr std::uint64_t kMostStack = std::uint64_t{1} << 40;
// Limits of the distance between a stack's end and the thread pointer. Between them is the thread's
// structure in glibc, and the thread's variables in musl.
constexpr std::uint64_t kMostAbove = 8192;
constexpr std::uint64_t kMostBelow = std::uint64_t{1} << 20;
constexpr auto kBetweenChecks = 250ms;
constexpr auto kBetweenSearches = 1s;
// Reading the maps takes at most one twentieth of the time, and so does searching.
constexpr int kLookShare = 20;

std::uint32_t number_at(const NumberedThread& thread, std::uint64_t offset) {
  std::uint32_t number = 0;
  if (offset + sizeof number > thread.memory.size()) return 0;
  std::memcpy(&number, thread.memory.data() + offset, sizeof number);
  return number;
}

// Whether the mapping can contain a stack.
bool is_usable(const Mapping& mapping) {
  return mapping.readable && mapping.writable && mapping.is_private;
}

}  // namespace

std::uint64_t offset_of_number(std::span<const NumberedThread> threads) {
  if (threads.empty()) return 0;
  const auto fits = [threads](std::uint64_t offset) {
    return std::ranges::all_of(threads, [offset](const NumberedThread& thread) {
      return thread.number != 0 && number_at(thread, offset) == thread.number;
    });
  };
  for (const std::uint64_t offset : kUsualOffsets) {
    if (fits(offset)) return offset;
  }
  // A match in a single thread may be a coincidence.
  if (threads.size() < 2) return 0;
  for (std::uint64_t offset = 8; offset < kThreadBytes; offset += sizeof(std::uint32_t)) {
    if (fits(offset)) return offset;
  }
  return 0;
}

using StackForm = std::optional<Range>(std::uint64_t pointer,
                                       std::uint64_t address,
                                       std::uint64_t bytes);

// Returns the stack if it fits glibc, whose stacks have the thread's structure at their end.
std::optional<Range> stack_of_glibc(std::uint64_t pointer,
                                    std::uint64_t begin,
                                    std::uint64_t bytes) {
  if (begin >= pointer || pointer - begin >= bytes) return std::nullopt;
  if (begin + bytes - pointer > kMostAbove) return std::nullopt;
  return Range{RemoteAddr{begin}, bytes};
}

std::optional<Range> stack_of_musl(std::uint64_t pointer, std::uint64_t end, std::uint64_t bytes) {
  if (end > pointer || pointer - end > kMostBelow || end <= bytes) return std::nullopt;
  return Range{RemoteAddr{end - bytes}, bytes};
}

// Finds the first two words that describe a stack.
std::optional<Range> find_stack(std::span<const std::byte> memory,
                                std::uint64_t pointer,
                                StackForm& fits) {
  std::array<std::uint64_t, 2> words{};
  for (std::size_t at = 0; at + sizeof words <= memory.size(); at += sizeof words[0]) {
    std::memcpy(words.data(), memory.data() + at, sizeof words);
    const auto [address, bytes] = words;
    if (bytes < kLeastStack || bytes > kMostStack) continue;
    if (const std::optional<Range> stack = fits(pointer, address, bytes)) return stack;
  }
  return std::nullopt;
}

std::optional<Range> stack_of_thread(std::span<const std::byte> memory, std::uint64_t pointer) {
  const auto found = find_stack(memory, pointer, stack_of_glibc);
  return found ? found : find_stack(memory, pointer, stack_of_musl);
}

// A stack may consist of adjacent mappings, if their flags differ.
std::uint64_t begin_of_span(const MemoryMap& map, std::uint64_t end) {
  const auto& all = map.mappings();
  auto above = std::ranges::upper_bound(all, RemoteAddr{end - 1}, {},
                                        [](const Mapping& mapping) { return mapping.range.start; });
  std::uint64_t begin = end;
  while (above != all.begin()) {
    const Mapping& mapping = *--above;
    if (!is_usable(mapping) || mapping.range.end().value < begin) break;
    begin = mapping.range.start.value;
  }
  return begin;
}

StackEnds::StackEnds(const Process& target,
                     RemoteControl& control,
                     const BlobHead& head,
                     std::vector<ThreadRecordForm> forms)
    : target_(target), control_(control), head_(head), forms_(std::move(forms)) {}

RemoteAddr StackEnds::at(std::size_t offset) const {
  return RemoteAddr{head_.base} + (kBlobCodeBytes + offset);
}

// Writes words to the blob's control pages. A failure does no harm: the blob works without them.
void StackEnds::write(std::size_t offset, std::span<const std::uint64_t> words) {
  static_cast<void>(control_.write(target_.pid(), at(offset), std::as_bytes(words)));
}

Result<void> StackEnds::learn(const FrozenView& view, const MemoryMap& map) {
  HA_TRY(learn_numbers(view));
  if (head_.main_stack != 0) tell(map, head_.main_stack);
  if (head_.stack_bottom != 0) {
    const auto bottom = control_.memory().read_as<std::uint64_t>(RemoteAddr{head_.stack_bottom});
    if (bottom) tell(map, *bottom);
  }
  for (const FrozenThread& thread : view.threads) {
    if (!thread.registers) continue;
    const std::uint64_t pointer = thread.registers->thread_pointer.value;
    if (thread.tid == target_.pid()) {
      write(offsetof(BlobControl, first_thread), std::span(&pointer, 1));
      continue;
    }
    tell(map, pointer);
    // On other processors, the collector does not know a thread by its thread pointer.
    if (kPointsToItself) new_threads_.insert(pointer);
  }
  return {};
}

Result<void> StackEnds::learn_numbers(const FrozenView& view) {
  std::vector<NumberedThread> threads;
  for (const FrozenThread& thread : view.threads) {
    if (!thread.registers || threads.size() == kMostThreads) continue;
    const pid_t number = number_in_target(target_, thread.tid);
    NumberedThread one{.number = static_cast<std::uint32_t>(number),
                       .memory = thread_memory(thread.registers->thread_pointer)};
    // Skip threads without a C library's thread structure.
    const bool has_one = kPointsToItself ? number_at(one, 0) != 0 : !one.memory.empty();
    if (has_one) threads.push_back(std::move(one));
  }
  std::uint64_t offset = offset_of_number(threads);
  if (offset != 0) offset -= kThreadBelow;
  write(offsetof(BlobControl, tid_at), std::span(&offset, 1));
  return {};
}

std::vector<std::byte> StackEnds::thread_memory(RemoteAddr pointer) const {
  std::vector<std::byte> memory(kThreadBytes);
  if (pointer.value < kThreadBelow) return {};
  const RemoteAddr begin = pointer - kThreadBelow;
  const auto got = control_.memory().read_some(begin, memory);
  if (kThreadBelow == 0) {
    memory.resize(got ? *got : 0);
    return memory;
  }
  if (got && *got == memory.size()) return memory;
  // The structure is smaller than what was read, and may be at the beginning of its mapping. So
  // read only the page.
  const RemoteAddr page{pointer.value & ~(kLeastPageBytes - 1)};
  if (page <= begin) return {};
  const std::span<std::byte> nearest = std::span(memory).subspan(page - begin);
  std::fill(memory.begin(), memory.end() - static_cast<std::ptrdiff_t>(nearest.size()),
            std::byte{});
  if (!control_.memory().read(page, nearest)) return {};
  return memory;
}

// Whether `end` may be a thread pointer, where a thread's stack ends.
bool StackEnds::may_be_thread(std::uint64_t end) const {
  if (kPointsToItself) {
    const auto self = control_.memory().read_as<std::uint64_t>(RemoteAddr{end});
    return self && *self == end;
  }
  if (end == head_.main_stack) return false;
  if (head_.stack_bottom == 0) return true;
  const auto bottom = control_.memory().read_as<std::uint64_t>(RemoteAddr{head_.stack_bottom});
  return !bottom || *bottom != end;
}

// Like begin_of_span(), but for a thread's stack alone: other stacks may lie right below it.
std::uint64_t StackEnds::begin_below(const MemoryMap& map, std::uint64_t end) {
  const std::uint64_t begin = begin_of_span(map, end);
  if (may_be_thread(end)) {
    const auto stack = stack_of_thread(thread_memory(RemoteAddr{end}), end);
    if (!stack) return end;
    stacks_[stack->start.value] = std::max(stack->end().value, end);
  }
  auto below = stacks_.lower_bound(end);
  if (below == stacks_.begin()) return begin;
  --below;
  return end <= below->second ? std::max(begin, below->first) : begin;
}

// Tells the blob a span. The blob may read it at any moment, so the span's end is 0 while it
// changes.
void StackEnds::tell(const MemoryMap& map, std::uint64_t end) {
  const std::uint64_t begin = begin_below(map, end);
  BlobSpan& known = told_[span_of(end)];
  if (known.end == end && known.begin == begin) return;
  known = {end, begin};
  const std::size_t place = offsetof(BlobControl, spans) + span_of(end) * sizeof(BlobSpan);
  const std::uint64_t none = 0;
  write(place + offsetof(BlobSpan, end), std::span(&none, 1));
  write(place + offsetof(BlobSpan, begin), std::span(&begin, 1));
  write(place + offsetof(BlobSpan, end), std::span(&end, 1));
}

void StackEnds::look() {
  const auto begin = Clock::now();
  if (begin < next_look_) return;
  std::array<std::uint64_t, kAsked> asked{};
  const auto bytes = std::as_writable_bytes(std::span(asked));
  if (!control_.memory().read(at(offsetof(BlobControl, asked)), bytes)) return;
  const bool is_asked = std::ranges::any_of(asked, [](std::uint64_t end) { return end != 0; });
  if (!is_asked && begin < next_check_) return;
  const auto map = target_.maps();
  if (!map) return;
  for (const BlobSpan& span : told_) {
    if (span.end != 0) tell(*map, span.end);
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::uint64_t end = asked[i];
    if (end == 0) continue;
    tell(*map, end);
    if (kPointsToItself && may_be_thread(end)) new_threads_.insert(end);
    const std::uint64_t none = 0;
    write(offsetof(BlobControl, asked) + i * sizeof none, std::span(&none, 1));
  }
  find_records(*map);
  const auto now = Clock::now();
  next_look_ = now + kLookShare * (now - begin);
  next_check_ = now + kBetweenChecks;
}

// Looks for the collector's table of threads near its variable for the first stack. The table is an
// array of lists of records, by a hash of the thread pointer.
void StackEnds::find_records(const MemoryMap& map) {
  if (new_threads_.empty() || head_.stack_bottom == 0) return;
  if (!table_ && Clock::now() >= next_search_) {
    const auto begin = Clock::now();
    table_ = find_thread_table(control_.memory(), map, RemoteAddr{head_.stack_bottom}, new_threads_,
                               forms_);
    const auto now = Clock::now();
    next_search_ = now + std::max<Clock::duration>(kBetweenSearches, kLookShare * (now - begin));
    if (table_) tell_form(*table_);
  }
  if (!table_) return;
  for (const std::uint64_t thread : new_threads_) {
    const std::uint64_t told[] = {thread, table_->list_of(thread).value};
    const std::size_t slot = thread >> 12 & (kSlots - 1);
    write(offsetof(BlobControl, threads) + slot * sizeof(BlobThread), told);
  }
  new_threads_.clear();
}

// Writes `record_end_at` last: the blob uses the other offsets only if this is not 0.
void StackEnds::tell_form(const ThreadTable& table) {
  const std::uint64_t words[] = {table.id_at, table.part_at, table.end_at};
  write(offsetof(BlobControl, record_id_at), std::span(words).first(1));
  write(offsetof(BlobControl, record_part_at), std::span(words).subspan(1, 1));
  write(offsetof(BlobControl, record_end_at), std::span(words).last(1));
}

}  // namespace heapattach::trace
