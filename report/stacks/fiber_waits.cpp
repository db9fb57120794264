// Which functions of Crystal's library a fiber waits in tells what for; the object is the one of
// the fitting class that a word of these functions' frames leads to. Checked with 1.6.
//
// A sleep, or the limit of another wait, is a timer of libevent (struct event, event_struct.h of
// 2.1 on a 64-bit machine) to which the fiber's object leads: its flags are at 16, the argument at
// 32 (the fiber itself), the descriptor at 56 (none) and the time at 112, by CLOCK_MONOTONIC.
// A descriptor is the number in an IO's object that one of the process's epoll instances watches in
// the direction in which the fiber waits.

#include "report/stacks/fiber_waits.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>
#include <sys/epoll.h>

namespace heapattach::stacks {

namespace {

constexpr std::uint64_t kWord = 8;
constexpr std::size_t kInnermost = 40;   // frames in which a wait is looked for
constexpr std::size_t kOuterFrames = 3;  // that may still hold its object

// A function of Crystal's library in which fibers wait: what its name ends with or holds, and the
// file that it is in, by which also an inlined one is known, which comes without its class.
struct Sign {
  std::string_view name;
  std::string_view file;
  WaitKind kind;
};
constexpr std::array kSigns = {
    Sign{"lock", "/mutex.cr", WaitKind::Mutex},
    Sign{"lock_slow", "/mutex.cr", WaitKind::Mutex},
    Sign{"wait_readable", "", WaitKind::Read},
    Sign{"wait_acceptable", "", WaitKind::Read},
    Sign{"wait_writable", "", WaitKind::Write},
    Sign{"wait_connectable", "", WaitKind::Write},
    Sign{"select", "/channel.cr", WaitKind::Select},
    Sign{"select_impl", "/channel.cr", WaitKind::Select},
    Sign{"receive", "/channel.cr", WaitKind::Receive},
    Sign{"receive?", "/channel.cr", WaitKind::Receive},
    Sign{"receive_impl", "/channel.cr", WaitKind::Receive},
    Sign{"send", "/channel.cr", WaitKind::Send},
    Sign{"sleep", "", WaitKind::Sleep},
    Sign{"yield", "/scheduler.cr", WaitKind::Ready},
    Sign{"yield", "/fiber.cr", WaitKind::Ready},
};

// "receive" of "Channel(Int32)#receive", "yield" of "Fiber::yield".
std::string_view method_of(std::string_view function) {
  const std::size_t mark = function.find_last_of("#.:");
  return mark == std::string_view::npos ? function : function.substr(mark + 1);
}

// The class that a function's full name begins with must then be the one of the file.
bool is_of_file(const stack::Place& place, std::string_view file) {
  if (file.empty() || place.file.ends_with(file)) return true;
  if (!place.file.empty()) return false;
  const std::string_view function = place.function;
  return (file == "/mutex.cr" && function.starts_with("Mutex#")) ||
         (file == "/channel.cr" && function.starts_with("Channel")) ||
         (file == "/fiber.cr" && function.starts_with("Fiber"));
}

WaitKind kind_of(const stack::Place& place) {
  const std::string_view method = method_of(place.function);
  for (const Sign& sign : kSigns) {
    if (method == sign.name && is_of_file(place, sign.file)) return sign.kind;
  }
  return WaitKind::Unknown;
}

bool is_io(std::string_view type) {
  for (const std::string_view part : {"Socket", "File", "TCP", "UNIX", "UDP", "IO::", "Server"}) {
    if (type.find(part) != std::string_view::npos) return true;
  }
  return false;
}

bool fits(std::string_view type, WaitKind kind) {
  switch (kind) {
    case WaitKind::Receive:
    case WaitKind::Send: return type.starts_with("Channel(");
    case WaitKind::Mutex: return type == "Mutex";
    case WaitKind::Read:
    case WaitKind::Write: return is_io(type);
    default: return false;
  }
}

}  // namespace

WaitFrame wait_by_functions(const stack::StackRecord& record, const stack::Stacks& stacks) {
  const std::size_t count = std::min(record.frames.size(), kInnermost);
  WaitFrame found;
  for (std::size_t i = 0; i < count; ++i) {
    for (const stack::Place& place : stacks.places_of(record.frames[i].pc)) {
      const WaitKind kind = kind_of(place);
      if (kind == WaitKind::Unknown) continue;
      // A channel's method within its like: the outer one is what the program called.
      const bool is_same = found.kind == kind;
      if (found.kind != WaitKind::Unknown && !is_same) return found;
      found = {kind, i};
    }
  }
  return found;
}

FiberWaits::FiberWaits(const StackTarget& target,
                       const HeldStacks& held,
                       const stack::Stacks& stacks,
                       Descriptors& descriptors)
    : target_(target), held_(held), stacks_(stacks), descriptors_(descriptors) {
  for (std::size_t i = 0; i < held.fibers.size(); ++i) {
    by_address_.emplace(held.fibers[i].object.value, i);
  }
}

FiberWait FiberWaits::of(std::size_t fiber, const stack::StackRecord& record) {
  const WaitFrame by_functions = wait_by_functions(record, stacks_);
  FiberWait wait;
  wait.kind = by_functions.kind;
  if (wait.kind != WaitKind::Unknown && wait.kind != WaitKind::Ready) wait.left = time_left(fiber);
  const auto found = find_object(record, by_functions);
  if (!found) return wait;
  wait.object = found->object;
  wait.type = found->type;
  if (wait.kind == WaitKind::Mutex) wait.owner = owner_in(*found);
  const bool is_io = wait.kind == WaitKind::Read || wait.kind == WaitKind::Write;
  if (is_io) wait.descriptor = descriptor_in(*found, wait.kind);
  return wait;
}

std::optional<FiberWaits::Found> FiberWaits::find_object(const stack::StackRecord& record,
                                                         const WaitFrame& wait) const {
  const auto& frames = record.frames;
  if (wait.frame >= frames.size()) return {};
  const auto words_of = [&](std::size_t i) {
    const RemoteAddr start = frames[i].stack_pointer;
    const RemoteAddr end = frames[i].cfa;
    return end > start ? Range{start, end - start} : Range{start, 0};
  };
  // The frame that waits, then those that it called, then those that called it.
  for (std::size_t i = wait.frame + 1; i-- > 0;) {
    if (auto found = object_in(words_of(i), wait.kind)) return found;
  }
  for (std::size_t i = wait.frame + 1; i < std::min(frames.size(), wait.frame + kOuterFrames);
       ++i) {
    if (auto found = object_in(words_of(i), wait.kind)) return found;
  }
  return {};
}

std::optional<FiberWaits::Found> FiberWaits::object_in(Range words, WaitKind kind) const {
  const auto bytes = held_.capture.bytes_from(words.start);
  const std::uint64_t limit = std::min<std::uint64_t>({bytes.size(), words.bytes, kTopBytes});
  for (std::size_t at = 0; at + kWord <= limit; at += kWord) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    const auto object = object_around(held_.index, word);
    if (!object || object->start.value != word) continue;
    const auto id = held_.capture.read_as<std::uint32_t>(object->start);
    const crystal::Type* const type = id ? target_.classes.find(*id) : nullptr;
    if (type == nullptr || !fits(type->name, kind)) continue;
    return Found{object->start, std::min(object->bytes, kHeadBytes), type->name};
  }
  return {};
}

