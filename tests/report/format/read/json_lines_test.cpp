#include "report/format/read/json_lines.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "attach/base/sanitized.h"
#include "report/format/write/gzip.h"
#include "report/format/write/json_lines.h"
#include "symbols/malloc/source.h"
#include "symbols/musl/source.h"
#include "symbols/unwind/stack_record.h"
#include "tests/support/memory_sink.h"
#include "tests/support/small_snapshot.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {

using snapshot::Snapshot;

namespace {

std::string written(const Snapshot& snapshot, bool with_gzip = false) {
  MemorySink sink;
  JsonLinesOptions options;
  options.with_gzip = with_gzip;
  REQUIRE(write_json_lines(snapshot, sink, options));
  return sink.text;
}

Result<Snapshot> read_text(const std::string& text, const read::ReadOptions& options = {}) {
  const TemporaryDirectory directory;
  const std::string name = directory.file("heap.jsonl");
  const Fd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return read::read_json_lines(name, options);
}

std::string refusal(const std::string& text) {
  const auto found = read_text(text);
  REQUIRE_FALSE(found);
  return found.error().message();
}

const std::string kHead = "{\"record\":\"snapshot\",\"version\":1,\"pid\":7}\n";
const std::string kA = "{\"record\":\"object\",\"address\":\"0x10\",\"type\":\"A\",\"bytes\":16}\n";
const std::string kB =
    "{\"record\":\"object\",\"address\":\"0x20\",\"type\":\"B\",\"bytes\":16,"
    "\"refs\":{\"@a\":\"0x10\"}}\n";
const std::string kEnd = "{\"record\":\"end\",\"complete\":true,\"objects\":2}\n";

void add_waits(Snapshot& snapshot) {
  snapshot.header.findings = {"deadlock: a \xff", "busy: b"};
  snapshot.header.remarks = {"2 of 4 fibers wait"};
  snapshot::Thread& thread = snapshot.threads[0];
  thread.wait = {.call = "futex(0x10) \xff", .thread = 2, .mutex = "lock"};
  thread.function = "work (work.c:12)";
  thread.fiber = 3;
  thread.is_idle = true;
  thread.finding = 1;
  snapshot::FiberWait& wait = snapshot.fibers[1].wait;
  wait.kind = snapshot::WaitKind::Mutex;
  wait.object = RemoteAddr{0x7f10};
  wait.type = "Mutex";
  wait.holder = "Blog::LOCK";
  wait.owner = 0;
  wait.left = std::chrono::milliseconds(1500);
  snapshot::Fiber& reader = snapshot.fibers[2];
  reader.wait.kind = snapshot::WaitKind::Read;
  reader.wait.descriptor = "7: pipe \xff";
  reader.wait.process = 4712;
  reader.wait.may_have_limit = true;
  reader.function = "Blog.read (blog.cr:3)";
  reader.context = "DEFAULT";
  reader.is_of_runtime = true;
  reader.of_thread = "4712 SYSMON";
  reader.finding = 0;
  snapshot.fibers[3].thread = 0;
}

void add_stacks(Snapshot& snapshot) {
  snapshot.places = {{0x4011, {"main", "app.c", 7}, {{"read", "io.c", 3}, {"x", "", 0}}, "app"},
                     {0x7e01, {"odd \xff", "", 0}, {}, ""},
                     {0x7e02, {"", "", 0}, {{"odd \xff", "", 0}}, ""}};
  snapshot.stacks = {
      {{{1}, {0, unwind::FoundBy::SignalFrame}, {2}, {0, unwind::FoundBy::Scan}}, 0, 0, {}},
      {{{0}, {1, unwind::FoundBy::FramePointer}}, 1'000'000, 1, unwind::StackEnd::Limit},
      {{}, 0, 0, unwind::StackEnd::Corrupt}};
  snapshot.threads = {{4711, "app", 'S', 0}, {4712, "other", 'D'}, {4713, "", '?', 2}};
  snapshot.fibers = {{0x9000, "worker", 1}, {0x9100, "", 1}, {0x9200, "new"}, {0x9300, "", 1}};
  add_waits(snapshot);
  snapshot::Root& root = snapshot.roots.emplace_back();
  root.kind = snapshot::RootKind::Stack;
  root.thread = 4711;
  root.fiber = 0x9200;
  root.frame = 1;
  root.variable = "session";
  root.inlined = 1;
  root.is_below_stack_pointer = true;
}

Snapshot with_every_kind_of_key() {
  SnapshotBuilder build;
  const auto entries = build.type("(buffer of Hash(K, V))");
  build.snapshot.types[entries].elements = {0, 24, "", {{8, "key"}, {16, "value"}}};
  build.snapshot.types[entries].holder = "Hash(K, V)";
  const auto odd = build.type("odd \"name\"\n\xff");
  build.snapshot.types[odd].paths = {{0, "a\"b"}, {8, "a\\"}, {16, "items[1]"}};
  build.object(0x1000, entries, 96, {{8, 0}, {16, 1}, {24, 0}, {88, 1}});
  build.object(0x2000, odd, 48, {{0, 0}, {8, 1}, {16, 0}, {24, 1}}).is_reachable = 0;
  build.snapshot.header.live_only = false;
  build.snapshot.header.pause_ms = 1.25;
  build.snapshot.objects[0].heap = 1;
  build.snapshot.objects[1].heap = 1;
  build.snapshot.heaps.resize(2);
  build.snapshot.heaps[1].name = glibc::kHeapKind.name;
  build.snapshot.heaps[1].heap_bytes = 135168;
  build.snapshot.header.marked_conservatively = {30, 1920};
  build.snapshot.roots.emplace_back().symbol = "CACHE";
  add_stacks(build.snapshot);
  return build.snapshot;
}

}  // namespace

