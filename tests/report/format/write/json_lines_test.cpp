#include "report/format/write/json_lines.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <zlib.h>

#include "symbols/unwind/stack_record.h"
#include "tests/support/memory_sink.h"
#include "tests/support/small_snapshot.h"

namespace heapattach::snapshot {

namespace {

std::string written(const Snapshot& snapshot) {
  MemorySink sink;
  REQUIRE(write_json_lines(snapshot, sink, {}));
  return sink.text;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    REQUIRE(end != std::string_view::npos);
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

// Parses each line, which must be JSON, with a parser that is not heapattach's own.
std::vector<simdjson::dom::element> parsed(simdjson::dom::parser* parsers,
                                           const std::vector<std::string>& lines) {
  std::vector<simdjson::dom::element> elements;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    simdjson::dom::element element;
    CAPTURE(lines[i].substr(0, 200));
    REQUIRE(parsers[i].parse(lines[i]).get(element) == simdjson::SUCCESS);
    elements.push_back(element);
  }
  return elements;
}

std::string gunzipped(const std::string& packed) {
  std::string text;
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  while (stream.avail_in != 0) {
    char part[4096];
    stream.next_out = reinterpret_cast<Bytef*>(part);
    stream.avail_out = sizeof part;
    const int status = inflate(&stream, Z_NO_FLUSH);
    REQUIRE((status == Z_OK || status == Z_STREAM_END));
    text.append(part, sizeof part - stream.avail_out);
    if (status == Z_STREAM_END) inflateReset(&stream);
  }
  inflateEnd(&stream);
  return text;
}

// A ring of `count` objects, each of which also points to the first.
Snapshot ring(std::uint32_t count) {
  SnapshotBuilder build;
  const auto node = build.type("Node");
  for (std::uint32_t i = 0; i < count; ++i) {
    build.object(0x7f0000001000 + 48ULL * i, node, 48, {{8, (i + 1) % count}, {16, 0}});
  }
  return build.snapshot;
}

}  // namespace

TEST_CASE("a snapshot is written in the documented format") {
  SnapshotBuilder build;
  Header& header = build.snapshot.header;
  header.host = "ci-7";
  header.exe = "/srv/app";
  header.pause_ms = 41.2;
  Heap& heap = build.snapshot.heaps.emplace_back();
  heap.version = "8.2.2";
  heap.layout = "accessors";
  heap.collecting = false;
  heap.heap_bytes = 65536;
  header.marked_conservatively = {30, 1920};
  header.runtime = "crystal";
  const auto session = build.type("Session");
  build.snapshot.types[session].id = 174;
  build.snapshot.types[session].instance_bytes = 40;
  build.snapshot.types[session].known_from = {"type-info"};
  build.snapshot.types[session].fields = {{"@user", "String", 8, 8}};
  build.snapshot.types[session].paths = {{8, "@user"}};
  const auto text = build.type("String");
  build.object(0x7f12a0, session, 48, {{8, 1}, {16, 0}});
  build.object(0x7f1300, text, 32).kind = static_cast<unsigned>(ObjectKind::Atomic);
  build.snapshot.places = {{0x4011, {"main", "app.c", 7}, {{"read", "io.c", 3}}, "app"},
                           {0x7e01, {}, {}, "libc.so.6"}};
  build.snapshot.stacks = {
      {{{1}, {0, unwind::FoundBy::Scan}}, 0, 0, {}},
      {{{1}}, 10, 1, unwind::StackEnd::Corrupt},
  };
  build.snapshot.threads.push_back({4711, "app", 'S', 0});
  build.snapshot.fibers.push_back({0x7f55, "worker-1", 1});
  build.snapshot.fibers.push_back({0x7f99, "", 1});
  header.findings = {"deadlock: …"};
  build.snapshot.threads[0].wait.call = "pause";
  build.snapshot.threads[0].fiber = 1;
  build.snapshot.fibers[0].wait.kind = WaitKind::Mutex;
  build.snapshot.fibers[0].wait.owner = 1;
  build.snapshot.fibers[0].wait.left = std::chrono::milliseconds(250);
  build.snapshot.fibers[0].finding = 0;
  Root stack;
  stack.kind = RootKind::Stack;
  stack.thread = 4711;
  stack.address = 0x7ffd10;
  stack.frame = 1;
  stack.variable = "session";
  stack.inlined = 0;
  build.snapshot.roots.push_back(stack);
  Root rax;
  rax.kind = RootKind::Register;
  rax.thread = 4711;
  rax.symbol = "rax";
  rax.to = 1;
  build.snapshot.roots.push_back(rax);
  CHECK(
      written(build.snapshot) ==
      R"({"record":"snapshot","version":1,"tool":"heapattach 0.1.0","pid":4711,"host":"ci-7","exe":"/srv/app","source":"freeze","pause_ms":41.200,"collector":{"name":"bdwgc","version":"8.2.2","layout":"accessors","collecting":false,"heap_bytes":65536},"marked_conservatively":{"objects":30,"bytes":1920},"runtime":"crystal","live_only":true,"findings":["deadlock: …"]}
{"record":"type","name":"Session","id":174,"bytes":40,"known_from":["type-info"],"fields":[{"name":"@user","offset":8,"bytes":8,"type":"String"}]}
{"record":"type","name":"String"}
{"record":"thread","tid":4711,"name":"app","state":"S","waits":{"call":"pause"},"fiber":"0x7f99","frames":[{"pc":"0x7e01","module":"libc.so.6"},{"pc":"0x4011","function":"main","file":"app.c","line":7,"module":"app","inlined":[{"function":"read","file":"io.c","line":3}],"found_by":"scan"}]}
{"record":"fiber","address":"0x7f55","name":"worker-1","waits":{"for":"mutex","owner":"0x7f99","left_s":0.250},"finding":0,"frames":[{"pc":"0x7e01","module":"libc.so.6"}],"left_out":10,"left_out_behind":1,"end":"corrupt"}
{"record":"fiber","address":"0x7f99","same_frames_as":"0x7f55"}
{"record":"root","kind":"stack","thread":4711,"frame":1,"variable":"session","inlined":0,"address":"0x7ffd10","to":"0x7f12a0"}
{"record":"root","kind":"register","thread":4711,"register":"rax","to":"0x7f1300"}
{"record":"object","address":"0x7f12a0","type":"Session","bytes":48,"refs":{"@user":"0x7f1300","+16":"0x7f12a0"}}
{"record":"object","address":"0x7f1300","type":"String","bytes":32,"kind":"atomic"}
{"record":"end","complete":true,"objects":2,"bytes":80,"roots":2,"skipped":0}
)");
}

TEST_CASE("pieces written by several workers come out in order and whole") {
  const Snapshot snapshot = ring(20001);
  const auto lines = lines_of(written(snapshot));
  REQUIRE(lines.size() == 20001 + 3);
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    const std::string& line = lines[i + 2];
    const auto address = [&](std::size_t n) {
      return fmt::format("{:#x}", std::uint64_t{snapshot.objects[n % 20001].address});
    };
    REQUIRE(line == fmt::format(R"({{"record":"object","address":"{}","type":"Node","bytes":48,)"
                                R"("refs":{{"+8":"{}","+16":"{}"}}}})",
                                address(i), address(i + 1), address(0)));
  }
}

