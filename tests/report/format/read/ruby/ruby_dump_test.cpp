#include <algorithm>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "report/analyze/edge_names.h"
#include "report/analyze/find_expression.h"
#include "report/analyze/find_matches.h"
#include "report/analyze/type_sizes.h"
#include "report/format/export/formats.h"
#include "report/format/read/ruby/dump.h"
#include "report/format/read/ruby/passed.h"
#include "report/format/write/json_lines.h"
#include "report/model/counts.h"
#include "tests/support/memory_sink.h"
#include "tests/support/temporary_directory.h"

namespace heapattach::ruby {
namespace {

using snapshot::Snapshot;

Result<Snapshot> read(std::string_view text, DumpOptions options = {}) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("dump.json");
  std::ofstream(file, std::ios::binary) << text;
  options.block_bytes = 200;  // so that lines of one dump are in several blocks
  auto opened = read::TextFile::open(file, {});
  REQUIRE(opened);
  CHECK(is_dump(*opened));
  return read_dump(std::move(opened).value(), options);
}

Snapshot whole(std::string_view text, const DumpOptions& options = {}) {
  auto found = read(text, options);
  REQUIRE_MESSAGE(found, found.error().message());
  CHECK_MESSAGE(found->complete, found->reason);
  return std::move(found).value();
}

// The counts and bytes as "2 Session 80, 1 String 40", ordered by name.
std::string counts(const Snapshot& snapshot) {
  auto rows = snapshot::count_objects(snapshot).rows;
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.type < b.type; });
  std::string all;
  for (const auto& row : rows) {
    all += fmt::format("{}{} {} {}", all.empty() ? "" : ", ", row.objects, row.type, row.bytes);
  }
  return all;
}

// The edges of the object at an address: "class → 0x10, [0] → 0x20".
std::string edges(const Snapshot& snapshot, std::uint64_t address) {
  analyze::EdgeNames names(snapshot);
  std::string all;
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (snapshot.objects[i].address != address) continue;
    for (auto e = snapshot.first_edge[i]; e < snapshot.first_edge[i + 1]; ++e) {
      const snapshot::Edge& edge = snapshot.edges[e];
      all += fmt::format("{}{} → {:#x}", all.empty() ? "" : ", ",
                         names.name(static_cast<snapshot::ObjectIndex>(i), edge.offset_words),
                         std::uint64_t{snapshot.objects[edge.to].address});
    }
  }
  return all;
}

constexpr std::string_view kClasses =
    R"({"address":"0x7f0010", "type":"CLASS", "class":"0x7f0018", "name":"Class", "references":[], "memsize":100}
{"address":"0x7f0018", "type":"CLASS", "class":"0x7f0010", "superclass":"0x7f0010", "real_class_name":"Class", "singleton":true, "references":["0x7f0010"], "memsize":10}
{"address":"0x7f0020", "type":"CLASS", "class":"0x7f0010", "name":"String", "memsize":100}
{"address":"0x7f0028", "type":"CLASS", "class":"0x7f0010", "name":"Blog::Post", "memsize":100}
)";

}  // namespace

TEST_CASE("a Ruby object has the class that its dump names, wherever the class is in the file") {
  const Snapshot snapshot =
      whole(std::string(
                R"({"type":"ROOT", "root":"vm", "references":["0x7f0100", "0x7f0010"]}
{"address":"0x7f0100", "type":"OBJECT", "class":"0x7f0028", "ivars":3, "references":["0x7f0108", "0x7f0110"], "memsize":40, "flags":{"wb_protected":true, "old":true}}
{"address":"0x7f0108", "type":"STRING", "class":"0x7f0020", "embedded":true, "bytesize":1, "value":"\"", "encoding":"UTF-8", "memsize":40}
{"address":"0x7f0110", "type":"STRING", "class":"0x7f0020", "shared":true, "references":["0x7f0118"], "memsize":50}
{"address":"0x7f0118", "type":"STRING", "frozen":true, "fstring":true, "bytesize":9, "memsize":45}
)")
                .append(kClasses));
  CHECK(counts(snapshot) ==
        "1 Blog::Post 40, 3 Class 300, 1 Class (singleton) 10, 2 String 90, 1 internal(String) 45");
  CHECK(edges(snapshot, 0x7f0100) ==
        "class → 0x7f0028, references[0] → 0x7f0108, references[1] → 0x7f0110");
  CHECK(edges(snapshot, 0x7f0018) == "class → 0x7f0010, superclass → 0x7f0010");
  REQUIRE(snapshot.roots.size() == 2);
  CHECK(snapshot.roots[0].symbol == "vm");
  CHECK(snapshot.header.runtime == "ruby");
}