TEST_CASE("objects that an earlier release named as held by a type get the present name") {
  const std::string held = "\"(held by B)\"";
  std::string object = kA;
  object.replace(object.find("\"A\""), 3, held);
  const auto found =
      read_text(kHead + "{\"record\":\"type\",\"name\":" + held + "}\n" + object + kB + kEnd);
  REQUIRE(found);
  CHECK(found->types[found->objects[0].type].name == "(unnamed, in a B)");
  CHECK(found->types[found->objects[1].type].name == "B");
  CHECK(found->types.size() == 2);
}

TEST_CASE("each kind of root is the same after it was saved") {
  SnapshotBuilder build;
  build.object(0x1000, build.type("A"), 16);
  for (const snapshot::RootKindRow& row : snapshot::kRootKinds) {
    CHECK(&snapshot::root_kind(row.kind) == &row);
    build.snapshot.roots.emplace_back().kind = row.kind;
  }
  const std::string text = written(build.snapshot);
  const auto found = read_text(text);
  REQUIRE(found);
  REQUIRE(found->roots.size() == snapshot::kRootKinds.size());
  for (std::size_t i = 0; i < found->roots.size(); ++i) {
    CHECK(found->roots[i].kind == build.snapshot.roots[i].kind);
    CHECK(found->roots[i].symbol.empty());
  }
  CHECK(written(*found) == text);
  const std::string garbage = R"x("kind":"global","symbol":"(garbage of the collector)")x";
  CHECK(text.find(garbage) != std::string::npos);
}

TEST_CASE("an object's heap is found by its name, whichever heaps a saved snapshot has") {
  const std::string head = "{\"record\":\"snapshot\",\"version\":1,\"pid\":7";
  const std::string other = ",\"malloc\":{\"name\":\"malloc\",\"heap_bytes\":64}";
  std::string object = kA;
  object.insert(object.size() - 2, ",\"heap\":\"malloc\"");
  SUBCASE("both") {
    const auto found = read_text(head + ",\"collector\":{\"name\":\"bdwgc\"}" + other + "}\n" +
                                 object + kB + kEnd);
    REQUIRE(found);
    REQUIRE(found->heaps.size() == 2);
    CHECK(found->objects[0].heap == 1);
    CHECK(found->objects[1].heap == 0);
  }
  SUBCASE("the other one first") {
    const auto found =
        read_text(head + other + ",\"collector\":{\"name\":\"x\"}}\n" + object + kB + kEnd);
    REQUIRE(found);
    REQUIRE(found->heaps.size() == 2);
    CHECK(found->heaps[0].name == "x");
    CHECK(found->objects[0].heap == 1);
  }
  SUBCASE("only the first") {
    const auto found =
        read_text(head + ",\"collector\":{\"name\":\"malloc\"}}\n" + object + kB + kEnd);
    REQUIRE(found);
    REQUIRE(found->heaps.size() == 1);
    CHECK(found->objects[0].heap == 0);
    CHECK(&found->kind_of(found->objects[1]) == &glibc::kHeapKind);
  }
  SUBCASE("none") {
    const auto found = read_text(kHead + object + kB + kEnd);
    REQUIRE(found);
    CHECK(found->heaps.empty());
    CHECK(found->objects[0].heap == 0);
  }
}

