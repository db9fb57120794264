// Finds the pages of Ruby's heap and their list in hand-written memory, wherever a release has the
// members of its structures, and finds nothing in memory that only resembles them.

#include "symbols/ruby/fit_heap.h"

#include <array>
#include <vector>

#include <doctest/doctest.h>

#include "tests/fakes/fake_memory.h"

namespace heapattach {

namespace {

// The offsets of the members that are searched for, in one release.
struct Form {
  std::uint64_t page_bytes;
  std::uint64_t start;
  std::uint64_t slot_size;
  bool has_count;
};

// A virtual machine, an object space, and two pages of slots of 160 bytes.
class Pages {
 public:
  explicit Pages(const Form& form) {
    memory.map_zero(RemoteAddr{kStructures}, 0x8000);
    memory.map_zero(RemoteAddr{kPages}, 2 * form.page_bytes);
    for (std::uint64_t i = 0; i < 2; ++i) {
      const std::uint64_t page = kPages + i * form.page_bytes;
      const std::uint64_t slots = form.page_bytes / 160 - 1;
      put(page, record(i));
      put(record(i) + form.slot_size / 8 * 8, (160 | slots << 16) << form.slot_size % 8 * 8);
      put(record(i) + form.start, page + 16);
      put(record(i) + 48, kSpace + 40);  // the part of the object space for this size
      objects.push_back(page + 16 + (i + 1) * 160);
    }
    put(kList, form.has_count ? 2 : record(0));
    if (form.has_count) {
      put(kList + 8, 4);
      put(kList + 16, record(0));
      put(kList + 24, record(1));
    } else {
      put(kList + 8, record(1));
    }
    put(kSpace + 400, kList);
    put(kSpace + 408, 2);
    put(kMachine + 104, kSpace);
    put(kMachine + 112, kMachine);
  }

  void put(std::uint64_t at, std::uint64_t value) { memory.put(RemoteAddr{at}, value); }
  static std::uint64_t record(std::uint64_t page) { return kStructures + 0x1000 + page * 0x400; }

  static constexpr std::uint64_t kStructures = 0x10000000;
  static constexpr std::uint64_t kMachine = kStructures;
  static constexpr std::uint64_t kList = kStructures + 0x2000;
  static constexpr std::uint64_t kSpace = kStructures + 0x4000;
  static constexpr std::uint64_t kPages = 0x20000000;

  FakeMemory memory;
  std::vector<ruby::Value> objects;
};

}  // namespace

TEST_CASE("the pages of Ruby's heap are found wherever a release has their parts") {
  const std::vector<Form> forms{{16384, 32, 0, false},
                                {65536, 32, 0, false},
                                {65536, 40, 0, true},
                                {65536, 8, 24, true},
                                {16384, 16, 2, true}};
  for (const Form& form : forms) {
    CAPTURE(form.page_bytes);
    CAPTURE(form.start);
    Pages pages(form);
    ruby::Layout layout = *ruby::layout_of("3.3.8");
    const ruby::Values values(pages.memory, layout.values);
    REQUIRE(ruby::fit_pages(values, pages.objects, layout));
    CHECK(layout.page_bytes == form.page_bytes);
    CHECK(layout.page.start == form.start);
    CHECK(layout.page.slot_size == form.slot_size);
    CHECK(layout.page.slots == form.slot_size + 2);
    const auto list = ruby::find_page_list(values, layout, pages.objects);
    REQUIRE(list);
    CHECK(list->variable == Pages::kSpace + 400);
    CHECK(list->has_count == form.has_count);
    CHECK(ruby::fit_object_space(values, Pages::kMachine, *list, 104, layout) == Pages::kSpace);
    CHECK(layout.objspace.sorted == 400);
    CHECK(ruby::fit_object_space(values, Pages::kMachine, *list, 112, layout) == 0);
  }
}

TEST_CASE("the list of pages is found although pages at its ends and between are empty") {
  Pages pages({65536, 40, 0, true});
  pages.put(Pages::kList, 5);
  pages.put(Pages::kList + 8, 8);
  std::uint64_t entry = Pages::kList + 16;
  for (const std::uint64_t page : std::array<std::uint64_t, 5>{5, 0, 6, 1, 7}) {
    pages.put(entry, Pages::record(page));
    entry += 8;
  }
  ruby::Layout layout = *ruby::layout_of("3.3.8");
  const ruby::Values values(pages.memory, layout.values);
  REQUIRE(ruby::fit_pages(values, pages.objects, layout));
  CHECK(ruby::find_page_list(values, layout, pages.objects));
  pages.put(Pages::kList + 24, Pages::record(1));
  pages.put(Pages::kList + 40, Pages::record(0));
  CHECK_FALSE(ruby::find_page_list(values, layout, pages.objects));
}

TEST_CASE("memory that only resembles the pages of Ruby's heap is not taken for them") {
  Pages pages({65536, 40, 0, true});
  ruby::Layout layout = *ruby::layout_of("3.3.8");
  const ruby::Values values(pages.memory, layout.values);
  SUBCASE("an object that is not at the beginning of a slot") {
    pages.objects.front() += 8;
    CHECK_FALSE(ruby::fit_pages(values, pages.objects, layout));
  }
  SUBCASE("a page without a record") {
    pages.put(Pages::kPages, 0);
    CHECK_FALSE(ruby::fit_pages(values, pages.objects, layout));
  }
  REQUIRE(ruby::fit_pages(values, {pages.objects.data() + 1, 1}, layout));
  SUBCASE("a list without one of the pages") {
    pages.put(Pages::kList + 24, Pages::record(0));
    CHECK_FALSE(ruby::find_page_list(values, layout, {pages.objects.data() + 1, 1}));
  }
  SUBCASE("a list with more pages than there is room for") {
    pages.put(Pages::kList + 8, 1);
    CHECK_FALSE(ruby::find_page_list(values, layout, {pages.objects.data() + 1, 1}));
  }
}

}  // namespace heapattach
