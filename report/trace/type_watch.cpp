#include "report/trace/type_watch.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "inject/trace/arch/layout.h"

namespace heapattach::trace {

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
// The age at which a program is expected to have written an object's header. An earlier look would
// be useless.
constexpr std::uint64_t kWritten = 2 * kMillisecond;
// The age at which an object is looked at again if the first look proved nothing. A record's time
// may be one tick of the kernel too early, which is 10 ms at most.
constexpr std::uint64_t kSecondLook = 30 * kMillisecond;
constexpr std::uint64_t kBetweenLooks = 2 * kMillisecond;
constexpr std::uint16_t kLooks = 2;
// Looking takes at most this share of the time, and at most so many objects wait for it.
constexpr std::uint64_t kLookShare = 4;
constexpr std::size_t kMostWatched = 20'000;

std::uint64_t elapsed_since(std::chrono::steady_clock::time_point begin) {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace

std::uint64_t TypeWatch::add(const RingRecord& record) {
  // The memory belonged to another object, whose end was not recorded.
  end(record.address);
  constexpr std::uint32_t kNormalKind = 1;
  const bool may_have_type = !types_.only_atomic() || record.kind != kNormalKind;
  if (is_stopped_ || !may_have_type || record.is_tracked == 0 || record.size < 8) return 0;
  if (watched_.size() >= kMostWatched) return 0;
  const std::uint64_t number = first_ + watched_.size();
  watched_.push_back({.address = record.address,
                      .time = record.time,
                      .object = {.bytes = record.size, .before = record.before},
                      .collection = record.collection,
                      .type = {},
                      .seen = {}});
  numbers_[record.address] = number;
  return number;
}

void TypeWatch::end(std::uint64_t address) {
  const auto number = numbers_.find(address);
  if (number == numbers_.end()) return;
  Watched& one = at(number->second);
  one.is_done = true;
  one.type.clear();
  numbers_.erase(number);
}

void TypeWatch::end_all() {
  for (const auto& [address, number] : numbers_) {
    Watched& one = at(number);
    one.is_done = true;
    one.type.clear();
  }
  numbers_.clear();
}

bool TypeWatch::is_done(std::uint64_t number) const {
  return number < first_ || watched_[number - first_].is_done;
}

std::string TypeWatch::take(std::uint64_t number) {
  if (number < first_) return {};
  std::string type = at(number).is_done ? std::move(at(number).type) : std::string();
  while (first_ <= number) {
    const auto known = numbers_.find(watched_.front().address);
    if (known != numbers_.end() && known->second == first_) numbers_.erase(known);
    watched_.pop_front();
    ++first_;
  }
  return type;
}

void TypeWatch::advance(const Ring& ring, std::uint64_t now) {
  if (ring.taken() >= seen_up_to_) confirm();
  if (is_stopped_) {
    if (seen_.empty()) end_all();
    return;
  }
  if (seen_.empty() && now >= next_look_ && !watched_.empty()) look(ring, now);
}

std::vector<std::uint64_t> TypeWatch::due(std::uint64_t now) const {
  std::vector<std::uint64_t> due;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    const Watched& one = watched_[i];
    const std::uint64_t age = now > one.time ? now - one.time : 0;
    if (age < kWritten) break;  // all later ones are younger, or nearly so
    if (!one.is_done && (one.looks == 0 || age >= kSecondLook)) due.push_back(first_ + i);
  }
  return due;
}

void TypeWatch::look(const Ring& ring, std::uint64_t now) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::uint64_t> numbers = due(now);
  next_look_ = now + kBetweenLooks;
  if (numbers.empty()) return;
  std::size_t needed = 0;
  for (const std::uint64_t number : numbers) needed += types_.needed(at(number).object.bytes);
  std::vector<std::byte> contents(needed);
  std::vector<Copy> copies;
  std::span<std::byte> free = contents;
  for (const std::uint64_t number : numbers) {
    const Watched& one = at(number);
    const auto into = free.first(types_.needed(one.object.bytes));
    free = free.subspan(into.size());
    copies.push_back({RemoteAddr{one.address}, into});
  }
  const auto holes = memory_.copy_all(copies, {});
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Watched& one = at(numbers[i]);
    ++one.looks;
    one.seen = holes ? types_.type_of(one.object, copies[i].into) : std::nullopt;
    if (!one.seen || one.seen->end == 0) continue;
    const auto last = memory_.read_as<std::byte>(RemoteAddr{one.address} + one.seen->end);
    if (!last || *last != std::byte{0}) one.seen.reset();
  }
  // The counts below must be read after the objects.
  const auto all = memory_.read_as<std::uint64_t>(collections_.all);
  const auto followed = memory_.read_as<std::uint64_t>(collections_.seen);
  const std::uint64_t lost = ring.counts().lost_ends;
  seen_up_to_ = ring.written();
  if (lost != std::exchange(lost_ends_, lost)) return end_all();
  for (const std::uint64_t number : numbers) {
    Watched& one = at(number);
    const bool is_followed =
        collections_.all.value == 0 ||
        (all && followed &&
         (static_cast<std::uint32_t>(*all) == one.collection ||
          static_cast<std::uint32_t>(*all) == static_cast<std::uint32_t>(*followed)));
    if (!is_followed) one.seen.reset();
    seen_.push_back(number);
  }
  next_look_ = now + std::max(kBetweenLooks, kLookShare * elapsed_since(begin));
}

void TypeWatch::confirm() {
  for (const std::uint64_t number : std::exchange(seen_, {})) {
    if (number >= first_ && !at(number).is_done) settle(at(number));
  }
}

// Accepts a look: the object had not ended when it was seen.
void TypeWatch::settle(Watched& one) {
  if (one.seen) {
    const bool is_same = one.looks > 1 && one.type == one.seen->name;
    one.is_done = !one.seen->may_be_base || is_same;
    one.type = std::move(one.seen->name);
  }
  const bool is_last = one.looks >= kLooks;
  if (!one.is_done && is_last) {
    one.is_done = true;
    one.type.clear();
  }
  if (one.is_done) numbers_.erase(one.address);
}

}  // namespace heapattach::trace