TEST_CASE("an object of an unknown heap is not counted as one of another heap") {
  const std::string head =
      "{\"record\":\"snapshot\",\"version\":1,\"pid\":7,\"collector\":{\"name\":\"bdwgc\"},"
      "\"slab\":{\"name\":\"slab\",\"heap_bytes\":64}}\n";
  std::string plain = kA;
  plain.insert(plain.size() - 2, ",\"heap\":\"slab\"");
  std::string in_other_order = kA;
  in_other_order.insert(in_other_order.find("\"address\""), "\"heap\":\"slab\",");
  for (const std::string& object : {plain, in_other_order}) {
    const auto found = read_text(head + object + kB + kEnd);
    REQUIRE(!found);
    CHECK(found.error().kind == ErrorKind::Malformed);
    CHECK(found.error().message().find("an object of an unknown heap") != std::string::npos);
  }
}

TEST_CASE("a snapshot that was read is written again as the same bytes, plain and packed") {
  const std::string text = written(with_every_kind_of_key());
  const auto plain = read_text(text);
  REQUIRE(plain);
  CHECK(written(*plain) == text);
  REQUIRE(plain->header.marked_conservatively);
  CHECK(plain->header.marked_conservatively->objects == 30);
  CHECK(plain->header.marked_conservatively->bytes == 1920);
  REQUIRE(plain->heaps.size() == 2);
  CHECK(&plain->heaps[1].kind() == &glibc::kHeapKind);
  CHECK(&plain->kind_of(plain->objects[0]) == &glibc::kHeapKind);
  const auto packed = read_text(written(with_every_kind_of_key(), true));
  REQUIRE(packed);
  CHECK(written(*packed) == text);
}

TEST_CASE("of the kinds of heaps with one key, a snapshot's is the one that it names") {
  snapshot::Snapshot snapshot = with_every_kind_of_key();
  snapshot.heaps[1].name = musl::kHeapKind.name;
  REQUIRE(musl::kHeapKind.key == glibc::kHeapKind.key);
  const std::string text = written(snapshot);
  const auto read = read_text(text);
  REQUIRE(read);
  REQUIRE(read->heaps.size() == 2);
  CHECK(&read->heaps[1].kind() == &musl::kHeapKind);
  CHECK(&read->kind_of(read->objects[0]) == &musl::kHeapKind);
  CHECK(written(*read) == text);
}

TEST_CASE("the waits of threads and fibers survive the round trip") {
  const auto found = read_text(written(with_every_kind_of_key()));
  REQUIRE(found);
  CHECK(found->header.findings.size() == 2);
  CHECK(found->header.remarks == std::vector<std::string>{"2 of 4 fibers wait"});
  const snapshot::Thread& thread = found->threads[0];
  CHECK(thread.wait.thread == 2);
  CHECK(thread.wait.mutex == "lock");
  CHECK(thread.fiber == 3);
  CHECK(thread.is_idle);
  CHECK(thread.finding == 1);
  const snapshot::Fiber& fiber = found->fibers[1];
  CHECK(fiber.wait.kind == snapshot::WaitKind::Mutex);
  CHECK(fiber.wait.object.value == 0x7f10);
  CHECK(fiber.wait.holder == "Blog::LOCK");
  CHECK(fiber.wait.owner == 0);
  REQUIRE(fiber.wait.left);
  CHECK(fiber.wait.left->count() == 1500);
  CHECK_FALSE(fiber.finding);
  const snapshot::Fiber& reader = found->fibers[2];
  CHECK(reader.wait.kind == snapshot::WaitKind::Read);
  CHECK(reader.wait.may_have_limit);
  CHECK(reader.wait.process == 4712);
  CHECK(reader.of_thread == "4712 SYSMON");
  CHECK(reader.finding == 0);
  CHECK(found->fibers[3].thread == 0);
  CHECK(found->fibers[0].wait.kind == snapshot::WaitKind::Unknown);
}

