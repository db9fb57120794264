// Tests what fibers wait for, according to the words in their objects and on their stacks, in the
// layouts of several releases of Crystal.

#include <array>

#include <doctest/doctest.h>

#include "report/stacks/awaited_objects.h"
#include "report/stacks/caught_signals.h"
#include "report/stacks/contexts.h"
#include "report/stacks/descriptors.h"
#include "report/stacks/holders.h"
#include "report/stacks/polling_events.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach::stacks {

namespace {

using Words = std::vector<std::uint64_t>;

constexpr RemoteAddr kFiber{0x100000};  // objects: 64 bytes each
constexpr RemoteAddr kOther{0x100040};
constexpr RemoteAddr kObject{0x100080};
constexpr RemoteAddr kOwner{0x1000c0};
constexpr RemoteAddr kStack{0x700000};
constexpr RemoteAddr kOtherStack{0x800000};
constexpr std::uint64_t kObjectBytes = 64;
constexpr std::uint32_t kMutexId = 7;
constexpr std::uint32_t kAccountId = 8;

void put_words(FakeMemory& memory, RemoteAddr at, const Words& words) {
  memory.put_bytes(at, std::as_bytes(std::span(words)));
}

// Two waiting fibers, an object, and the stack of the first fiber.
struct Waiting {
  Waiting() {
    index.blocks.push_back({kFiber, kObjectBytes, 0, 16});
    memory.map_zero(kFiber, 16 * kObjectBytes);
    memory.map_zero(kStack, 0x100);
    memory.map_zero(kOtherStack, 0x100);
    record.frames = {{RemoteAddr{0x4000}, kStack, kStack + 0x40},
                     {RemoteAddr{0x4010}, kStack + 0x40, kStack + 0x80}};
    fibers.push_back({kFiber, {kStack, 0x100}, {}, false});
    fibers.push_back({kOther, {kOtherStack, 0x100}, {}, false});
  }

  std::optional<AwaitedObject> find(WaitKind kind) {
    return objects().find(record, {kind, 1, {}, false});
  }
  std::optional<std::size_t> owner() {
    const auto found = find(WaitKind::Mutex);
    REQUIRE(found);
    return objects().owner_of(*found);
  }
  AwaitedObjects objects() { return {index, memory, classes, fibers}; }

  void add_class(std::uint32_t id,
                 const std::string& name,
                 std::vector<crystal::Field> fields = {}) {
    crystal::Type type;
    type.id = id;
    type.name = name;
    type.fields = std::move(fields);
    type.known_from = {crystal::KnownFrom::TypeInfo};
    REQUIRE(classes.add(type));
  }

  FakeMemory memory;
  heap::BlockIndex index;
  crystal::TypeTable classes;
  std::vector<crystal::FiberStack> fibers;
  unwind::StackRecord record;
};

// An event of Crystal's event loop, as the compiler lays it out.
Words event(std::uint64_t type, RemoteAddr fiber, const Words& index, const Words& time) {
  Words words = {type, fiber.value};
  words.insert(words.end(), index.begin(), index.end());
  words.insert(words.end(), time.begin(), time.end());
  words.push_back(0);
  return words;
}
const Words kNoIndex = {0, 0};
const Words kIndexOf9 = {0x38d, 0x9'0000'0002};
const Words kNoTime = {0, 0, 0};
const Words kIn5s = {0x3e5, 5, 250'000'000};

std::optional<PollingEvent> read_event(const Words& words) {
  FakeMemory memory;
  put_words(memory, kStack, words);
  return read_polling_event(kStack, kFiber, memory);
}

}  // namespace

TEST_CASE("an event of the event loop shows the descriptor, and when it ends") {
  const auto sleep = read_event(event(2, kFiber, kNoIndex, kIn5s));
  REQUIRE(sleep);
  CHECK(sleep->type == PollingEvent::Type::Sleep);
  CHECK(sleep->wakes_at == std::chrono::milliseconds(5250));
  CHECK_FALSE(sleep->descriptor);
  const auto read = read_event(event(0, kFiber, kIndexOf9, kNoTime));
  REQUIRE(read);
  CHECK(read->type == PollingEvent::Type::Read);
  CHECK(read->descriptor == 9);
  CHECK_FALSE(read->wakes_at);
  const auto write = read_event(event(1, kFiber, kIndexOf9, kIn5s));
  REQUIRE(write);
  CHECK(write->wakes_at == std::chrono::milliseconds(5250));
}