TEST_CASE("our own export in this format is read back with the same counts and references") {
  const Snapshot first = whole(
      std::string(kClasses) +
      R"({"address":"0x7f0100", "type":"OBJECT", "class":"0x7f0028", "references":["0x7f0108"], "memsize":40}
{"address":"0x7f0108", "type":"STRING", "class":"0x7f0020", "value":"a", "memsize":40}
)");
  MemorySink sink;
  REQUIRE(find_format("ruby")->snapshot(first, sink, {}));
  const Snapshot again = whole(sink.text);
  CHECK(counts(again) == counts(first));
  REQUIRE(again.objects.size() == first.objects.size());
  CHECK(again.edges.size() == first.edges.size());
}

TEST_CASE("singleton classes are passed over; anonymous ones are printed as Ruby does") {
  const Snapshot snapshot = whole(
      std::string(kClasses) +
      R"({"address":"0x7f0200", "type":"CLASS", "class":"0x7f0010", "superclass":"0x7f0208", "singleton":true, "memsize":1}
{"address":"0x7f0208", "type":"ICLASS", "class":"0x7f0300", "superclass":"0x7f0210", "memsize":1}
{"address":"0x7f0210", "type":"CLASS", "class":"0x7f0010", "superclass":"0x7f0010", "memsize":1}
{"address":"0x7f0218", "type":"OBJECT", "class":"0x7f0200", "memsize":40}
{"address":"0x7f0220", "type":"OBJECT", "class":"0x7f0210", "memsize":40}
)");
  CHECK(counts(snapshot).find("2 #<Class:0x00000000007f0210> 80") != std::string::npos);
  CHECK(counts(snapshot).find("1 iclass 1") != std::string::npos);
}

TEST_CASE("an object without a visible class is named after its kind") {
  const Snapshot snapshot = whole(
      R"({"address":"0x10", "type":"IMEMO", "class":"0x30", "imemo_type":"iseq", "references":["0x18"], "memsize":40}
{"address":"0x18", "type":"IMEMO", "imemo_type":"ment", "memsize":48}
{"address":"0x20", "type":"DATA", "struct":"VM/thread", "memsize":60}
{"address":"0x28", "type":"HASH", "size":0, "memsize":40}
{"address":"0x30", "type":"NODE", "node_type":"NODE_SCOPE", "memsize":40}
{"address":"0x38", "type":"ZOMBIE"}
{"address":"0x40", "type":"NONE", "slot_size":40}
)");
  CHECK(counts(snapshot) ==
        "1 imemo(iseq) 40, 1 imemo(ment) 48, 1 internal(Hash) 40, 1 internal(VM/thread) 60, "
        "1 node(NODE_SCOPE) 40, 1 zombie 40");
  CHECK(edges(snapshot, 0x10) == "references[0] → 0x18");
}

TEST_CASE("an edge has a name only where the dump proves it") {
  const Snapshot snapshot = whole(
      std::string(kClasses) +
      R"({"address":"0x1000", "type":"SHAPE", "id":1, "depth":0, "shape_type":"ROOT", "edges":1, "memsize":32}
{"address":"0x1008", "type":"SHAPE", "id":2, "parent_id":1, "depth":1, "shape_type":"IVAR","edge_name":"@title", "edges":1, "memsize":32}
{"address":"0x1010", "type":"SHAPE", "id":3, "parent_id":2, "depth":2, "shape_type":"IVAR","edge_name":"@body", "edges":0, "memsize":32}
{"address":"0x7f0100", "type":"OBJECT", "shape_id":3, "slot_size":40, "class":"0x7f0028", "ivars":2, "references":["0x7f0020", "0x7f0010"], "memsize":40}
{"address":"0x7f0108", "type":"OBJECT", "shape_id":3, "slot_size":40, "class":"0x7f0028", "ivars":2, "references":["0x7f0020"], "memsize":40}
{"address":"0x7f0110", "type":"ARRAY", "shape_id":1, "slot_size":40, "length":2, "references":["0x7f0020", "0x7f0010"], "memsize":40}
{"address":"0x7f0118", "type":"ARRAY", "shape_id":1, "slot_size":40, "length":3, "references":["0x7f0020", "0x7f0010"], "memsize":40}
{"address":"0x7f0120", "type":"ARRAY", "shape_id":1, "slot_size":40, "length":1, "shared":true, "references":["0x7f0020"], "memsize":40}
)");
  CHECK(edges(snapshot, 0x7f0100) == "class → 0x7f0028, @title → 0x7f0020, @body → 0x7f0010");
  CHECK(edges(snapshot, 0x7f0108) == "class → 0x7f0028, references[0] → 0x7f0020");
  CHECK(edges(snapshot, 0x7f0110) == "[0] → 0x7f0020, [1] → 0x7f0010");
  CHECK(edges(snapshot, 0x7f0118) == "references[0] → 0x7f0020, references[1] → 0x7f0010");
  CHECK(edges(snapshot, 0x7f0120) == "references[0] → 0x7f0020");
  CHECK(snapshot.objects.size() == 9);  // shapes are not objects of the heap
}

