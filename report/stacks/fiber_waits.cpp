// The descriptor of an IO is the one in the event that the fiber has registered with Crystal's
// event loop. With libevent it is the number in the IO's object that one of the process's epoll
// instances watches in the direction in which the fiber waits.

#include "report/stacks/fiber_waits.h"

#include <algorithm>
#include <charconv>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>

#include "attach/base/word.h"
#include "report/stacks/held_stacks.h"

namespace heapattach::stacks {

namespace {

constexpr std::size_t kOuterFrames = 3;  // that may still hold an event, or a process

bool is_io(WaitKind kind) {
  return snapshot::wait_kind(kind).is_io;
}

// Whether the fiber waits for a single object, which lists it. A mutex is found by its frames.
bool is_for_list(WaitKind kind) {
  return snapshot::wait_kind(kind).is_listed && kind != WaitKind::Mutex;
}

// Refines a wait that the functions leave open by its event.
WaitKind kind_by(WaitKind kind, const PollingEvent& event) {
  if (kind != WaitKind::Unknown && kind != WaitKind::Io) return kind;
  switch (event.type) {
    case PollingEvent::Type::Read: return WaitKind::Read;
    case PollingEvent::Type::Write: return WaitKind::Write;
    case PollingEvent::Type::Sleep: return WaitKind::Sleep;
    case PollingEvent::Type::SelectTimeout: break;
  }
  return kind;
}

bool is_of(const PollingEvent& event, WaitKind kind) {
  switch (event.type) {
    case PollingEvent::Type::Read:
    case PollingEvent::Type::Write: return is_io(kind) || kind == WaitKind::Unknown;
    case PollingEvent::Type::Sleep:
      return kind == WaitKind::Sleep || kind == WaitKind::Io || kind == WaitKind::Unknown;
    case PollingEvent::Type::SelectTimeout: return false;
  }
  return false;
}

// A read from a listening socket is an accept.
void refine_by_descriptor(FiberWait& wait) {
  const std::string_view what = wait.descriptor;
  if (wait.kind == WaitKind::Read && what.ends_with(" listening")) wait.kind = WaitKind::Accept;
  if (wait.kind == WaitKind::Write && what.ends_with(" connecting")) wait.kind = WaitKind::Connect;
}

// From the innermost frame to a few after the one that waits.
Range words_around(const unwind::StackRecord& record, const WaitFrame& wait) {
  if (record.frames.empty()) return {};
  const RemoteAddr start = record.frames.front().stack_pointer;
  RemoteAddr end = start + kTopBytes;
  const std::size_t last = std::min(record.frames.size(), wait.frame + kOuterFrames);
  for (std::size_t i = 0; i < last; ++i) end = std::max(end, record.frames[i].cfa);
  return {start, end - start};
}

}  // namespace

FiberWaits::FiberWaits(const Scene& scene, const CrystalLibrary& library, Descriptors& descriptors)
    : scene_(scene),
      library_(library),
      descriptors_(descriptors),
      objects_(scene.index, scene.capture, scene.classes, scene.fibers) {}

FiberWait FiberWaits::of(std::size_t fiber, const unwind::StackRecord& record) {
  const WaitFrame told = wait_by_functions(record, scene_.stacks, library_);
  FiberWait wait;
  wait.kind = told.kind;
  wait.type = told.type;
  if (told.is_scheduler || wait.kind == WaitKind::Ready) return wait;
  const Event event = event_of(fiber, record, told);
  if (event.polling) wait.kind = kind_by(wait.kind, *event.polling);
  if (wait.kind == WaitKind::Unknown || is_for_list(wait.kind)) add_listing(fiber, wait);
  if (event.wakes_at && scene_.monotonic) {
    wait.left = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(std::chrono::nanoseconds(0), *event.wakes_at - *scene_.monotonic));
  }
  wait.may_have_limit = event.may_wake || (event.wakes_at && !scene_.monotonic);
  if (wait.kind == WaitKind::Unknown || wait.object.value != 0) return wait;
  const bool has_descriptor = is_io(wait.kind) && event.polling && event.polling->descriptor;
  if (has_descriptor) wait.descriptor = descriptor_text(*event.polling->descriptor);
  refine_by_descriptor(wait);
  if (wait.kind == WaitKind::Process) wait.process = process_in(record, told);
  const auto found = objects_.find(record, {wait.kind, told.frame, told.type});
  if (!found) return wait;
  wait.object = found->start;
  if (found->type != nullptr && !found->type->name.empty()) wait.type = found->type->name;
  if (wait.kind == WaitKind::Mutex) wait.owner = objects_.owner_of(*found);
  if (is_io(wait.kind) && !has_descriptor) wait.descriptor = descriptor_in(*found, wait.kind);
  refine_by_access(wait);
  refine_by_descriptor(wait);
  return wait;
}

// Finds the object that lists the fiber as waiting. It also shows the kind of wait if no function
// does. Its address may be among the registers that were saved when the fiber was suspended.
void FiberWaits::add_listing(std::size_t fiber, FiberWait& wait) const {
  const crystal::FiberStack& of_fiber = scene_.fibers[fiber];
  const auto found = objects_.listing(of_fiber.stack, of_fiber.object);
  if (!found) return;
  if (wait.kind == WaitKind::Unknown) wait.kind = found->kind;
  wait.object = found->object.start;
  wait.type = found->object.type->name;
  if (wait.kind == WaitKind::Mutex) wait.owner = objects_.owner_of(found->object);
}

