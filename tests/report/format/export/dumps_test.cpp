// Tests the exports GCGRPH and GCFULL, the dumps that perf-tools and the embedded routine write.
// They are compared word by word, read again by heapattach itself, and refused if the snapshot does
// not have the objects' bytes.

#include <cstring>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "report/format/export/formats.h"
#include "report/format/read/collector_dump.h"
#include "report/format/read/join_dump.h"
#include "report/model/counts.h"
#include "tests/fakes/fake_memory.h"
#include "tests/support/memory_sink.h"
#include "tests/support/small_snapshot.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {
namespace {

using snapshot::Snapshot;

constexpr std::uint64_t kEnd = ~std::uint64_t{0};
constexpr std::uint64_t kAtomic = std::uint64_t{1} << 63;
constexpr std::uint64_t kPage = 0x7f1234560000;

std::string written(std::string_view format, const Snapshot& snapshot, bool with_values = true) {
  MemorySink sink;
  ExportOptions options;
  options.with_values = with_values;
  REQUIRE(find_format(format)->snapshot(snapshot, sink, options));
  return sink.text;
}

// The bytes of the objects in a hand-made snapshot: a first word and the pointers.
class Kept {
 public:
  explicit Kept(Snapshot& snapshot) : snapshot_(snapshot) {
    for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
      const RemoteAddr at{snapshot.objects[i].address};
      memory_->map_zero(at, snapshot.bytes_of(snapshot.objects[i]));
      for (auto e = snapshot.first_edge[i]; e < snapshot.first_edge[i + 1]; ++e) {
        const snapshot::Edge& edge = snapshot.edges[e];
        put(i, 8 * edge.offset_words, snapshot.objects[edge.to].address);
      }
    }
  }
  ~Kept() { snapshot_.contents = std::move(memory_); }
  void put(std::size_t object, std::uint64_t at, std::uint64_t word) {
    memory_->put(RemoteAddr{snapshot_.objects[object].address} + at, word);
  }

 private:
  Snapshot& snapshot_;
  std::unique_ptr<FakeMemory> memory_ = std::make_unique<FakeMemory>();
};

// A heap with two nodes and a text on one page, a page before that, and a page four megabytes
// later.
SnapshotBuilder small_heap() {
  SnapshotBuilder build;
  const auto node = build.type("Node");
  build.object(kPage - 4096, build.type("(unknown)", false), 4096, {{4088, 1}});
  build.object(kPage, node, 32, {{8, 2}, {16, 0}});
  build.object(kPage + 32, node, 32);
  build.object(kPage + 64, node, 32).is_reachable = 0;
  build.object(kPage + (4 << 20), build.type("String"), 48).kind =
      static_cast<std::uint64_t>(snapshot::ObjectKind::Atomic) & 3;
  Kept kept(build.snapshot);
  kept.put(1, 0, std::uint64_t{9} << 32 | 174);
  kept.put(1, 24, kPage + 64);      // unreachable
  kept.put(2, 8, kPage + 32 + 24);  // points into the object itself
  kept.put(2, 16, kPage + 128);     // points after the page's last object
  kept.put(4, 0, std::uint64_t{7} << 32 | 1);
  kept.put(4, 8, 0x6873696620656874);
  return build;
}

std::string words(std::initializer_list<std::uint64_t> all) {
  std::string text;
  for (const std::uint64_t word : all) {
    text.append(static_cast<const char*>(static_cast<const void*>(&word)), sizeof word);
  }
  return text;
}

// Reads a file again, without the names that the format cannot contain.
Snapshot read_again(const std::string& text) {
  const TemporaryDirectory directory;
  std::ofstream(directory.file("dump"), std::ios::binary) << text;
  auto file = read::TextFile::open(directory.file("dump"), {});
  REQUIRE(file);
  auto dump = read::read_collector_dump(std::move(*file), {}, true);
  REQUIRE_MESSAGE(dump, dump.error().message());
  auto snapshot = read::join_dump(*dump, {});
  REQUIRE(snapshot);
  snapshot->contents = std::move(dump->contents);
  return std::move(*snapshot);
}

}  // namespace