TEST_CASE("in a file of shapes alone, the shapes are the objects") {
  const Snapshot snapshot = whole(
      R"({"address":"0x1000", "type":"SHAPE", "id":1, "depth":0, "shape_type":"ROOT", "edges":1, "memsize":32}
{"address":"0x1008", "type":"SHAPE", "id":2, "parent_id":1, "depth":1, "shape_type":"IVAR","edge_name":"@title", "edges":1, "memsize":48}
)");
  CHECK(counts(snapshot) == "1 shape(IVAR) 48, 1 shape(ROOT) 32");
  CHECK(edges(snapshot, 0x1008) == "parent → 0x1000");
}

TEST_CASE("lines of a Ruby dump may come in any order, each object once") {
  CHECK(counts(whole(R"({"address":"0x30", "type":"IMEMO", "imemo_type":"env", "memsize":40}
{"address":"0x10", "type":"IMEMO", "imemo_type":"env", "references":["0x30"], "memsize":40}
{"address":"0x40", "type":"IMEMO", "imemo_type":"env", "memsize":40}
{"address":"0x20", "type":"IMEMO", "imemo_type":"env", "memsize":40}
)")) == "4 imemo(env) 160");
  const auto twice = read(R"({"address":"0x30", "type":"IMEMO", "imemo_type":"env", "memsize":40}
{"address":"0x10", "type":"IMEMO", "imemo_type":"env", "memsize":40}

{"address":"0x30", "type":"IMEMO", "imemo_type":"env", "memsize":40}
)");
  REQUIRE(!twice);
  CHECK(twice.error().kind == ErrorKind::Malformed);
  CHECK(twice.error().message().find("line 4: object 0x30 has two lines") != std::string::npos);
}

TEST_CASE("the first releases write texts that are not JSON, and memsize last") {
  const Snapshot snapshot = whole(
      "{\"address\":\"0x10\", \"type\":\"STRING\", \"class\":\"0x20\", \"embedded\":true, "
      "\"bytesize\":2, \"value\":\"\x01\xff\", \"references\":[\"0x20\"], \"file\":\"C:\\app.rb\", "
      "\"line\":3, \"method\":\"call\", \"generation\":1, \"memsize\":40}\n"
      "{\"address\":\"0x20\", \"type\":\"CLASS\", \"class\":\"0x20\", \"name\":\"String\", "
      "\"memsize\":100}\n",
      [] {
        DumpOptions options;
        options.text_bytes = 100;
        return options;
      }());
  CHECK(counts(snapshot) == "2 String 140");
  REQUIRE(snapshot.values.size() == 1);
  CHECK(snapshot.values[0].text_of(snapshot.values[0].values[0]) == "\x01\xff");
}

TEST_CASE("types can be divided by the lines that allocated their objects") {
  DumpOptions options;
  options.by_line = true;
  const Snapshot snapshot = whole(
      std::string(kClasses) +
          R"({"address":"0x7f0100", "type":"STRING", "class":"0x7f0020", "file":"app.rb", "line":3, "method":"call", "generation":1, "memsize":40}
{"address":"0x7f0108", "type":"STRING", "class":"0x7f0020", "file":"app.rb", "line":3, "memsize":40}
{"address":"0x7f0110", "type":"STRING", "class":"0x7f0020", "memsize":40}
)",
      options);
  CHECK(counts(snapshot).find("1 String 40, 2 String (app.rb:3) 80") != std::string::npos);
}

TEST_CASE("a dump by our own code names constants, variables and globals, and leaves itself out") {
  DumpOptions options;
  options.own_file = "ours";
  const std::string text = std::string(kClasses) +
                           R"({"type":"CONST","address":"0x7f0028","class":"0x7f0110","name":"ALL"}
{"type":"CONST","address":"0x7f0028","class":"0x7f0999","name":"GONE"}
{"type":"IVARS","address":"0x7f0100","name":"@title @body"}
{"type":"IVARS","address":"0x7f0108","name":"@title @body"}
{"type":"IVARS","address":"0x7f0118","name":"@title"}
{"type":"GLOBAL","class":"0x7f0110","name":"$all"}
{"type":"ROOT", "root":"global_tbl", "references":["0x7f0110", "0x7f0020"]}
{"address":"0x7f0030", "type":"CLASS", "class":"0x7f0010", "name":"Other", "references":["0x7f0110"], "memsize":100}
{"address":"0x7f0100", "type":"OBJECT", "class":"0x7f0028", "references":["0x7f0020", "0x7f0010"], "memsize":40}
{"address":"0x7f0108", "type":"OBJECT", "class":"0x7f0028", "references":["0x7f0020"], "memsize":40}
{"address":"0x7f0110", "type":"ARRAY", "length":2, "references":["0x7f0100"], "memsize":40}
{"address":"0x7f0118", "type":"DATA", "struct":"time", "class":"0x7f0028", "references":["0x7f0020"], "memsize":40}
{"address":"0x7f0120", "type":"STRING", "class":"0x7f0020", "file":"ours", "line":3, "memsize":40}
{"address":"0x7f0128", "type":"MODULE", "class":"0x7f0010", "name":"M", "references":["0x7f0020", "0x7f0110"], "memsize":40}
{"type":"CONST","address":"0x7f0128","class":"0x7f0110","name":"@@all"}
)";
  const Snapshot snapshot = whole(text + "{\"type\":\"END\"}\n", options);
  CHECK(edges(snapshot, 0x7f0100) == "class → 0x7f0028, @title → 0x7f0020, @body → 0x7f0010");
  CHECK(edges(snapshot, 0x7f0108) == "class → 0x7f0028, references[0] → 0x7f0020");
  CHECK(edges(snapshot, 0x7f0118) == "class → 0x7f0028, references[0] → 0x7f0020");
  CHECK(edges(snapshot, 0x7f0128) ==
        "class → 0x7f0010, references[0] → 0x7f0020, @@all → 0x7f0110");
  CHECK(edges(snapshot, 0x7f0030) == "class → 0x7f0010, references[0] → 0x7f0110");
  CHECK(edges(snapshot, 0x7f0120).empty());
  REQUIRE(snapshot.roots.size() == 2);
  CHECK(snapshot.roots[0].symbol == "global_tbl");
  CHECK(snapshot.roots[1].symbol == "$all");
  const auto cut = read(text, options);
  REQUIRE(cut);
  CHECK(!cut->complete);
}

