#include "report/format/read/collector_dump.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "report/format/read/join_dump.h"
#include "report/format/write/gzip.h"
#include "report/model/counts.h"
#include "tests/support/temporary_directory.h"

namespace heapattach::read {
namespace {

constexpr std::uint64_t kEnd = ~std::uint64_t{0};
constexpr std::uint64_t kAtomic = std::uint64_t{1} << 63;
constexpr std::uint64_t kPage = 0x7f1234560000;

void write_text(const std::string& file, std::string_view text) {
  std::ofstream(file, std::ios::binary) << text;
}

// Writes a dump word by word, and reads it.
struct Dump {
  explicit Dump(std::string_view kind = "GCGRPH") : text(kind) {
    text += std::string("\x01\x00", 2);
  }

  Dump& words(std::initializer_list<std::uint64_t> all) {
    for (const std::uint64_t word : all) {
      text.append(static_cast<const char*>(static_cast<const void*>(&word)), sizeof word);
    }
    return *this;
  }
  [[nodiscard]] Result<CollectorDump> read() const {
    write_text(directory.file("dump"), text);
    return read_collector_dump(TextFile::open(directory.file("dump"), {}).value(), {});
  }
  // The counts as "2 Session, 1 String", ordered by name.
  [[nodiscard]] std::string counts() const {
    write_text(directory.file("types"),
               "CRYSTAL_DUMP_TYPE_ID\n"
               "{0 - 0}: Nil\n"
               "{1 - 4}: Object\n"
               "  {1 - 3}: Reference\n"
               "    {1 - 1}: String\n"
               "    {2 - 2}: Foo\n");
    const auto dump = read();
    REQUIRE(dump);
    const auto snapshot = join_dump(*dump, {.type_info = directory.file("types")});
    REQUIRE_MESSAGE(snapshot, snapshot.error().message());
    auto rows = snapshot::count_objects(*snapshot).rows;
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.type < b.type; });
    std::string all;
    for (const auto& row : rows) {
      all += (all.empty() ? "" : ", ") + std::to_string(row.objects) + " " + row.type;
    }
    return all;
  }

  TemporaryDirectory directory;
  std::string text;
};

std::string why_not(const Dump& dump) {
  const auto found = dump.read();
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == ErrorKind::Malformed);
  return found.error().message();
}

}  // namespace

TEST_CASE("a dump of pointers is read with its types and edges, in any order of its objects") {
  Dump dump;
  dump.words({kPage + 4096, 32 | kAtomic, 1 | std::uint64_t{5} << 32});        // a String
  dump.words({kPage + 64, 32, 2, 8, kPage + 4096, 24, kPage, kEnd});           // a Foo
  dump.words({kPage, 32, kPage + 64, 0, kPage + 64, 16, kPage + 4100, kEnd});  // a buffer
  dump.words({kPage + 8192, 8192, 9, kEnd, kEnd});
  CHECK(dump.counts() == "1 (unknown), 1 (unnamed, in a Foo), 1 Foo, 1 String");
  const auto read = dump.read();
  REQUIRE(read);
  CHECK_FALSE(read->is_cut);
  CHECK_FALSE(read->has_contents);
  const auto snapshot = join_dump(*read, {});
  REQUIRE(snapshot);
  REQUIRE(snapshot->objects.size() == 4);
  CHECK(snapshot->objects[1].address == kPage + 64);
  CHECK(snapshot->edges.size() == 4);
  CHECK(snapshot->roots.empty());
  CHECK(snapshot->complete);
}

TEST_CASE("a word far into an object that claims to be vast takes no memory for the rest") {
  Dump dump;
  constexpr std::uint64_t kVast = std::uint64_t{1} << 36;
  dump.words({kPage, kVast, 7, kVast - 16, kPage, kEnd, kEnd});
  const auto read = dump.read();
  REQUIRE(read);
  CHECK(read->contents->read_as<std::uint64_t>({kPage}).value() == 7);
  CHECK(read->contents->read_as<std::uint64_t>({kPage + kVast - 16}).value() == kPage);
  CHECK(read->contents->read_as<std::uint64_t>({kPage + kVast - 24}).value() == 0);
}