std::optional<std::size_t> FiberWaits::owner_in(const Found& mutex) const {
  for (std::uint64_t offset = kWord; offset + kWord <= mutex.bytes; offset += kWord) {
    const auto word = held_.capture.read_as<std::uint64_t>(mutex.object + offset);
    const auto fiber = word ? by_address_.find(*word) : by_address_.end();
    if (fiber != by_address_.end()) return fiber->second;
  }
  return {};
}

std::string FiberWaits::descriptor_in(const Found& io, WaitKind kind) {
  if (!watched_) watched_ = descriptors_.all_watched();
  const std::uint32_t direction = kind == WaitKind::Read ? EPOLLIN : EPOLLOUT;
  std::optional<std::uint32_t> found;
  for (std::uint64_t offset = kWord; offset + 4 <= io.bytes; offset += 4) {
    const auto number = held_.capture.read_as<std::uint32_t>(io.object + offset);
    const bool is_watched =
        number && std::any_of(watched_->begin(), watched_->end(), [&](const Watched& one) {
          return one.fd == *number && (one.events & direction) != 0;
        });
    if (!is_watched) continue;
    // Nothing is as frequent as 0: any other number is likelier to be meant.
    if (*number == 0 && found) continue;
    if (found && *found != 0 && *found != *number) return {};  // which of them, cannot be told
    found = *number;
  }
  if (!found) return {};
  const std::string what = descriptors_.what_is(*found);
  return fmt::format("{}{}{}", *found, what.empty() ? "" : ": ", what);
}

std::optional<std::chrono::milliseconds> FiberWaits::time_left(std::size_t fiber) const {
  if (!held_.monotonic) return {};
  constexpr std::uint64_t kFlags = 16;
  constexpr std::uint64_t kArgument = 32;
  constexpr std::uint64_t kDescriptor = 56;
  constexpr std::uint64_t kTime = 112;
  constexpr std::uint16_t kIsPending = 1;             // EVLIST_TIMEOUT
  constexpr std::int64_t kMicroseconds = 0x000fffff;  // the rest are flags
  constexpr std::int64_t kLongest = 1'000'000'000;    // thirty years
  const RemoteAddr object = held_.fibers[fiber].object;
  for (std::uint64_t offset = kWord; offset < target_.fibers.object_bytes; offset += kWord) {
    const auto event = held_.capture.read_as<std::uint64_t>(object + offset);
    if (!event || *event == 0 || *event % kWord != 0) continue;
    const auto argument = held_.capture.read_as<std::uint64_t>(RemoteAddr{*event} + kArgument);
    if (!argument || *argument != object.value) continue;
    const auto descriptor = held_.capture.read_as<std::int32_t>(RemoteAddr{*event} + kDescriptor);
    const auto flags = held_.capture.read_as<std::uint16_t>(RemoteAddr{*event} + kFlags);
    const auto time =
        held_.capture.read_as<std::array<std::int64_t, 2>>(RemoteAddr{*event} + kTime);
    if (!descriptor || *descriptor != -1 || !flags || (*flags & kIsPending) == 0) continue;
    if (!time || (*time)[0] < 0 || (*time)[0] > kLongest) continue;
    const auto ends =
        std::chrono::seconds((*time)[0]) + std::chrono::microseconds((*time)[1] & kMicroseconds);
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(std::chrono::nanoseconds(0), ends - *held_.monotonic));
  }
  return {};
}

}  // namespace heapattach::stacks