TEST_CASE("variables that Ruby keeps in an object of their own have their names there") {
  DumpOptions options;
  options.own_file = "ours";
  const Snapshot snapshot =
      whole(std::string(kClasses) +
                R"({"type":"CONST","address":"0x7f0028","class":"0x7f0110","name":"ALL"}
{"type":"CONST","address":"0x7f0028","class":"0x7f0118","name":"@cache"}
{"type":"CONST","address":"0x7f0030","class":"0x7f0118","name":"@@cache"}
{"type":"IVARS","address":"0x7f0100","name":"@only"}
{"type":"IVARS","address":"0x7f0108","name":"@title @body"}
{"address":"0x7f0030", "type":"CLASS", "class":"0x7f0010", "name":"Other", "references":["0x7f0020", "0x7f0120", "0x7f0110"], "memsize":100}
{"address":"0x7f0100", "type":"OBJECT", "class":"0x7f0028", "references":["0x7f0128"], "memsize":40}
{"address":"0x7f0108", "type":"OBJECT", "class":"0x7f0028", "references":["0x7f0130"], "memsize":40}
{"address":"0x7f0110", "type":"ARRAY", "length":2, "references":["0x7f0100"], "memsize":40}
{"address":"0x7f0118", "type":"HASH", "class":"0x7f0020", "references":[], "memsize":40}
{"address":"0x7f0120", "type":"IMEMO", "class":"0x7f0030", "imemo_type":"fields", "references":["0x7f0110", "0x7f0118"], "memsize":40}
{"address":"0x7f0128", "type":"IMEMO", "class":"0x7f0100", "imemo_type":"fields", "references":["0x7f0118"], "memsize":40}
{"address":"0x7f0130", "type":"IMEMO", "class":"0x7f0108", "imemo_type":"fields", "references":["0x7f0118"], "memsize":40}
{"type":"END"}
)",
            options);
  CHECK(edges(snapshot, 0x7f0030) ==
        "class → 0x7f0010, references[0] → 0x7f0020, "
        "fields → 0x7f0120, references[2] → 0x7f0110");
  CHECK(edges(snapshot, 0x7f0120) == "references[0] → 0x7f0110, @@cache → 0x7f0118");
  CHECK(edges(snapshot, 0x7f0100) == "class → 0x7f0028, fields → 0x7f0128");
  CHECK(edges(snapshot, 0x7f0128) == "@only → 0x7f0118");
  // One of the two words is not a reference, and nothing shows which.
  CHECK(edges(snapshot, 0x7f0130) == "references[0] → 0x7f0118");
}