TEST_CASE("a dump of contents is read with its texts") {
  Dump dump("GCFULL");
  dump.words({kPage, 32 | kAtomic, 1 | std::uint64_t{5} << 32});
  dump.text += std::string("\x05\0\0\0hello\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
  dump.words({kPage + 4096, 16, 2, kPage, kEnd});
  CHECK(dump.counts() == "1 Foo, 1 String");
  const auto read = dump.read();
  REQUIRE(read);
  const auto snapshot =
      join_dump(*read, {.type_info = dump.directory.file("types"), .with_texts = true});
  REQUIRE(snapshot);
  CHECK(snapshot->edges.size() == 1);
  REQUIRE(snapshot->values.size() == 1);
  CHECK(snapshot->values[0].text == "hello");
}

TEST_CASE("a packed dump is read like a plain one, and a cut-off one up to the cut") {
  Dump dump;
  dump.words({kPage, 32, 1, kEnd, kPage + 32, 32, 2, 8, kPage, kEnd, kEnd});
  GzipMembers members;
  std::string packed;
  for (std::size_t at = 0; at < dump.text.size(); at += 10) {
    packed += members.compress(std::string_view(dump.text).substr(at, 10));
  }
  dump.text = packed;
  const auto whole = dump.read();
  REQUIRE(whole);
  CHECK(whole->objects.size() == 2);
  CHECK_FALSE(whole->is_cut);
  dump.text.resize(packed.size() / 2);
  const auto half = dump.read();
  REQUIRE(half);
  CHECK(half->is_cut);
}

TEST_CASE("a packed core file is refused by its kind") {
  const TemporaryDirectory directory;
  GzipMembers members;
  write_text(directory.file("core.gz"), members.compress(std::string("\177ELF and more of it")));
  const auto file = TextFile::open(directory.file("core.gz"), {});
  REQUIRE_FALSE(file);
  CHECK(file.error().kind == ErrorKind::Malformed);
  CHECK(file.error().message().find("core.gz contains, in compressed form, an ELF file") !=
        std::string::npos);
  CHECK(file.error().message().find("unpacked") != std::string::npos);
}

TEST_CASE("a dump that ends early has everything before its end") {
  Dump dump;
  dump.words({kPage, 32, 7, kEnd, kPage + 32, 32, 7, 8});
  SUBCASE("in an object") {}
  SUBCASE("in a word") {
    dump.text.resize(dump.text.size() - 3);
  }
  SUBCASE("between objects") {
    dump.text.resize(8 + 32);
  }
  const auto read = dump.read();
  REQUIRE(read);
  CHECK(read->is_cut);
  CHECK(read->objects.size() == 1);
  const auto snapshot = join_dump(*read, {});
  REQUIRE(snapshot);
  CHECK_FALSE(snapshot->complete);
}

TEST_CASE("impossible objects are refused with their address") {
  Dump dump;
  SUBCASE("a size of nothing") {
    dump.words({kPage, 0, 7, kEnd, kEnd});
  }
  SUBCASE("an odd size") {
    dump.words({kPage, 40, 7, kEnd, kEnd});
  }
  SUBCASE("a size beyond all memory") {
    dump.words({kPage, kAtomic >> 1, 7, kEnd, kEnd});
  }
  SUBCASE("an address of the kernel") {
    dump.words({0xffff800000000000, 32, 7, kEnd, kEnd});
  }
  SUBCASE("two sizes in a page") {
    dump.words({kPage, 32, 7, kEnd, kPage + 48, 48, 7, kEnd, kEnd});
  }
  SUBCASE("two kinds in a page") {
    dump.words({kPage, 32, 7, kEnd, kPage + 32, 32 | kAtomic, 7, kEnd});
  }
  SUBCASE("twice the same") {
    dump.words({kPage, 32, 7, kEnd, kPage, 32, 7, kEnd, kEnd});
  }
  SUBCASE("within another") {
    dump.words({kPage, 8192, 7, kEnd, kPage + 4096, 32, 7, kEnd, kEnd});
  }
  SUBCASE("between two slots") {
    dump.words({kPage + 16, 32, 7, kEnd, kEnd});
  }
  SUBCASE("past the end of its page") {
    dump.words({kPage + 2032, 2032, 7, kEnd, kPage + 4064, 2032, 7, kEnd, kEnd});
  }
  SUBCASE("a pointer after its object") {
    dump.words({kPage, 32, 7, 32, kPage, kEnd, kEnd});
  }
  SUBCASE("pointers that go back") {
    dump.words({kPage, 32, 7, 16, kPage, 8, kPage, kEnd, kEnd});
  }
  CHECK(why_not(dump).find("dump: ") != std::string::npos);
}

}  // namespace heapattach::read