TEST_CASE("inconsistent words are not an event") {
  CHECK_FALSE(read_event(event(2, kOther, kNoIndex, kIn5s)));
  CHECK_FALSE(read_event(event(4, kFiber, kNoIndex, kIn5s)));
  CHECK_FALSE(read_event(event(2, kFiber, kNoIndex, kNoTime)));
  CHECK_FALSE(read_event(event(0, kFiber, kNoIndex, kNoTime)));
  CHECK_FALSE(read_event(event(2, kFiber, kIndexOf9, kIn5s)));
  CHECK_FALSE(read_event(event(2, kFiber, kNoIndex, {0x3e5, 5, 2'000'000'000})));
  CHECK_FALSE(read_event(event(2, kFiber, kNoIndex, {0x3e5, ~0ULL, 0})));
  // Words of a stack that look like an event, but have pointers in place of type ids.
  CHECK_FALSE(read_event({0, kFiber.value, 0x7f2e142ad1f8, 0x7f2e0a7ff7d0, 9, 0, 0}));
  CHECK_FALSE(read_event({2, kFiber.value}));
}

TEST_CASE("an event is found among the words of a stack, and not another fiber's") {
  FakeMemory memory;
  Words words = {1, kOther.value, 2, 3};
  for (const std::uint64_t word : event(2, kOther, kNoIndex, kIn5s)) words.push_back(word);
  for (const std::uint64_t word : event(2, kFiber, kNoIndex, {0x3e5, 77, 0})) words.push_back(word);
  put_words(memory, kStack, words);
  const auto found = find_polling_events({kStack, words.size() * 8}, kFiber, memory);
  REQUIRE(found.size() == 1);
  CHECK(found[0].wakes_at == std::chrono::seconds(77));
  CHECK(find_polling_events({kStack, 64}, kFiber, memory).empty());
}

TEST_CASE("a timer of libevent is one that is set, of this fiber, without a descriptor") {
  FakeMemory memory;
  memory.map_zero(kObject, 128);
  CHECK_FALSE(read_libevent_timer(kObject, kFiber, memory));
  memory.put(kObject + 32, kFiber.value);
  memory.put(kObject + 56, std::int32_t{-1});
  memory.put(kObject + 112, std::array<std::int64_t, 2>{7, 0x00f00000 | 250'000});
  CHECK_FALSE(read_libevent_timer(kObject, kFiber, memory));
  memory.put(kObject + 16, std::uint16_t{0x81});
  CHECK(read_libevent_timer(kObject, kFiber, memory) == std::chrono::milliseconds(7250));
  CHECK_FALSE(read_libevent_timer(kObject, kOther, memory));
  memory.put(kObject + 56, std::int32_t{3});
  CHECK_FALSE(read_libevent_timer(kObject, kFiber, memory));
}

TEST_CASE(
    "the mutex that a fiber waits for is known by its class, and its owner by a fiber in it") {
  Waiting waiting;
  waiting.add_class(kMutexId, "Mutex");
  waiting.memory.put(kStack + 0x48, kObject.value);
  put_words(waiting.memory, kObject, {1ULL << 32U | kMutexId, kOther.value, 0, 0, 1});
  CHECK(waiting.owner() == 1);

  SUBCASE("an unchecked one keeps a former owner") {
    waiting.memory.put(kObject + 36, std::int32_t{2});
    CHECK_FALSE(waiting.owner());
  }
  SUBCASE("and in a build with a lock before it") {
    waiting.memory.put(kObject + 40, std::int32_t{2});
    CHECK_FALSE(waiting.owner());
  }
  SUBCASE("whose fields may be known") {
    Waiting known;
    known.add_class(kMutexId, "Mutex", {{"@protection", "Mutex::Protection", 44, 4}});
    known.memory.put(kStack + 0x48, kObject.value);
    put_words(known.memory, kObject, {1ULL << 32U | kMutexId, kOther.value, 0, 0, 2});
    CHECK(known.owner() == 1);
    known.memory.put(kObject + 44, std::int32_t{2});
    CHECK_FALSE(known.owner());
  }
  SUBCASE("one that nobody holds has none") {
    waiting.memory.put(kObject + 8, std::uint64_t{0});
    CHECK_FALSE(waiting.owner());
  }
}

TEST_CASE("if classes are unknown, the awaited object is the one with the list of waiting fibers") {
  Waiting waiting;
  waiting.memory.put(kStack + 0x10, kOther.value);  // a fiber, which references its own stack
  waiting.memory.put(kOther + 8, kOtherStack.value);
  CHECK_FALSE(waiting.find(WaitKind::Receive));
  waiting.memory.put(kStack + 0x58, kObject.value);
  CHECK_FALSE(waiting.find(WaitKind::Receive));
  // Sync::Mutex: @type, @counter, @locked_by, @mu with its list.
  put_words(waiting.memory, kObject, {99, 0, kOther.value, 0x25, kStack.value + 0x60});
  const auto found = waiting.find(WaitKind::Receive);
  REQUIRE(found);
  CHECK(found->start == kObject);
  CHECK(found->type == nullptr);
  CHECK(waiting.owner() == 1);
  CHECK_FALSE(waiting.find(WaitKind::Sleep));
}

TEST_CASE("a held Mutex of the older kind is recognised by its state if its class is unknown") {
  Waiting waiting;
  waiting.memory.put(kStack + 0x48, kObject.value);
  put_words(waiting.memory, kObject, {1ULL << 32U | 99, kOther.value});
  CHECK(waiting.owner() == 1);
  waiting.memory.put(kObject + 4, std::uint32_t{0});
  CHECK_FALSE(waiting.find(WaitKind::Mutex));
}

TEST_CASE("a list within an object is found by a word that points into it") {
  Waiting waiting;
  waiting.memory.put(kStack + 0x48, kObject.value + 24);
  put_words(waiting.memory, kObject, {99, 0, 0, 2, kStack.value + 0x60});
  const auto found = waiting.find(WaitKind::Condition);
  REQUIRE(found);
  CHECK(found->start == kObject);
}

TEST_CASE("without functions, the awaited object is the one that lists the fiber") {
  Waiting waiting;
  constexpr std::uint32_t kChannelId = 9;
  waiting.add_class(kChannelId, "Channel(Job)",
                    {{"@senders.@head", "", 32, 8}, {"@receivers.@head", "", 40, 8}});
  const Range words{kStack, 0x80};
  waiting.memory.put(kStack + 0x48, kObject.value);
  // Each fiber has a node on its stack, and the nodes form a ring. The words of a node are the
  // previous node, the next node, and the fiber.
  const std::uint64_t mine = kStack.value + 0x60;
  const std::uint64_t others = kOtherStack.value + 0x20;
  put_words(waiting.memory, RemoteAddr{mine}, {others, others, kFiber.value});
  put_words(waiting.memory, RemoteAddr{others}, {mine, mine, kOther.value});
  put_words(waiting.memory, kObject, {kChannelId, 0, 0, 0, others, 0});
  auto found = waiting.objects().listing(words, kFiber);
  REQUIRE(found);
  CHECK(found->object.start == kObject);
  CHECK(found->kind == WaitKind::Send);
  put_words(waiting.memory, kObject, {kChannelId, 0, 0, 0, 0, mine});
  found = waiting.objects().listing(words, kFiber);
  REQUIRE(found);
  CHECK(found->kind == WaitKind::Receive);

  SUBCASE("not one that lists others only") {
    put_words(waiting.memory, RemoteAddr{others}, {others, others, kOther.value});
    put_words(waiting.memory, kObject, {kChannelId, 0, 0, 0, others, 0});
    CHECK_FALSE(waiting.objects().listing(words, kFiber));
  }
  SUBCASE("not one of a class that nobody waits for") {
    waiting.add_class(kAccountId, "Account");
    put_words(waiting.memory, kObject, {kAccountId, 0, 0, 0, mine, 0});
    CHECK_FALSE(waiting.objects().listing(words, kFiber));
  }
}

TEST_CASE("the holder of a lock is named by the field, or by the class alone") {
  Waiting waiting;
  waiting.memory.put(kStack + 0x48, kOwner.value);
  put_words(waiting.memory, kOwner, {kAccountId, 0, kObject.value});
  const auto name = [&] {
    const auto objects = waiting.objects();
    return name_of_field(kObject, objects.objects_of({kStack, 0x80}), waiting.memory);
  };
  CHECK(name().empty());
  waiting.add_class(kAccountId, "Account");
  CHECK(name() == "a field of an Account");
  Waiting known;
  known.memory.put(kStack + 0x48, kOwner.value);
  put_words(known.memory, kOwner, {kAccountId, 0, kObject.value});
  known.add_class(kAccountId, "Account", {{"@lock", "Mutex", 16, 8}});
  const auto objects = known.objects();
  CHECK(name_of_field(kObject, objects.objects_of({kStack, 0x80}), known.memory) == "Account@lock");
}

TEST_CASE("contexts are named by the fibers of their schedulers") {
  const std::vector<std::string> fibers = {
      "DEFAULT-0:loop", "main",       "IO:loop", "workers-1:loop",
      "workers-0:loop", "fake:loop1", "",        "-0:loop"};
  CHECK(context_names(fibers) == std::vector<std::string>{"-0", "DEFAULT", "IO", "workers"});
}

TEST_CASE("a fiber's context is the object with such a name that it references") {
  FakeMemory memory;
  constexpr RemoteAddr kContext{0x200000};
  constexpr RemoteAddr kIsolated{0x201000};
  const auto put_string = [&](RemoteAddr at, const std::string& text) {
    memory.map_zero(at, 64);
    memory.put(at, std::uint32_t{1});
    memory.put(at + 4, static_cast<std::uint32_t>(text.size()));
    memory.put_bytes(at + 12, std::as_bytes(std::span(text)));
  };
  put_string(RemoteAddr{0x300000}, "DEFAULT");
  put_string(RemoteAddr{0x300100}, "gui");
  memory.map_zero(kContext, 256);
  memory.put(kContext + 16, std::uint64_t{0x300000});
  memory.map_zero(kIsolated, 256);
  memory.put(kIsolated + 16, std::uint64_t{0x300100});
  memory.put(kIsolated + 40, std::uint64_t{0x100040});
  for (const RemoteAddr fiber : {kFiber, kOther}) memory.map_zero(fiber, 64);
  memory.put(kFiber + 24, kContext.value);
  memory.put(kOther + 24, kIsolated.value);
  const std::vector<crystal::FiberStack> fibers = {{kFiber, {}, {}, false},
                                                   {kOther, {}, {}, false}};
  const std::vector<std::string> names = {"DEFAULT-0:loop", "gui"};
  CHECK(contexts_of(fibers, names, 64, memory) == std::vector<std::string>{"DEFAULT", "gui"});
  const std::vector<std::string> older = {"main", "gui"};
  CHECK(contexts_of(fibers, older, 64, memory) == std::vector<std::string>{"", ""});
}

TEST_CASE("the signals that a program handles itself are those that the runtime does not") {
  const auto of = [](const std::string& mask) {
    return caught_signals_in("Name:\tapp\nSigIgn:\t0000000000001000\nSigCgt:\t" + mask +
                             "\nCapInh:\t0\n");
  };
  CHECK(of("0000000380000000") == 0U);
  CHECK(of("0000000100010440") == 0U);  // SIGBUS, SIGSEGV, SIGCHLD, and one of the C library
  CHECK(of("0000000000004402") == 0x4002U);
  CHECK(words_for(0x4002) == "SIGINT or SIGTERM");
  CHECK(words_for(0).empty());
  CHECK_FALSE(of("x"));
  CHECK_FALSE(caught_signals_in("Name:\tapp\n"));
}

TEST_CASE("the children of a process are read as numbers") {
  CHECK(read_children("12 4711 ") == std::set<pid_t>{12, 4711});
  CHECK(read_children("").empty());
}

}  // namespace heapattach::stacks