TEST_CASE("the table of our own tracing is left out, and that of the program's is not") {
  DumpOptions options;
  options.own_file = "ours";
  const std::string text =
      std::string(kClasses) +
      R"({"address":"0x7f0100", "type":"DATA", "class":"0x7f0020", "struct":"ObjectTracing/allocation_info_tracer", "memsize":2097736}
{"type":"END"}
)";
  CHECK(counts(whole(text, options)).find("2097736") == std::string::npos);
  CHECK(counts(whole("{\"type\":\"TRACED\"}\n" + text, options)).find("2097736") !=
        std::string::npos);
}

TEST_CASE("a Ruby dump that was cut off is partial") {
  const std::string line = R"({"address":"0x10", "type":"IMEMO", "imemo_type":"env", "memsize":40}
)";
  SUBCASE("in a line") {
    const auto cut = read(line + R"({"address":"0x18", "type":"IM)");
    REQUIRE(cut);
    CHECK(!cut->complete);
    CHECK(cut->reason.find("ends early, at line 2") != std::string::npos);
  }
  SUBCASE("between two lines") {
    const auto cut =
        read(line + R"({"address":"0x18", "type":"ARRAY", "references":["0x20"], "memsize":40}
)");
    REQUIRE(cut);
    CHECK(!cut->complete);
    CHECK(cut->reason.find("1 of 1 references") != std::string::npos);
  }
  SUBCASE("between two lines, if the references of objects are not read") {
    std::string roots = R"({"type":"ROOT", "root":"vm", "references":["0x10")";
    for (int i = 1; i <= 12; ++i) roots += fmt::format(R"(, "{:#x}")", 0x1000 + 8 * i);
    DumpOptions counts_alone;
    counts_alone.with_edges = false;
    const auto cut = read(roots + "]}\n" + line, counts_alone);
    REQUIRE(cut);
    CHECK(!cut->complete);
    CHECK(cut->reason.find("12 of 13 references of roots") != std::string::npos);
  }
}

TEST_CASE("a malformed line of a Ruby dump is refused with its number") {
  const std::string line = R"({"address":"0x10", "type":"IMEMO", "imemo_type":"env", "memsize":40}
)";
  for (const std::string_view wrong :
       {R"({"address":"0x18", "type":"IMEMO", "memsize":40)", R"({"address":"18", "type":"HASH"})",
        R"({"address":"0x123456789abcd", "type":"HASH"})", R"({"type":"HASH"})",
        R"({"address":"0x18"})", R"({"address":"0x18", "type":"HASH"} x)", R"([1])",
        R"({"address":"0x18", "type":"HASH", "references":["0x10" "0x10"]})",
        R"({"address":"0x18", "type":"HASH", "memsize":99999999999999999999})",
        R"({"address":"0x18", "type":"HASH", "flags":{"old":true})"}) {
    CAPTURE(wrong);
    const auto found = read(line + std::string(wrong) + "\n" + line);
    REQUIRE(!found);
    CHECK(found.error().kind == ErrorKind::Malformed);
    CHECK_MESSAGE(found.error().message().find("line 2: ") != std::string::npos,
                  found.error().message());
  }
}

