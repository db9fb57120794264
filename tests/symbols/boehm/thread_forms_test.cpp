#include "symbols/boehm/thread_forms.h"

#include <doctest/doctest.h>

#include "tests/fakes/captured_heap.h"
#include "tests/fakes/fake_gc_heap.h"

namespace heapattach::boehm {

using namespace heap;
namespace {

constexpr RemoteAddr kData{0x6000'0000'0000};
constexpr RemoteAddr kStack{0x7000'0000'0000};
constexpr RemoteAddr kThreadPointer{0x7000'0000'f000};

// One thread, and one record for it, in an object that the collector's data references.
struct Target {
  const RecordForm& form;
  FakeGcHeap fake;
  std::vector<Range> data = {{kData, 4096}};
  FrozenThread thread;
  RemoteAddr record;
  RemoteAddr stack_at;  // where the fields of its stack are

  explicit Target(const RecordForm& of) : form(of) {
    if (form.is_before_7) fake.use_word_headers();
    fake.add_memory(kData, 4096);
    fake.add_memory(kStack, 0x10000);
    thread.tid = 7;
    thread.registers.emplace();
    thread.registers->stack_pointer = kStack + 0x1000;
    thread.registers->thread_pointer = kThreadPointer;
    record = fake.add_block({.object_bytes = 1024});
    stack_at = form.context ? fake.add_block({.object_bytes = 128}) : record;
    fake.put(kData + 512, record);
    put(record, form.id, kThreadPointer.value);
    if (form.context) put(record, *form.context, stack_at.value);
    put(stack_at, form.stack_pointer, kStack.value + 0x2000);
    put(stack_at, form.stack_end, kStack.value + 0xe000);
  }
  void put(RemoteAddr at, std::size_t word, std::uint64_t value) { fake.put(at + word * 8, value); }
  void set_flags(std::uint64_t flags) { put(record, form.flags, flags); }

  std::vector<ThreadRecord> find() {
    const CapturedHeap captured(fake, {{kData, 4096}, {kStack, 0x10000}});
    return find_thread_records(captured.heap(), captured.capture(), data, {&thread, 1}, fake.map());
  }
};

TEST_CASE("a thread's record is understood in the form of each release") {
  for (const RecordForm& form : record_forms()) {
    INFO(form.releases);
    Target target(form);
    auto found = target.find();
    REQUIRE(found.size() == 1);
    CHECK(found[0].is_understood);
    CHECK(found[0].has_own_end);
    CHECK(found[0].stack_end == kStack + 0xe000);
    CHECK_FALSE(found[0].blocked_at.has_value());

    // The record as it is before the collector has stopped the thread for the first time.
    target.put(target.stack_at, form.stack_pointer, kStack.value - 0x10000);
    found = target.find();
    REQUIRE(found.size() == 1);
    CHECK(found[0].is_understood);

    target.put(target.stack_at, form.stack_pointer, kStack.value + 0x2000);
    target.set_flags(form.blocked_mask | 2);
    found = target.find();
    REQUIRE(found.size() == 1);
    CHECK(found[0].blocked_at == kStack + 0x2000);

    target.set_flags(1);
    CHECK(target.find().empty());
  }
}

TEST_CASE("sections of a stack are followed from the hottest") {
  for (const RecordForm& form : record_forms()) {
    if (!form.section) continue;
    INFO(form.releases);
    Target target(form);
    target.put(target.stack_at, *form.section, kStack.value + 0x3000);
    target.put(kStack + 0x3000, 0, kStack.value + 0x4000);
    target.put(kStack + 0x3000, 1, kStack.value + 0x5000);
    target.put(kStack + 0x5000, 0, kStack.value + 0x6000);
    auto found = target.find();
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].sections.size() == 2);
    CHECK(found[0].sections[0].at == kStack + 0x3000);
    CHECK(found[0].sections[1].saved == kStack + 0x6000);

    // If the records are in a circle, all of them are ignored.
    target.put(kStack + 0x5000, 1, kStack.value + 0x3000);
    found = target.find();
    REQUIRE(found.size() == 1);
    CHECK(found[0].sections.empty());
  }
}

TEST_CASE("until 8.2, the first thread's record does not contain the end of its stack") {
  for (const RecordForm& form : record_forms()) {
    if (form.context) continue;
    INFO(form.releases);
    Target target(form);
    target.set_flags(4);
    target.put(target.record, form.stack_end, 0);
    const auto found = target.find();
    REQUIRE(found.size() == 1);
    CHECK(found[0].is_understood);
    CHECK_FALSE(found[0].has_own_end);
  }
}

TEST_CASE("a registered alternate stack is part of the record") {
  for (const RecordForm& form : record_forms()) {
    if (!form.alternate_stack) continue;
    INFO(form.releases);
    Target target(form);
    target.put(target.stack_at, *form.alternate_stack, kStack.value);
    target.put(target.stack_at, form.alternate_bytes, 0x1000);
    const auto found = target.find();
    REQUIRE(found.size() == 1);
    CHECK(found[0].alternate_stack == Range{kStack, 0x1000});
  }
}

}  // namespace
}  // namespace heapattach::boehm