FiberWaits::Event FiberWaits::event_of(std::size_t fiber,
                                       const unwind::StackRecord& record,
                                       const WaitFrame& wait) {
  Event event;
  const crystal::FiberStack& of_fiber = scene_.fibers[fiber];
  Range words = words_around(record, wait);
  if (words.end() > of_fiber.stack.end()) {
    const bool is_inside = of_fiber.stack.end() > words.start;
    words.bytes = is_inside ? of_fiber.stack.end() - words.start : 0;
  }
  for (const PollingEvent& one : find_polling_events(words, of_fiber.object, scene_.capture)) {
    // Only a live process shows whether a descriptor is open.
    const bool is_open =
        !one.descriptor || scene_.process == nullptr || is_open_descriptor(*one.descriptor);
    if (event.polling || !is_of(one, wait.kind) || !is_open) continue;
    event.polling = one;
    event.wakes_at = one.wakes_at;
  }
  const bool has_timer = !event.polling && wait.kind != WaitKind::SleepForever;
  if (has_timer) add_timers(of_fiber.object, event);
  return event;
}

// Adds the timers that the fiber's object references.
void FiberWaits::add_timers(RemoteAddr fiber, Event& event) const {
  constexpr std::uint64_t kLargestEvent = 160;
  for (std::uint64_t offset = kWordBytes; offset < scene_.fiber_bytes; offset += kWordBytes) {
    const auto word = scene_.capture.read_as<std::uint64_t>(fiber + offset);
    if (!word || *word == 0 || *word % kWordBytes != 0) continue;
    const RemoteAddr at{*word};
    if (const auto wakes_at = read_libevent_timer(at, fiber, scene_.capture)) {
      event.wakes_at = *wakes_at;
      return;
    }
    const auto object = object_around(scene_.index, *word);
    if (!object || object->start != at || object->bytes > kLargestEvent) continue;
    if (const auto timer = read_polling_event(at + kWordBytes, fiber, scene_.capture)) {
      if (timer->wakes_at) event.wakes_at = *timer->wakes_at;
      continue;
    }
    // The event belongs to another event loop.
    const auto back = scene_.capture.read_as<std::uint64_t>(at + 2 * kWordBytes);
    if (back && *back == fiber.value) event.may_wake = true;
  }
}

bool FiberWaits::is_open_descriptor(std::uint32_t number) {
  return !descriptors_.what_is(number).empty();
}

std::string FiberWaits::descriptor_text(std::uint32_t number) {
  const std::string what = descriptors_.what_is(number);
  return fmt::format("{}{}{}", number, what.empty() ? "" : ": ", what);
}

// If a descriptor is open for one direction only, the fiber waits for that direction.
void FiberWaits::refine_by_access(FiberWait& wait) const {
  if (wait.kind != WaitKind::Io || wait.descriptor.empty()) return;
  std::uint32_t number = 0;
  const char* const end = wait.descriptor.data() + wait.descriptor.size();
  if (std::from_chars(wait.descriptor.data(), end, number).ec != std::errc()) return;
  const auto access = descriptors_.access_of(number);
  if (access == O_RDONLY) wait.kind = WaitKind::Read;
  if (access == O_WRONLY) wait.kind = WaitKind::Write;
}

std::string FiberWaits::descriptor_in(const AwaitedObject& io, WaitKind kind) {
  if (!watched_) watched_ = descriptors_.all_watched();
  std::uint32_t direction = snapshot::wait_kind(kind).is_reading ? EPOLLIN : EPOLLOUT;
  if (kind == WaitKind::Io) direction = EPOLLIN | EPOLLOUT;
  std::optional<std::uint32_t> found;
  for (std::uint64_t offset = kWordBytes; offset + 4 <= io.bytes; offset += 4) {
    const auto number = scene_.capture.read_as<std::uint32_t>(io.start + offset);
    const bool is_watched =
        number && std::any_of(watched_->begin(), watched_->end(), [&](const Watched& one) {
          return one.fd == *number && (one.events & direction) != 0;
        });
    if (!is_watched) continue;
    // Zero is the most frequent word: any other number is more likely to be the descriptor.
    if (*number == 0 && found) continue;
    if (found && *found != 0 && *found != *number) return {};  // ambiguous
    found = *number;
  }
  return found ? descriptor_text(*found) : std::string();
}

// The child of the target whose number is in an object that the frames reference.
std::optional<pid_t> FiberWaits::process_in(const unwind::StackRecord& record,
                                            const WaitFrame& wait) {
  if (!children_) children_ = descriptors_.children();
  if (children_->empty()) return {};
  const std::size_t last = std::min(record.frames.size(), wait.frame + kOuterFrames);
  for (std::size_t i = wait.frame > 0 ? wait.frame - 1 : 0; i < last; ++i) {
    const unwind::FrameRecord& frame = record.frames[i];
    if (frame.cfa <= frame.stack_pointer) continue;
    for (const AwaitedObject& object :
         objects_.objects_of({frame.stack_pointer, frame.cfa - frame.stack_pointer})) {
      for (std::uint64_t offset = 4; offset + 4 <= std::min(object.bytes, kHeadBytes);
           offset += 4) {
        const auto number = scene_.capture.read_as<pid_t>(object.start + offset);
        if (number && children_->contains(*number)) return *number;
      }
    }
  }
  return {};
}

}  // namespace heapattach::stacks