TEST_CASE("what the interpreter keeps in place of a class may be no address: a Float constant") {
  const Snapshot snapshot = whole(
      R"({"address":"0x10", "type":"IMEMO", "class":"0xfe4cccccccccccd2", "imemo_type":"constcache", "memsize":40}
)");
  CHECK(counts(snapshot) == "1 imemo(constcache) 40");
  const auto wrong = read(R"({"address":"0x10", "class":"0xfe4cccccccccccd2", "type":"OBJECT"}
)");
  REQUIRE(!wrong);
  CHECK(wrong.error().message().find("an impossible address") != std::string::npos);
}

TEST_CASE("the lines of the heap_dump gem are read, with the names that they have") {
  const Snapshot snapshot = whole(R"([{"id":"_ROOTS_","stack_and_registers":[16],"classes":[8]}
,{"id":8,"bt":"T_CLASS","name":"Post","methods":{"call":24},"ivs":{"@all":16},"super":null}
,{"id":16,"bt":"T_ARRAY","val":["text",32,7,null]}
,{"id":24,"bt":"T_DATA","type_name":"iseq","size":60,"name":"call","line":32,"klass":8}
,{"id":32,"bt":"T_OBJECT","class":8,"ivs":{"@title":48,"@n":1}}
,{"id":48,"bt":"T_HASH","val":{"key":16}}
]
)");
  CHECK(counts(snapshot) == "1 Array 40, 1 Class 40, 1 Hash 40, 1 Post 40, 1 iseq 100");
  CHECK(edges(snapshot, 16) == "methods.call → 0x30, @all → 0x20");
  CHECK(edges(snapshot, 32) == "[1] → 0x40");
  CHECK(edges(snapshot, 48) == "klass → 0x10");
  CHECK(edges(snapshot, 64) == "class → 0x10, @title → 0x60");
  CHECK(edges(snapshot, 96) == "key → 0x20");
  CHECK(snapshot.roots.size() == 2);
  const auto cut = read("[{\"id\":8,\"bt\":\"T_ARRAY\",\"val\":[]}\n");
  REQUIRE(cut);
  CHECK(!cut->complete);
}

namespace {

std::vector<std::byte> passed(const Result<Snapshot>& snapshot) {
  std::vector<std::byte> all;
  pass_snapshot(snapshot, {"a note"}, [&](std::span<const std::byte> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  });
  return all;
}

Result<TakenSnapshot> taken(std::span<const std::byte> bytes) {
  return take_snapshot_passed(
      [&](std::span<std::byte> to) -> Result<void> {
        if (to.size() > bytes.size()) return Error{ErrorKind::Malformed, "too little"};
        std::copy_n(bytes.begin(), to.size(), to.begin());
        bytes = bytes.subspan(to.size());
        return {};
      },
      10'000);
}

std::string written(const Snapshot& snapshot) {
  MemorySink sink;
  REQUIRE(write_json_lines(snapshot, sink, {}));
  return sink.text;
}

constexpr std::string_view kPassed =
    R"({"type":"ROOT", "root":"vm", "references":["0x7f0100", "0x7f0010"]}
{"address":"0x7f0100", "type":"OBJECT", "class":"0x7f0028", "references":["0x7f0108"], "memsize":40}
{"address":"0x7f0108", "type":"STRING", "class":"0x7f0020", "value":"text", "memsize":40}
)";

}  // namespace