TEST_CASE("an object with more pointers than a buffer holds is one line") {
  SnapshotBuilder build;
  std::vector<std::pair<std::uint32_t, ObjectIndex>> pointers;
  for (std::uint32_t i = 0; i < 100000; ++i) pointers.emplace_back(8 * i, i % 2);
  build.object(0x1000, build.type("Big"), 800000, pointers);
  build.object(0x200000, 0, 16);
  const auto lines = lines_of(written(build.snapshot));
  REQUIRE(lines.size() == 5);
  simdjson::dom::parser parser;
  simdjson::dom::object refs;
  REQUIRE(parser.parse(lines[2])["refs"].get(refs) == simdjson::SUCCESS);
  std::uint64_t count = 0;
  for (const auto& [key, value] : refs) {
    REQUIRE(key == "+" + std::to_string(8 * count));
    REQUIRE(std::string_view(value) == (count % 2 == 0 ? "0x1000" : "0x200000"));
    ++count;
  }
  CHECK(count == 100000);
}

TEST_CASE("hostile names stay inside their strings") {
  SnapshotBuilder build;
  const auto bad = build.type("\"},{\x1b[2J\xff\u202e");
  build.snapshot.types[bad].paths = {
      {0, "a\"b"}, {8, "a\"b"}, {16, "+24"}, {24, "\xfe"}, {32, "\x01"}};
  build.snapshot.types[bad].known_from = {"\n"};
  build.object(0x1000, bad, 48, {{0, 0}, {8, 0}, {16, 0}, {24, 0}, {32, 0}});
  build.snapshot.header.exe = std::string(100000, '\x1b');
  const auto lines = lines_of(written(build.snapshot));
  REQUIRE(lines.size() == 4);
  simdjson::dom::parser parsers[4];
  const auto records = parsed(parsers, lines);
  CHECK(bool(records[0]["lossy"]));
  CHECK(bool(records[1]["lossy"]));
  CHECK(bool(records[2]["lossy"]));
  CHECK(lines[2].find(R"("refs":{"a\"b":"0x1000","+8":"0x1000","+16":"0x1000","+24":"0x1000",)"
                      R"("\u0001":"0x1000"}})") != std::string::npos);
  for (const std::string& line : lines) {
    for (const char letter : line) REQUIRE(static_cast<unsigned char>(letter) >= 0x20);
  }
}