TEST_CASE(
    "a record that mentions a fiber, thread or finding that is not there is read without it") {
  const auto found = read_text(
      kHead +
      "{\"record\":\"thread\",\"tid\":7,\"waits\":{\"thread\":8},\"fiber\":\"0x99\",\"finding\":3}"
      "\n"
      "{\"record\":\"fiber\",\"address\":\"0x10\",\"thread\":9,\"waits\":{\"for\":\"mutex\","
      "\"owner\":\"0x98\",\"later\":[1]}}\n"
      "{\"record\":\"fiber\",\"address\":\"0x20\",\"waits\":{\"for\":\"what is to come\"}}\n" +
      kA + kB + kEnd);
  REQUIRE(found);
  CHECK_FALSE(found->threads[0].wait.thread);
  CHECK_FALSE(found->threads[0].fiber);
  CHECK_FALSE(found->threads[0].finding);
  CHECK(found->fibers[0].wait.kind == snapshot::WaitKind::Mutex);
  CHECK_FALSE(found->fibers[0].wait.owner);
  CHECK_FALSE(found->fibers[0].thread);
  CHECK(found->fibers[1].wait.kind == snapshot::WaitKind::Unknown);
}

TEST_CASE("an impossible time is refused") {
  for (const std::string time : {"-1", "1e300"}) {
    CAPTURE(time);
    const std::string fiber =
        "{\"record\":\"fiber\",\"address\":\"0x10\",\"waits\":{\"for\":\"sleep\",\"left_s\":" +
        time + "}}\n";
    CHECK(refusal(kHead + fiber + kA + kB + kEnd).find("time") != std::string::npos);
  }
}

TEST_CASE("stacks survive the round trip, even a fiber's that equals another one") {
  const auto found = read_text(written(with_every_kind_of_key()));
  REQUIRE(found);
  REQUIRE(found->threads.size() == 3);
  REQUIRE(found->threads[0].stack);
  const snapshot::Stack& stack = found->stacks[*found->threads[0].stack];
  REQUIRE(stack.frames.size() == 4);
  CHECK(found->places[stack.frames[3].place].pc == 0x4011);
  CHECK(stack.frames[1].found_by == unwind::FoundBy::SignalFrame);
  CHECK(found->places[stack.frames[1].place].inlined[0].function == "read");
  CHECK_FALSE(found->threads[1].stack);
  REQUIRE(found->fibers.size() == 4);
  REQUIRE(found->fibers[0].stack);
  CHECK(found->fibers[3].stack == found->fibers[0].stack);
  CHECK(found->stacks[*found->fibers[0].stack].left_out == 1'000'000);
  CHECK_FALSE(found->fibers[2].stack);
}

TEST_CASE(
    "an invalid frame is refused; one with unknown keys, or equal to a missing fiber's, is read") {
  const auto thread = [](const std::string& keys) {
    return kHead + "{\"record\":\"thread\",\"tid\":7," + keys + "}\n" + kA + kB + kEnd;
  };
  for (const char* broken :
       {"\"frames\":[7]", "\"frames\":[{\"pc\":1}]", "\"frames\":{}",
        "\"frames\":[{\"line\":4294967296}]", "\"frames\":[{\"inlined\":[1]}]", "\"end\":1",
        "\"left_out_behind\":-1", "\"frames\":[{\"pc\":\"0x1\""}) {
    CHECK(refusal(thread(broken)).find("line 2") != std::string::npos);
  }
  const auto found = read_text(thread(
      "\"frames\":[{\"pc\":\"0x1\",\"news\":[{}],\"found_by\":\"magic\"}],\"end\":\"well\""));
  REQUIRE(found);
  CHECK(found->stacks.size() == 1);
  const auto lost =
      read_text(kHead + "{\"record\":\"fiber\",\"address\":\"0x9\",\"same_frames_as\":\"0x8\"}\n" +
                kA + kB + kEnd);
  REQUIRE(lost);
  CHECK_FALSE(lost->fibers[0].stack);
}

TEST_CASE("unknown records, unknown keys, blanks and another order of keys are read") {
  const auto found =
      read_text(kHead + "\n{\"record\":\"news\",\"of\":[{},[1,{\"x\":null}]]}\n" + kA +
                "{ \"refs\": {\"@a\" : \"0x10\"}, \"new\":[1], \"bytes\":16, \"type\":\"\\u0042\", "
                "\"address\":\"0x20\", \"record\":\"object\" }\n" +
                kEnd);
  REQUIRE(found);
  CHECK(written(*found).find(kB) != std::string::npos);
}