TEST_CASE("a graph has each word that points into an object, in the collector's order") {
  const std::string text = written("gcgrph", small_heap().snapshot);
  CHECK(text.substr(0, 8) == std::string("GCGRPH\1\0", 8));
  // Within four megabytes, the last page comes first.
  const std::string same_page = words({kPage, 32, std::uint64_t{9} << 32 | 174, 8, kPage + 32, 16,
                                       kPage - 4096, kEnd, kPage + 32, 32, 0, 8, kPage + 56, kEnd});
  const std::string page_before = words({kPage - 4096, 4096, 0, 4088, kPage, kEnd});
  const std::string others =
      words({kPage + (4 << 20), 48 | kAtomic, std::uint64_t{7} << 32 | 1, kEnd});
  CHECK(text.substr(8) == same_page + page_before + others);
}

TEST_CASE("without values, a graph has only ids and text lengths of the first words") {
  SnapshotBuilder build = small_heap();
  const std::string told = written("gcgrph", build.snapshot, false);
  CHECK(told.find(words({kPage, 32, 174, 8})) != std::string::npos);
  CHECK(told.find(words({48 | kAtomic, std::uint64_t{7} << 32 | 1, kEnd})) != std::string::npos);
  build.snapshot.types[build.snapshot.objects[4].type].typed_by = snapshot::TypedBy::Referrer;
  const std::string less = written("gcgrph", build.snapshot, false);
  CHECK(less.find(words({48 | kAtomic, 0, kEnd})) != std::string::npos);
}

TEST_CASE("a full dump has all bytes, even of objects larger than a buffer") {
  SnapshotBuilder build;
  build.object(kPage, build.type("A"), 200000);
  {
    Kept kept(build.snapshot);
    for (std::uint64_t at = 0; at < 200000; at += 8) kept.put(0, at, at * 0x9e3779b97f4a7c15);
  }
  std::string expected = std::string("GCFULL\1\0", 8) + words({kPage, 200000});
  for (std::uint64_t at = 0; at < 200000; at += 8) expected += words({at * 0x9e3779b97f4a7c15});
  CHECK(written("gcfull", build.snapshot) == expected + words({kEnd}));
}

TEST_CASE("a dump that is read and written again is the same, byte for byte") {
  SnapshotBuilder build = small_heap();
  build.object(kPage + (8 << 20), build.type("Text"), 3 * 4096).kind =
      static_cast<std::uint64_t>(snapshot::ObjectKind::Atomic) & 3;
  {
    Kept kept(build.snapshot);
    kept.put(5, 4096, 0x6c6c612074612074);  // contents from which no type is derived
  }
  const auto counted = count_objects(build.snapshot);
  for (const char* const format : {"gcgrph", "gcfull"}) {
    const std::string first = written(format, build.snapshot);
    const Snapshot again = read_again(first);
    CHECK(written(format, again) == first);
    const auto counts = count_objects(again);
    CHECK(counts.objects == counted.objects);
    CHECK(counts.bytes == counted.bytes);
  }
  // The bytes contain everything that a graph has.
  CHECK(written("gcgrph", read_again(written("gcfull", build.snapshot))) ==
        written("gcgrph", build.snapshot));
}

TEST_CASE("a format that needs bytes or offsets that a snapshot lacks is refused") {
  SnapshotBuilder build = small_heap();
  const auto why_not = [&](std::string_view name) {
    const auto checked = check_exportable(*find_format(name), build.snapshot);
    return checked ? std::string() : checked.error().text();
  };
  for (const Format* const format : formats_with(writes<&Format::snapshot>))
    CHECK(why_not(format->name).empty());
  build.snapshot.heaps.resize(2);
  for (const char* name : {"gcfull", "gcgrph"}) {
    CHECK(why_not(name).find("try: --heap gc") != std::string::npos);
  }
  CHECK(why_not("hprof").empty());
  build.snapshot.heaps.resize(1);
  build.snapshot.header.source = "gcgrph";
  CHECK(why_not("gcfull").find("pointers") != std::string::npos);
  CHECK(why_not("gcgrph").empty());
  build.snapshot.contents.reset();
  build.snapshot.header.source = "freeze";
  build.snapshot.types[0].keys.resize(1);
  for (const char* name : {"gcfull", "gcgrph", "hprof"}) {
    CHECK(why_not(name).find("try: export the process itself") != std::string::npos);
  }
  CHECK(why_not("heapsnapshot").empty());
}

}  // namespace heapattach
