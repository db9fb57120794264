// Finds Ruby's object space in hand-written memory, at the offset of any release, and accepts
// nothing else.

#include "symbols/ruby/object_space.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/fakes/fake_ruby.h"

namespace heapattach {

namespace {

// Every known release, in turn.
std::string release() {
  std::string version = "3.1.2";
  SUBCASE("Ruby 3.1") {}
  SUBCASE("Ruby 3.3") {
    version = "3.3.8";
  }
  return version;
}

class MovedRuby : public FakeRuby {
 public:
  using FakeRuby::FakeRuby;

  // The object space's offset in the virtual machine, as in the layout.
  [[nodiscard]] std::uint64_t place() const { return machine.layout->vm.objspace; }
  void put_at(std::uint64_t offset, std::uint64_t value) { put(machine.vm + offset, value); }
  void move_to(std::uint64_t offset) {
    put_at(place(), 0);
    put_at(offset, machine.objspace);
  }

  // Another object space, with the same list of pages.
  std::uint64_t second_space() {
    const std::uint64_t at = take(kSpaceBytes);
    for (std::uint64_t i = 0; i < kSpaceBytes; i += 8) put(at + i, word(machine.objspace + i));
    return at;
  }
  // Another object space with a page of its own, which has no core class.
  std::uint64_t foreign_space() {
    const auto& form = *machine.layout;
    const std::uint64_t at = second_space();
    const std::uint64_t record = take(form.page.bytes);
    const std::uint64_t sorted = take(8);
    memory.map_zero(RemoteAddr{kPage}, 16);
    put(kPage, record);
    put(record, word(page_record));
    put(record + form.page.start, kPage + 8);
    put(sorted, record);
    put(at + form.objspace.sorted, sorted);
    put(at + form.objspace.range, kPage);
    put(at + form.objspace.range + 8, kPage + form.page_bytes);
    return at;
  }

  [[nodiscard]] Result<std::uint64_t> find() const {
    const std::vector<ruby::Value> known{session_class};
    return ruby::find_object_space(*machine.layout, memory, machine.vm, known);
  }
  [[nodiscard]] std::string misfit() const {
    const auto found = find();
    REQUIRE_FALSE(found);
    CHECK(found.error().kind == ErrorKind::Malformed);
    return found.error().message();
  }

 private:
  static constexpr std::uint64_t kSpaceBytes = 1300 / 8 * 8;
  static constexpr std::uint64_t kPage = 0x30000000;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Ruby's object space is found where the table has it, and where it was moved to") {
  const std::string version = release();
  for (const int moved : {0, 8, -8, 16, -64, 504}) {
    CAPTURE(moved);
    MovedRuby ruby(version);
    ruby.move_to(ruby.place() + static_cast<std::uint64_t>(moved));
    const auto found = ruby.find();
    REQUIRE_MESSAGE(found, found.error().message());
    CHECK(*found == ruby.machine.objspace);
  }
}

TEST_CASE("if no object space matches, the message says which check failed") {
  MovedRuby ruby(release());
  const auto& form = ruby.machine.layout->objspace;
  const std::uint64_t space = ruby.machine.objspace;
  SUBCASE("none") {
    ruby.put_at(ruby.place(), 0);
    CHECK(has(ruby.misfit(), ": it is not an address)"));
  }
  SUBCASE("no pages") {
    ruby.put(space + form.pages, 0);
    CHECK(has(ruby.misfit(), ": its page count is implausible)"));
  }
  SUBCASE("a page more than the list has") {
    ruby.put(space + form.pages, 2);
    CHECK(has(ruby.misfit(), ": the first or last entry of its page list is not a page)"));
  }
  SUBCASE("more pages than there is room for") {
    ruby.put(space + form.pages, 3);
    CHECK(has(ruby.misfit(), ": it has more pages than its page list can hold)"));
  }
  SUBCASE("a page that references another record") {
    ruby.put(0x20000000, ruby.page_record + 8);
    CHECK(has(ruby.misfit(), ": the first or last entry of its page list is not a page)"));
  }
  SUBCASE("a page outside its bounds") {
    ruby.put(space + form.range, 0x20000010);
    CHECK(has(ruby.misfit(), ": the first or last entry of its page list is not a page)"));
  }
  SUBCASE("pages without the core classes") {
    ruby.put_at(ruby.place(), ruby.foreign_space());
    CHECK(has(ruby.misfit(), ": its page list lacks the page of a core class)"));
  }
}

TEST_CASE("the object space is the one whose page list has the core classes") {
  MovedRuby ruby(release());
  ruby.put_at(ruby.place(), ruby.foreign_space());
  ruby.put_at(ruby.place() + 8, ruby.machine.objspace);
  const auto found = ruby.find();
  REQUIRE_MESSAGE(found, found.error().message());
  CHECK(*found == ruby.machine.objspace);
}

TEST_CASE("two matching object spaces are refused; one that is referenced twice is accepted") {
  MovedRuby ruby(release());
  ruby.put_at(ruby.place() + 24, ruby.machine.objspace);
  CHECK(ruby.find());
  ruby.put_at(ruby.place() - 16, ruby.second_space());
  CHECK(has(ruby.misfit(), "two matching object spaces"));
}

}  // namespace heapattach
