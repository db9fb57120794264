#include "report/trace/event_log.h"

#include <vector>

#include <doctest/doctest.h>

namespace heapattach::trace {

namespace {

std::vector<Event> read_all(const EventLog& log) {
  std::vector<Event> events;
  EventLog::Reader reader(log);
  for (Event event; reader.next(event);) events.push_back(event);
  return events;
}

TEST_CASE("a log returns the events that were added") {
  const std::vector<Event> events{
      {EventKind::Alloc, 5, 0, kNone, 0x7f0000001000, 0, 48, 3, 7, 12},
      {EventKind::Alloc, 3, 1, 2, 0x7f0000000fe0, 0, 1ULL << 40, kNone, kNone, 13},
      {EventKind::Realloc, 9, 1, 2, 0x10, 0xffffffffffffffff, 0, 0, 0, 2},
      {EventKind::Free, 9, kNone, kNone, 0x7f0000001000},
      {.kind = EventKind::Dead, .time_ns = ~0ULL, .address = 0, .collection = ~0ULL},
      {.kind = EventKind::Dead, .time_ns = 0, .thread = 5, .address = ~0ULL, .collection = 0},
  };
  EventLog log;
  for (const Event& event : events) log.add(event);
  CHECK(log.size() == events.size());
  CHECK(read_all(log) == events);
  CHECK(read_all(EventLog()).empty());
}

TEST_CASE("a reader that has come to the end goes on with what is added") {
  EventLog log;
  EventLog::Reader reader(log);
  Event event;
  CHECK_FALSE(reader.next(event));
  // Enough events for several chunks; the last chunk is not full.
  std::uint64_t seen = 0;
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    log.add({.time_ns = i * 1000, .address = i << 20, .bytes = i});
    if (i % 7 != 0) continue;
    while (reader.next(event)) CHECK_MESSAGE(event.bytes == seen++, i);
    CHECK_FALSE(reader.next(event));
  }
  while (reader.next(event)) ++seen;
  CHECK(seen == log.size());
}

TEST_CASE("a log can be read while the memory of what has been read is freed") {
  EventLog log;
  for (std::uint64_t i = 0; i < 300'000; ++i) log.add({.time_ns = i * 1000, .address = i << 20});
  const std::size_t before = log.memory_bytes();
  EventLog::Reader reader(log);
  std::uint64_t seen = 0;
  for (Event event; reader.next(event); ++seen) {
    if (event.address != seen << 20) FAIL(seen);
    log.forget_read(reader);
  }
  CHECK(seen == log.size());
  CHECK(log.memory_bytes() < before / 2);
}

TEST_CASE("ten million events of a busy program fit into 200 MB") {
  EventLog log;
  constexpr std::uint64_t kEvents = 200'000;
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    log.add({.kind = i % 2 == 0 ? EventKind::Alloc : EventKind::Dead,
             .time_ns = i * 700,
             .thread = static_cast<std::uint32_t>(i % 3),
             .fiber = static_cast<std::uint32_t>(i % 200),
             .address = 0x7f0000000000 + (i * 0x9e3779b97f4a7c15ULL >> 34) * 16,
             .bytes = i % 2 == 0 ? 16 + i % 4000 : 0,
             .type = i % 2 == 0 ? static_cast<std::uint32_t>(i % 500) : kNone,
             .stack = i % 2 == 0 ? static_cast<std::uint32_t>(i % 30'000) : kNone,
             .collection = i / 1000});
  }
  CHECK(log.memory_bytes() < kEvents * 20);
  CHECK(read_all(log).size() == kEvents);
}

}  // namespace

}  // namespace heapattach::trace