TEST_CASE("broken input is refused with its line") {
  CHECK(refusal(kHead + kA + "{\"record\":\n" + kB + kEnd).find("line 3") != std::string::npos);
  CHECK(refusal(kHead + kB + kA + kEnd).find("line 3") != std::string::npos);       // reordered
  CHECK(refusal(kHead + kA + kA + kB + kEnd).find("line 3") != std::string::npos);  // doubled
  CHECK(refusal(kHead + kB + kEnd).find("line 2") != std::string::npos);            // dangling
  CHECK(refusal(kHead + kA + kEnd).find("missing") != std::string::npos);           // lost
  CHECK(refusal(kHead + kHead + kEnd).find("second snapshot") != std::string::npos);
  CHECK(refusal(kHead + kA + kB + kEnd + "{\"record\":\"news\"}\n").find("after the end") !=
        std::string::npos);
}

TEST_CASE("another kind of file, or a snapshot of a later version, is reported") {
  CHECK(refusal("").find("no records") != std::string::npos);
  CHECK(refusal("hello\n").find("not a snapshot") != std::string::npos);
  CHECK(refusal("\x7f"
                "ELF")
            .find("ELF") != std::string::npos);
  CHECK(refusal("{\"record\":\"snapshot\",\"version\":2}\n").find("newer") != std::string::npos);
}

TEST_CASE("a file cut anywhere after its header is partial and keeps what it has") {
  const std::string text = kHead + kA + kB + kEnd;
  for (std::size_t size = kHead.size(); size < text.size() - 2; ++size) {
    CAPTURE(size);
    const auto found = read_text(text.substr(0, size));
    REQUIRE(found);
    REQUIRE_FALSE(found->complete);
  }
  const std::string packed = written(with_every_kind_of_key(), true);
  const auto cut = read_text(packed.substr(0, packed.size() - 9));
  REQUIRE(cut);
  CHECK_FALSE(cut->complete);
}

TEST_CASE("neither depth nor length of a line does harm") {
  const std::string deep(1'000'000, '[');
  CHECK(refusal(kHead + "{\"record\":\"x\",\"a\":" + deep + "}\n" + kEnd).find("line 2") !=
        std::string::npos);
  const std::string closed = deep + std::string(deep.size(), ']');
  CHECK(read_text(kHead + "{\"record\":\"x\",\"a\":" + closed + "}\n" + kA + kB + kEnd));
  const std::string name(6'000'000, 'n');  // longer than a block
  const auto found =
      read_text(kHead + "{\"record\":\"type\",\"name\":\"" + name + "\"}\n" + kA + kB + kEnd);
  REQUIRE(found);
  CHECK(found->types[0].name.size() == name.size());
}

TEST_CASE("blocks of lines may end anywhere") {
  const std::string text = written(with_every_kind_of_key());
  constexpr std::size_t kStep = kIsSanitized ? 31 : 1;
  for (std::size_t bytes = 1; bytes < text.size() + 2; bytes += kStep) {
    CAPTURE(bytes);
    read::ReadOptions options;
    options.block_bytes = bytes;
    const auto found = read_text(text, options);
    REQUIRE(found);
    REQUIRE(written(*found) == text);
  }
}

TEST_CASE("waiting for a pipe without a writer ends at the deadline and when interrupted") {
  const TemporaryDirectory directory;
  const std::string name = directory.file("pipe");
  REQUIRE(::mkfifo(name.c_str(), 0600) == 0);
  read::ReadOptions options;
  options.deadline.at = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  const auto late = read::read_json_lines(name, options);
  REQUIRE_FALSE(late);
  CHECK(late.error().kind == ErrorKind::Timeout);
  options.deadline = {};
  options.deadline.interrupted = []() noexcept { return std::optional<int>(SIGINT); };
  const auto interrupted = read::read_json_lines(name, options);
  REQUIRE_FALSE(interrupted);
  CHECK(interrupted.error().kind == ErrorKind::Interrupted);
}

TEST_CASE("a file that unpacks to far more than any snapshot is not read to its end") {
  const TemporaryDirectory directory;
  const std::string name = directory.file("bomb.jsonl.gz");
  GzipMembers members;
  // The lines are blank and few: their bytes count.
  std::string nothing(32 << 20, ' ');
  for (std::size_t end = 0; end < nothing.size(); end += 1 << 12) nothing[end] = '\n';
  {
    std::ofstream file(name, std::ios::binary);
    for (int i = 0; i < 8; ++i) file << members.compress(nothing);
  }
  const auto found = read::read_json_lines(name, {});
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == ErrorKind::Malformed);
  CHECK_MESSAGE(found.error().message().find("unpacks to more than") != std::string::npos,
                found.error().message());
}

}  // namespace heapattach
