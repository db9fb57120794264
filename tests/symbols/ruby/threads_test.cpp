// Reads Ruby's threads and heap in hand-written memory, whole and broken.

#include "symbols/ruby/threads.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attach/base/sanitized.h"
#include "report/format/read/ruby/copied_heap.h"
#include "report/model/counts.h"
#include "symbols/ruby/fit_threads.h"
#include "symbols/ruby/frames.h"
#include "symbols/ruby/heap_pages.h"
#include "symbols/ruby/list.h"
#include "symbols/ruby/lock_queue.h"
#include "tests/fakes/fake_ruby.h"

namespace heapattach {

namespace {

Result<snapshot::Snapshot> heap_of(const FakeRuby& ruby, const Deadline& deadline = {}) {
  ruby::HeapCopy heap(Arena::reserve(std::size_t{1} << 20, 0).value());
  HA_TRY(heap.copy(ruby.machine, ruby.memory, {}));
  snapshot::Snapshot snapshot;
  HA_TRY(ruby::add_objects(heap, nullptr, snapshot, deadline));
  return snapshot;
}

std::uint64_t objects_of(const snapshot::Snapshot& snapshot, const std::string& type) {
  for (const auto& row : snapshot::count_objects(snapshot).rows) {
    if (row.type == type) return row.objects;
  }
  return 0;
}

// The known releases, one by one, as subcases.
std::string release() {
  std::string version = "3.1.2";
  SUBCASE("Ruby 3.1") {}
  SUBCASE("Ruby 3.2") {
    version = "3.2.4";
  }
  SUBCASE("Ruby 3.3") {
    version = "3.3.8";
  }
  return version;
}

}  // namespace

TEST_CASE("reading what Ruby's objects are ends when the deadline has passed") {
  const FakeRuby ruby(release());
  REQUIRE(heap_of(ruby));
  const auto late = heap_of(ruby, {.at = std::chrono::steady_clock::time_point::min()});
  REQUIRE(!late);
  CHECK(late.error().kind == ErrorKind::Timeout);
}

TEST_CASE("the form of Ruby's code is found although some of it is garbage without a name") {
  FakeRuby ruby(release());
  std::vector<ruby::Value> all;
  for (int i = 0; i < 9; ++i) all.push_back(ruby.code("app.rb", "work"));
  const ruby::Layout& form = *ruby.machine.layout;
  const auto lose_name = [&](std::size_t number) {
    const std::uint64_t body = ruby.word(all[number] + 16);
    ruby.put(ruby.word(body + form.code.label), 0);  // a free slot
  };
  for (const std::size_t number : {0U, 4U, 8U}) lose_name(number);
  ruby::Layout found = form;
  found.code.path = found.code.label = found.code.lines = 0;
  const ruby::Values values(ruby.memory, form.values);
  CHECK(ruby::fit_code(values, ruby.machine.vm, all, found) == "");
  CHECK(found.code.path == form.code.path);
  CHECK(found.code.label == form.code.label);
  CHECK(found.code.lines == form.code.lines);
  lose_name(5);  // now more than a third have no name
  CHECK(ruby::fit_code(values, ruby.machine.vm, all, found) ==
        "the names of its code were not found");
}

TEST_CASE("Ruby's threads have frames with lines, fibers, and the mutexes they wait for") {
  const FakeRuby ruby(release());
  const auto fibers = ruby::find_fibers(ruby.machine, ruby.memory, {});
  REQUIRE(fibers);
  CHECK(*fibers == std::vector<ruby::Value>{ruby.suspended_fiber});
  const auto threads = ruby::read_threads(ruby.machine, ruby.memory, {}, *fibers);
  REQUIRE(threads);
  REQUIRE(threads->all.size() == 2);
  CHECK(threads->unread_fibers == 0);
  const ruby::Thread& first = threads->all.at(0);
  CHECK(first.tid == 11);
  CHECK(first.is_main);
  CHECK(first.mutex_owner == 1);
  CHECK(threads->all.at(1).mutex_owner == 0);
  REQUIRE(first.fibers.size() == 2);
  const auto& frames = first.fibers[0].frames;
  REQUIRE(frames.size() == 2);
  CHECK(frames[0].is_native);
  CHECK(frames[0].function == "synchronize");
  CHECK(frames[0].owner == "Thread::Mutex");
  CHECK(frames[0].line == 12);
  CHECK(frames[1].function == "resumed");
  CHECK(frames[1].file == "app.rb");
  CHECK(frames[1].line == 12);
  CHECK(first.fibers[1].frames[1].function == "first");
  REQUIRE(first.suspended.size() == 1);
  CHECK(first.suspended[0].frames[1].function == "suspended");
  CHECK(threads->all.at(1).fibers[0].frames[1].function == "block in second");
}

TEST_CASE("the threads that wait for Ruby's lock are known by their count and their places") {
  FakeRuby ruby("3.3.8");
  const ruby::Layout& form = *ruby.machine.layout;
  const std::uint64_t owner = ruby.threads_head - form.ractor.threads + form.ractor.lock_owner;
  const std::uint64_t head = owner + 16;
  constexpr std::uint64_t kNode = 0x58;
  const auto queues = [&] { return ruby::find_lock_queues(ruby.machine, ruby.memory); };
  // Makes a list of these nodes, and writes the count after its head.
  const auto queue = [&](const std::vector<std::uint64_t>& nodes, std::uint64_t count) {
    std::uint64_t last = head;
    for (const std::uint64_t node : nodes) {
      ruby.put(last, node);
      last = node;
    }
    ruby.put(last, head);
    ruby.put(head + 16, count);
  };
  CHECK(queues().empty());
  queue({ruby.second_thread + kNode}, 1);
  REQUIRE(queues().size() == 1);
  CHECK(queues()[0].head.value == head);
  CHECK(queues()[0].count == 1);
  queue({ruby.second_thread + kNode, ruby.first_thread + kNode}, 2);
  REQUIRE(queues().size() == 1);
  CHECK(queues()[0].count == 2);

  SUBCASE("an empty one is left alone") {
    ruby.memory.put_bytes(RemoteAddr{head}, ruby::empty_queue(RemoteAddr{head}));
    CHECK(queues().empty());
    CHECK(ruby.word(head) == head);
    CHECK(ruby.word(head + 8) == head);
  }
  SUBCASE("another count") {
    queue({ruby.second_thread + kNode}, 2);
    CHECK(queues().empty());
  }
  SUBCASE("at different places in the threads") {
    queue({ruby.second_thread + kNode, ruby.first_thread + kNode + 16}, 2);
    CHECK(queues().empty());
  }
  SUBCASE("not in a thread") {
    queue({ruby.suspended_fiber}, 1);
    CHECK(queues().empty());
  }
  SUBCASE("a list that does not lead back") {
    ruby.put(ruby.first_thread + kNode, ruby.second_thread + kNode);
    const ruby::Values values(ruby.memory, form.values);
    CHECK(!ruby::list_nodes(values, head, 2));
    CHECK(queues().empty());
  }
  SUBCASE("threads that cannot be read") {
    ruby.machine.no_threads = "its list of threads was not found";
    CHECK(queues().empty());
  }
}

TEST_CASE("whether Ruby collects is seen in its memory") {
  FakeRuby ruby(release());
  const auto place = ruby.machine.objspace + ruby.machine.layout->objspace.flags;
  CHECK(ruby::is_collecting(ruby.machine, ruby.memory) == false);
  ruby.put(place, 1U << 5);
  CHECK(ruby::is_collecting(ruby.machine, ruby.memory) == true);
  FakeRuby unknown(release());
  auto layout = std::make_shared<ruby::Layout>(*unknown.machine.layout);
  layout->objspace.flags = 0;
  unknown.machine.layout = layout;
  CHECK(!ruby::is_collecting(unknown.machine, unknown.memory));
}

TEST_CASE("a method that Ruby brings along as Ruby code has an owner too") {
  FakeRuby ruby(release());
  const ruby::Layout& form = *ruby.machine.layout;
  const std::uint64_t context = ruby.word(ruby.first_thread + form.thread.context);
  const std::uint64_t native = ruby.word(context + form.context.frame);
  const std::uint64_t method = ruby.word(ruby.word(native + form.frame.environment) - 16);
  const std::uint64_t own = native + form.frame.bytes;
  const std::uint64_t environment = ruby.word(own + form.frame.environment);
  const auto owner = [&] {
    const auto threads = ruby::read_threads(ruby.machine, ruby.memory);
    REQUIRE(threads);
    return threads->all.at(0).fibers.at(0).frames.at(1).owner;
  };
  constexpr std::uint64_t kMethod = 0x11110001;
  constexpr std::uint64_t kBlock = 0x22220001;
  ruby.put(environment, kMethod);
  ruby.put(environment - 16, method);
  CHECK(owner().empty());  // synchronize is the program's own method
  const std::uint64_t body = ruby.word(ruby.word(own + form.frame.iseq) + 16);
  ruby.put(body + form.code.path, ruby.string("<internal:thread_sync>"));
  CHECK(owner() == "Thread::Mutex");
  ruby.put(environment, kBlock);
  CHECK(owner().empty());
}

TEST_CASE("without time for Ruby's suspended fibers, their threads are still there") {
  const FakeRuby ruby(release());
  const std::vector<ruby::Value> fibers{ruby.suspended_fiber};
  const auto threads = ruby::read_threads(ruby.machine, ruby.memory, {}, fibers,
                                          std::chrono::steady_clock::time_point::min());
  REQUIRE(threads);
  CHECK(threads->unread_fibers == 1);
  REQUIRE(threads->all.size() == 2);
  CHECK(threads->all[0].suspended.empty());
  CHECK(threads->all[0].fibers.size() == 2);
}

TEST_CASE("a Ruby thread that has just got a Mutex does not wait for it") {
  FakeRuby ruby(release());
  const ruby::Layout& form = *ruby.machine.layout;
  const std::uint64_t mutex = ruby.word(ruby.first_thread + form.thread.awaited_mutex);
  const std::uint64_t own_context = ruby.word(ruby.first_thread + form.thread.context);
  ruby.put(ruby.word(mutex + 32), own_context - form.fiber.context);
  const auto threads = ruby::read_threads(ruby.machine, ruby.memory);
  REQUIRE(threads);
  CHECK(threads->all.at(0).mutex == 0);
  CHECK_FALSE(threads->all.at(0).mutex_owner);
}

TEST_CASE("the position of an instruction is found in both parts of Ruby's table of lines") {
  // Entries begin at these positions, in the form that Ruby writes.
  const std::vector<std::uint32_t> begins{0, 3, 53, 54, 60, 200, 565, 566, 900};
  std::vector<std::uint64_t> words(6 + 2 * 10);
  const auto rank_at = [&](std::uint32_t position) {
    return static_cast<std::uint64_t>(std::count_if(
        begins.begin(), begins.end(), [&](std::uint32_t begin) { return begin <= position; }));
  };
  for (std::uint32_t i = 0; i < 54; ++i) words[i / 9] |= rank_at(i) << (i % 9 * 7);
  for (std::uint32_t block = 0; block < 2; ++block) {
    const std::uint32_t from = 54 + block * 512;
    std::uint64_t* const here = &words[6 + block * std::size_t{10}];
    here[0] = rank_at(from - 1);
    for (std::uint32_t i = 0; i < 512; ++i) {
      if (rank_at(from + i) > rank_at(from + i - 1))
        here[2 + i / 64] |= std::uint64_t{1} << (i % 64);
    }
    for (std::uint32_t part = 1; part < 8; ++part) {
      here[1] |= (rank_at(from + part * 64 - 1) - here[0]) << ((part - 1) * 9);
    }
  }
  for (std::uint32_t position = 0; position < 1000; ++position) {
    const auto found = ruby::rank_of(position, [&](std::uint64_t index) {
      return index < words.size() ? std::optional(words[index]) : std::nullopt;
    });
    CHECK_MESSAGE(found == rank_at(position), position);
  }
}

TEST_CASE("lists of Ruby's that are broken give an error, and no threads") {
  using Break = void (*)(FakeRuby&, const ruby::Layout&);
  const std::vector<Break> faults{
      // The list never ends, lacks a thread, has a thread of another machine, or there is no
      // ractor.
      [](FakeRuby& ruby, const ruby::Layout&) { ruby.put(ruby.second_thread, ruby.first_thread); },
      [](FakeRuby& ruby, const ruby::Layout&) { ruby.put(ruby.first_thread, ruby.threads_head); },
      [](FakeRuby& ruby, const ruby::Layout& form) {
        ruby.put(ruby.second_thread + form.thread.vm, 0x1000);
      },
      [](FakeRuby& ruby, const ruby::Layout& form) {
        ruby.put(ruby.machine.vm + form.vm.ractors, ruby.machine.vm + form.vm.ractors);
      }};
  const std::string version = release();
  for (std::size_t i = 0; i < faults.size(); ++i) {
    CAPTURE(i);
    FakeRuby ruby(version);
    faults[i](ruby, *ruby.machine.layout);
    const auto threads = ruby::read_threads(ruby.machine, ruby.memory);
    REQUIRE_FALSE(threads);
    CHECK(threads.error().kind == ErrorKind::Malformed);
    CHECK(threads.error().message().starts_with("cannot read this Ruby release's threads (" +
                                                version + "): "));
  }
}

TEST_CASE("a copied heap of Ruby's counts its objects by class, and is partial") {
  const FakeRuby ruby(release());
  const auto found = heap_of(ruby);
  REQUIRE(found);
  CHECK_FALSE(found->complete);
  CHECK(found->reason.find("not collected first") != std::string::npos);
  CHECK(objects_of(*found, "Blog::Session") == 10);
  CHECK(objects_of(*found, "imemo(iseq)") == 4);
  CHECK(objects_of(*found, "internal(Class)") == 2);
}

TEST_CASE("the size of a Ruby object includes the buffer for which its shape has room") {
  FakeRuby ruby("3.3.8");
  const std::uint64_t large = ruby.class_named("Large");
  for (const std::uint64_t shape : {5U, 6U, 99'999U}) ruby.slot(shape << 32 | 1, large);
  const auto found = heap_of(ruby);
  REQUIRE(found);
  const auto rows = snapshot::count_objects(*found).rows;
  const auto row = std::ranges::find(rows, std::string("Large"), &snapshot::CountRow::type);
  REQUIRE(row != rows.end());
  CHECK(row->bytes == 3 * 160 + 15 * 8);
  CHECK(objects_of(*found, "Large") == 3);
  CHECK(found->reason.find("sizes of 2 objects lack variables") != std::string::npos);
}

TEST_CASE("Ruby's shapes are recognised by the first of them") {
  FakeRuby ruby("3.3.8");
  const ruby::Values values(ruby.memory, ruby.machine.layout->values);
  const ruby::NameReader names(ruby.machine, values);
  const auto are_here = [&] {
    return ruby::Shapes::are_at(ruby.machine.layout->shape, values, names, ruby.machine.shapes);
  };
  CHECK(are_here());
  const std::uint64_t ninth = ruby.machine.shapes + std::uint64_t{9} * 40;
  for (const auto& [at, wrong] :
       {std::pair(ruby.machine.shapes + 8, std::uint64_t{16}),  // the first one adds a variable
        std::pair(ninth + 24, std::uint64_t{12} << 32 | 1),     // derived from a later one
        std::pair(ninth + 16, std::uint64_t{9})}) {             // a variable was left out
    const std::uint64_t right = ruby.word(at);
    ruby.put(at, wrong);
    CHECK_FALSE(are_here());
    ruby.put(at, right);
  }
  CHECK(are_here());
}

TEST_CASE("what waits to be swept is left out of a copied heap of Ruby's") {
  FakeRuby ruby(release());
  const ruby::Layout& form = *ruby.machine.layout;
  ruby.put(ruby.machine.objspace + form.objspace.flags, 2);
  ruby.put(ruby.page_record + 8, std::uint64_t{1} << 32);
  CHECK(objects_of(*heap_of(ruby), "Blog::Session") == 0);
}

TEST_CASE("a page of Ruby's heap that is kept without objects has none") {
  FakeRuby ruby(release());
  const ruby::Layout& form = *ruby.machine.layout;
  const std::uint64_t objects = objects_of(*heap_of(ruby), "Blog::Session");
  CHECK(objects > 0);
  const std::uint64_t list = ruby.word(ruby.machine.objspace + form.objspace.sorted);
  const std::uint64_t first = list + (form.objspace.list_has_count ? 16 : 0);
  ruby.put(first + 8, ruby.page_record);
  ruby.put(first, ruby.machine.objspace + 200);  // zeros
  ruby.put(ruby.machine.objspace + form.objspace.pages, 2);
  CHECK(objects_of(*heap_of(ruby), "Blog::Session") == objects);
  ruby.put(ruby.machine.objspace + form.objspace.pages, 1);
  CHECK(heap_of(ruby).error().kind == ErrorKind::Malformed);
}

TEST_CASE("a heap of Ruby's that is not in order is an error") {
  const std::string version = release();
  const auto kind_of = [](const FakeRuby& ruby) { return heap_of(ruby).error().kind; };
  FakeRuby size(version);  // a page's record has another size of slots
  size.put(size.page_record, 44 | 100 << 16);
  CHECK(kind_of(size) == ErrorKind::Malformed);
  FakeRuby page(version);  // a page belongs to another record
  page.put(0x20000000, page.page_record + 8);
  CHECK(kind_of(page) == ErrorKind::Malformed);
  FakeRuby many(version);  // there are more pages than possible
  many.put(many.machine.objspace + many.machine.layout->objspace.pages, ~std::uint64_t{0});
  CHECK(kind_of(many) == ErrorKind::Malformed);
}

TEST_CASE("whatever a word of Ruby's structures is, reading them ends") {
  FakeRuby ruby(release());
  const auto words = ruby.used_words();
  REQUIRE(words.size() > 100);
  std::size_t errors = 0;
  constexpr std::size_t kStep = kIsSanitized ? 5 : 1;
  for (std::size_t i = 0; i < words.size(); i += kStep) {
    const std::uint64_t at = words[i];
    const std::uint64_t right = ruby.word(at);
    for (const std::uint64_t wrong :
         {std::uint64_t{0}, ~std::uint64_t{0}, right + 8, right ^ 0x1000, at,
          std::uint64_t{0x7fffffffffffffff}, ruby.machine.vm, right << 16}) {
      ruby.put(at, wrong);
      const auto fibers = ruby::find_fibers(ruby.machine, ruby.memory, {});
      const auto threads = ruby::read_threads(ruby.machine, ruby.memory, {},
                                              fibers ? *fibers : std::vector<ruby::Value>{});
      const auto heap = heap_of(ruby);
      if (!threads) ++errors;
      if (!heap) ++errors;
    }
    ruby.put(at, right);
  }
  CHECK(errors > 100 / kStep);
  CHECK(ruby::read_threads(ruby.machine, ruby.memory));
  CHECK(heap_of(ruby));
}

}  // namespace heapattach
