// The objects, by release (offsets of 64-bit machines; the first word begins with the type id):
//
//   Mutex        1.0 to 1.19: whether it is locked at 4, the owner at 8
//   Sync::Mutex  1.20 …: the owner in @locked_by, the list of waiting fibers within @mu
//   Channel, WaitGroup, Sync::RWLock and others: one or two lists of waiting fibers
//
// An owner is found without offsets: nothing else in a mutex is a fiber. A list is a pointer to the
// first node; nodes point to each other, and each is on the stack of the fiber that waits.

#include "report/stacks/awaited_objects.h"

#include <algorithm>
#include <array>

#include "attach/base/word.h"
#include "report/stacks/held_stacks.h"

namespace heapattach::stacks {

namespace {

constexpr std::size_t kOuterFrames = 3;  // that may still hold the object
constexpr std::uint32_t kIsLocked = 1;
constexpr std::int32_t kUnchecked = 2;  // of Mutex::Protection

bool is_io(std::string_view type) {
  for (const std::string_view part : {"Socket", "File", "TCP", "UNIX", "UDP", "IO::", "Server"}) {
    if (type.find(part) != std::string_view::npos) return true;
  }
  return false;
}

bool is_of_kind(std::string_view type, WaitKind kind) {
  const snapshot::WaitKindRow& row = snapshot::wait_kind(kind);
  if (row.waits_for == snapshot::WaitsFor::Descriptor) return is_io(type);
  return std::any_of(row.types.begin(), row.types.end(), [&](std::string_view name) {
    return name.ends_with('(') ? type.starts_with(name) : !name.empty() && type == name;
  });
}

// The wait of a fiber that is in the list at `offset` of an object of this type.
WaitKind kind_of(const crystal::Type& type, std::uint64_t offset) {
  const auto has_list = [&](std::string_view name) {
    return std::any_of(type.fields.begin(), type.fields.end(), [&](const crystal::Field& field) {
      return field.offset == offset && field.name.starts_with(name);
    });
  };
  for (const snapshot::WaitKindRow& row : snapshot::kWaitKinds) {
    if (!row.is_listed || !is_of_kind(type.name, row.kind)) continue;
    if (row.list.empty() || has_list(row.list)) return row.kind;
  }
  return WaitKind::Unknown;
}

Range words_of(const unwind::FrameRecord& frame) {
  const bool is_known = frame.cfa > frame.stack_pointer;
  return {frame.stack_pointer, is_known ? frame.cfa - frame.stack_pointer : 0};
}

}  // namespace

AwaitedObjects::AwaitedObjects(const heap::BlockIndex& index,
                               const MemoryReader& memory,
                               const crystal::TypeTable& classes,
                               std::span<const crystal::FiberStack> fibers)
    : index_(index), memory_(memory), classes_(classes) {
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    by_address_.emplace(fibers[i].object.value, i);
    stacks_.push_back(fibers[i].stack);
  }
  std::sort(stacks_.begin(), stacks_.end());
}

std::optional<AwaitedObject> AwaitedObjects::find(const unwind::StackRecord& record,
                                                  const WaitFrame& wait) const {
  const auto& frames = record.frames;
  if (wait.frame >= frames.size()) return {};
  // The frame that waits, then those that it called, then its callers.
  std::vector<std::size_t> order;
  for (std::size_t i = wait.frame + 1; i-- > 0;) order.push_back(i);
  const std::size_t end = std::min(frames.size(), wait.frame + kOuterFrames);
  for (std::size_t i = wait.frame + 1; i < end; ++i) order.push_back(i);
  // A lock or list within an object is called by its own address.
  for (const Words words : {Words::Starts, Words::All}) {
    for (const bool by_type : {true, false}) {
      for (const std::size_t i : order) {
        for (const AwaitedObject& object : objects_of(words_of(frames[i]), words)) {
          if (fits(object, wait.kind, by_type)) return object;
        }
      }
    }
  }
  return {};
}

std::vector<AwaitedObject> AwaitedObjects::objects_of(Range range, Words words) const {
  std::vector<AwaitedObject> objects;
  std::vector<std::uint64_t> contents(std::min(range.bytes, kTopBytes) / kWordBytes);
  if (!memory_.read(range.start, std::as_writable_bytes(std::span(contents)))) return objects;
  for (const std::uint64_t word : contents) {
    const auto object = object_at(word, words);
    const bool is_new = object && std::none_of(objects.begin(), objects.end(), [&](const auto& o) {
                          return o.start == object->start;
                        });
    if (is_new) objects.push_back(*object);
  }
  return objects;
}

std::optional<AwaitedObject> AwaitedObjects::object_at(std::uint64_t word, Words words) const {
  const auto around = object_around(index_, word);
  if (!around || (words == Words::Starts && around->start.value != word)) return {};
  const auto id = memory_.read_as<std::uint32_t>(around->start);
  if (!id) return {};
  return AwaitedObject{around->start, std::min(around->bytes, kHeadBytes), classes_.find(*id)};
}