TEST_CASE("elements are keyed by number and path, even after fixed fields") {
  SnapshotBuilder build;
  const auto entries = build.type("(buffer of Hash(K, V))");
  build.snapshot.types[entries].elements = {0, 24, "", {{8, "key"}, {16, "value"}}};
  const auto strings = build.type("(buffer of Array(String))");
  build.snapshot.types[strings].elements = {0, 8, "", {{0, ""}}};
  const auto message = build.type("struct message");
  build.snapshot.types[message].paths = {{0, "next"}, {8, "items[1]"}, {16, "[1]"}};
  build.snapshot.types[message].elements = {24, 16, "items", {{0, "name"}, {8, "[0]"}}};
  build.object(0x1000, entries, 96, {{8, 0}, {16, 0}, {24, 0}, {88, 0}});
  build.object(0x2000, strings, 32, {{0, 0}, {24, 0}});
  build.object(0x3000, message, 64, {{0, 0}, {8, 0}, {16, 0}, {24, 0}, {40, 0}, {48, 0}});
  const auto lines = lines_of(written(build.snapshot));
  CHECK(lines[4].find(R"({"[0].key":"0x1000","[0].value":"0x1000","+24":"0x1000",)"
                      R"("[3].value":"0x1000"})") != std::string::npos);
  CHECK(lines[5].find(R"({"[0]":"0x1000","[3]":"0x1000"})") != std::string::npos);
  CHECK(lines[6].find(R"({"next":"0x1000","+8":"0x1000","[1]":"0x1000","items[0].name":"0x1000",)"
                      R"("items[1].name":"0x1000","items[1][0]":"0x1000"})") != std::string::npos);
}

TEST_CASE("of several rows of one name the first with fields makes the type's record") {
  SnapshotBuilder build;
  build.type("Session");
  build.type("Session");
  build.type("Session");
  build.snapshot.types[1].fields.push_back({"@user", "User", 8, 8});
  const auto lines = lines_of(written(build.snapshot));
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].find("@user") != std::string::npos);
}