TEST_CASE("fields that hold numbers, Symbols or nil are found, and so are keys of Hashes") {
  DumpOptions options;
  options.own_file = "ours";
  options.with_edges = true;
  options.text_bytes = 100;
  const Snapshot snapshot = whole(
      std::string(kClasses) +
          R"({"type":"VALUES","address":"0x7f0100","name":"@id=7 @state=:open @owner=nil @rate=1.5e+20"}
{"type":"CONST","address":"0x7f0100","class":"0x7f0120","name":"@name"}
{"type":"CONST","address":"0x7f0100","class":"0x7f0110","name":"@opts"}
{"type":"VALUES","address":"0x7f0108","name":"@id=8 @state=:shut @bad=1,\"x\": @worse @owner=true"}
{"type":"VALUES","address":"0x7f0110","name":"[:size]=3 [\u0022k\u0022]=4"}
{"type":"CONST","address":"0x7f0110","class":"0x7f0120","name":"[:user]"}
{"address":"0x7f0100", "type":"OBJECT", "class":"0x7f0028", "references":["0x7f0120", "0x7f0110"], "memsize":40}
{"address":"0x7f0108", "type":"OBJECT", "class":"0x7f0028", "references":[], "memsize":40}
{"address":"0x7f0110", "type":"HASH", "class":"0x7f0020", "references":["0x7f0120"], "memsize":40}
{"address":"0x7f0120", "type":"STRING", "class":"0x7f0020", "value":"ann", "memsize":40}
{"type":"END"}
)",
      options);
  const auto result = taken(passed(snapshot));
  REQUIRE(result);
  const Snapshot& whole_one = *result->snapshot;
  const auto found = [&](const std::string& conditions) -> std::string {
    const auto expression = analyze::parse_find("Post[" + conditions + "]");
    REQUIRE(expression);
    const auto matches = analyze::find_matches(whole_one, *expression);
    if (!matches) return matches.error().message();
    std::string all;
    for (const auto& one : matches->found) {
      all += fmt::format("{:#x} ", std::uint64_t{whole_one.objects[one.object].address});
    }
    return all;
  };
  CHECK(found("@id == 7") == "0x7f0100 ");
  CHECK(found("@id >= 7") == "0x7f0100 0x7f0108 ");
  CHECK(found("@state == \"shut\"") == "0x7f0108 ");
  CHECK(found("@owner == nil") == "0x7f0100 ");
  CHECK(found("@owner == true") == "0x7f0108 ");
  CHECK(found("@rate > 1e20") == "0x7f0100 ");
  CHECK(found("@name == \"ann\"") == "0x7f0100 ");
  CHECK(found("@opts[:size] == 3") == "0x7f0100 ");
  CHECK(found("@opts[\"k\"] == 4") == "0x7f0100 ");
  CHECK(found("@opts[:user] == \"ann\"") == "0x7f0100 ");
  CHECK(found("@opts[:none] == 1")
            .find("no Blog::Post has a field @opts[:none]; it has "
                  "@id, @name, @opts, @owner, @rate, @state") != std::string::npos);
  CHECK(found("@bad == 1").find("no Blog::Post has a field @bad") != std::string::npos);
}

TEST_CASE("a dump's snapshot leaves its worker as it is") {
  DumpOptions options;
  options.text_bytes = 100;
  const Snapshot snapshot = whole(std::string(kPassed) + std::string(kClasses), options);
  const auto again = taken(passed(snapshot));
  REQUIRE(again);
  CHECK(again->notes == std::vector<std::string>{"a note"});
  REQUIRE(again->snapshot);
  CHECK(again->snapshot->complete);
  CHECK(written(*again->snapshot) == written(snapshot));

  const auto error = taken(passed(Error{ErrorKind::Malformed, "line 3: no"}));
  REQUIRE(error);
  REQUIRE(!error->snapshot);
  CHECK(error->snapshot.error().message() == "line 3: no");
}

TEST_CASE("a worker that an attacker controls passes a snapshot that can be used, or none") {
  DumpOptions options;
  options.text_bytes = 100;
  const auto right = passed(whole(std::string(kPassed) + std::string(kClasses), options));
  std::size_t refused = 0;
  for (std::size_t at = 0; at < right.size(); ++at) {
    for (const unsigned change : {0x01U, 0x80U, 0xffU}) {
      auto bytes = right;
      bytes[at] ^= static_cast<std::byte>(change);
      auto found = taken(bytes);
      if (!found || !found->snapshot) {
        ++refused;
        continue;
      }
      auto counts = snapshot::count_objects(*found->snapshot, snapshot::CountBy::Type);
      analyze::add_sizes(*found->snapshot, snapshot::CountBy::Type, counts);
      CHECK(!written(*found->snapshot).empty());
    }
    CHECK(!taken(std::span(right).first(at)));  // cut off
  }
  CHECK(refused > right.size());
}

}  // namespace heapattach::ruby