bool AwaitedObjects::fits(const AwaitedObject& object, WaitKind kind, bool by_type) const {
  const bool is_named = object.type != nullptr && !object.type->name.empty();
  if (by_type) return is_named && is_of_kind(object.type->name, kind);
  const bool has_list = snapshot::wait_kind(kind).is_listed;
  if (is_named || !has_list || by_address_.contains(object.start.value)) return false;
  return has_waiting_list(object) || (kind == WaitKind::Mutex && is_held_mutex(object));
}

bool AwaitedObjects::has_waiting_list(const AwaitedObject& object) const {
  for (std::uint64_t offset = kWordBytes; offset + kWordBytes <= object.bytes;
       offset += kWordBytes) {
    const auto word = memory_.read_as<std::uint64_t>(object.start + offset);
    if (!word || *word % kWordBytes != 0) continue;
    const auto after = std::partition_point(
        stacks_.begin(), stacks_.end(), [&](const Range& one) { return one.start.value <= *word; });
    if (after != stacks_.begin() && std::prev(after)->contains(RemoteAddr{*word})) return true;
  }
  return false;
}

std::optional<AwaitedObjects::Listing> AwaitedObjects::listing(Range range,
                                                               RemoteAddr fiber) const {
  for (const Words words : {Words::Starts, Words::All}) {
    for (const AwaitedObject& object : objects_of(range, words)) {
      if (object.type == nullptr || kind_of(*object.type, 0) == WaitKind::Unknown) continue;
      for (std::uint64_t offset = kWordBytes; offset + kWordBytes <= object.bytes;
           offset += kWordBytes) {
        const auto head = memory_.read_as<std::uint64_t>(object.start + offset);
        if (!head || !is_listed(*head, fiber)) continue;
        return Listing{object, kind_of(*object.type, offset)};
      }
    }
  }
  return {};
}

bool AwaitedObjects::is_listed(std::uint64_t head, RemoteAddr fiber) const {
  const auto [known, is_new] = lists_.try_emplace(head);
  if (is_new) known->second = fibers_in_list(head);
  return known->second.contains(fiber.value);
}

// The fibers in a list that begins at `head`. Each node begins with the addresses of its
// neighbours; the last one references the first, or nothing.
std::unordered_set<std::uint64_t> AwaitedObjects::fibers_in_list(std::uint64_t head) const {
  constexpr std::size_t kNodeWords = 12;
  constexpr std::size_t kMostNodes = 1'000'000;
  std::unordered_set<std::uint64_t> fibers;
  std::unordered_set<std::uint64_t> seen;
  std::vector<std::uint64_t> open{head};
  while (!open.empty() && seen.size() < kMostNodes) {
    const std::uint64_t at = open.back();
    open.pop_back();
    // A Fiber also begins with links to its neighbours, but is not a node.
    const bool may_be_node = at != 0 && at % kWordBytes == 0 && !by_address_.contains(at);
    if (!may_be_node || !seen.insert(at).second) continue;
    std::array<std::uint64_t, kNodeWords> words{};
    const auto copied = memory_.read_some(RemoteAddr{at}, std::as_writable_bytes(std::span(words)));
    const std::size_t count = copied ? *copied / kWordBytes : 0;
    // Only the first fiber counts: the words may extend past the node.
    for (std::size_t i = 2; i < count; ++i) {
      if (!by_address_.contains(words[i])) continue;
      fibers.insert(words[i]);
      open.insert(open.end(), words.begin(), words.begin() + 2);
      break;
    }
  }
  return fibers;
}

bool AwaitedObjects::is_held_mutex(const AwaitedObject& object) const {
  const auto state = memory_.read_as<std::uint32_t>(object.start + 4);
  const auto owner = memory_.read_as<std::uint64_t>(object.start + kWordBytes);
  return state && *state == kIsLocked && owner && by_address_.contains(*owner);
}

// An unchecked Mutex of the older kind keeps the owner from its last contention.
bool AwaitedObjects::keeps_no_owner(const AwaitedObject& mutex) const {
  if (mutex.type == nullptr || mutex.type->name != "Mutex") return false;
  for (const crystal::Field& field : mutex.type->fields) {
    if (field.name != "@protection") continue;
    const auto protection = memory_.read_as<std::int32_t>(mutex.start + field.offset);
    return protection && *protection == kUnchecked;
  }
  // After the count of waiters, at 32, and a lock that only some builds have.
  for (const std::uint64_t offset : {std::uint64_t{36}, std::uint64_t{40}}) {
    const auto protection = memory_.read_as<std::int32_t>(mutex.start + offset);
    if (protection && *protection == kUnchecked) return true;
  }
  return false;
}

std::optional<std::size_t> AwaitedObjects::owner_of(const AwaitedObject& mutex) const {
  if (keeps_no_owner(mutex)) return {};
  for (std::uint64_t offset = kWordBytes; offset + kWordBytes <= mutex.bytes;
       offset += kWordBytes) {
    const auto word = memory_.read_as<std::uint64_t>(mutex.start + offset);
    const auto fiber = word ? by_address_.find(*word) : by_address_.end();
    if (fiber != by_address_.end()) return fiber->second;
  }
  return {};
}

}  // namespace heapattach::stacks