TEST_CASE("a type whose fields differ from instance to instance has all of them in its record") {
  SnapshotBuilder build;
  for (const char* const field : {"text", "item", "text"}) {
    build.type("Variant");
    auto& type = build.snapshot.types.back();
    type.instance_bytes = 16;
    type.fields = {{"kind", "int", 0, 8}, {field, "string", 8, 8}};
  }
  const auto lines = lines_of(written(build.snapshot));
  REQUIRE(lines.size() == 3);
  const std::size_t text = lines[1].find(R"("text")");
  CHECK(text != std::string::npos);
  CHECK(lines[1].find(R"("item")") > text);
  CHECK(lines[1].find(R"("item")") != std::string::npos);
  CHECK(lines[1].find(R"("text")", text + 1) == std::string::npos);
  CHECK(lines[1].find(R"("kind")") == lines[1].rfind(R"("kind")"));
}

TEST_CASE("the header has the typed bytes by source") {
  SnapshotBuilder build;
  build.snapshot.header.typed = TypedBytes{10, 20, 30, 40};
  CHECK(lines_of(written(build.snapshot))[0].find(
            R"("typed":{"header":10,"referrer":30,"vtable":20,"unknown":40})") !=
        std::string::npos);
}

TEST_CASE("unreachable objects are written only on request") {
  Snapshot snapshot = ring(3);
  snapshot.objects[1].is_reachable = 0;
  CHECK(lines_of(written(snapshot)).size() == 5);
  CHECK(written(snapshot).find(R"("objects":2,"bytes":96)") != std::string::npos);
  snapshot.header.live_only = false;
  CHECK(lines_of(written(snapshot))[3].find(R"("bytes":48,"reachable":false,"refs")") !=
        std::string::npos);
}

TEST_CASE("a partial snapshot has a reason") {
  Snapshot snapshot = ring(1);
  snapshot.complete = false;
  snapshot.reason = "2 blocks could not be read";
  snapshot.skipped = 2;
  CHECK(lines_of(written(snapshot)).back() ==
        R"({"record":"end","complete":false,"reason":"2 blocks could not be read",)"
        R"("objects":1,"bytes":48,"roots":0,"skipped":2})");
}

TEST_CASE("compressed pieces are one gzip file of the same text") {
  const Snapshot snapshot = ring(9000);
  MemorySink sink;
  JsonLinesOptions options;
  options.with_gzip = true;
  REQUIRE(write_json_lines(snapshot, sink, options));
  CHECK(sink.text.size() < written(snapshot).size() / 4);
  CHECK(gunzipped(sink.text) == written(snapshot));
}

TEST_CASE("a full disk ends the writing with its error") {
  const Snapshot snapshot = ring(20000);
  const std::size_t whole = written(snapshot).size();
  for (const std::size_t limit : {std::size_t{0}, std::size_t{300}, whole / 2, whole - 1}) {
    MemorySink sink;
    sink.limit_bytes = limit;
    const auto result = write_json_lines(snapshot, sink, {});
    REQUIRE_FALSE(result);
    CHECK(result.error().message().find("No space left") != std::string::npos);
  }
}

TEST_CASE("past the deadline the text ends early and is marked partial") {
  MemorySink sink;
  JsonLinesOptions options;
  options.deadline.at = std::chrono::steady_clock::now();
  const auto result = write_json_lines(ring(20000), sink, options);
  REQUIRE(result);
  CHECK_FALSE(result->in_time);
  CHECK(lines_of(sink.text).back().find(R"("complete":false,"reason":"the deadline passed)") !=
        std::string::npos);
}

TEST_CASE("an interruption ends the writing") {
  MemorySink sink;
  JsonLinesOptions options;
  options.deadline.interrupted = []() noexcept { return std::optional(2); };
  const auto result = write_json_lines(ring(10), sink, options);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::Interrupted);
}

}  // namespace heapattach::snapshot
