// Tests the binary formats, decoded byte by byte.

#include <cstring>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "report/format/export/formats.h"
#include "report/model/counts.h"
#include "tests/report/format/export/hostile_snapshot.h"
#include "tests/support/memory_sink.h"

namespace heapattach::snapshot {

namespace {

// Takes numbers off the front of a text.
class Bytes {
 public:
  explicit Bytes(std::string text) : text_(std::move(text)) {}

  std::string take(std::uint64_t bytes) {
    REQUIRE(at_ + bytes <= text_.size());
    at_ += bytes;
    return text_.substr(at_ - bytes, bytes);
  }
  std::uint64_t word() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(8).data(), 8);
    return value;
  }
  std::uint64_t big(std::uint64_t bytes) {
    std::uint64_t value = 0;
    for (const char byte : take(bytes)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }
  [[nodiscard]] bool is_empty() const { return at_ == text_.size(); }

 private:
  std::string text_;
  std::uint64_t at_ = 0;
};

// A class of a heap dump.
struct JavaClass {
  std::uint64_t super = 0;
  std::uint64_t instance_bytes = 0;
  std::map<std::string, std::uint64_t> statics;  // references, by name
  std::vector<std::string> references;           // other fields, by name
  std::uint64_t field_bytes = 0;
};

// An instance, or an array of references.
struct JavaObject {
  std::uint64_t type = 0;
  bool is_array = false;
  std::uint64_t bytes = 0;              // of the fields or elements
  std::vector<std::uint64_t> elements;  // of an instance, only the first ones are references
};

// The objects of each class in a heap dump. Bytes are counted as a reader of Java's dumps counts
// them. The two objects that only readers require are only in `objects`.
struct Dump {
  std::map<std::uint64_t, JavaClass> classes;
  std::map<std::uint64_t, JavaObject> objects;
  std::map<std::uint64_t, std::string> strings;
  std::map<std::uint64_t, std::string> names;  // by class
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> by_class;
  std::uint64_t roots = 0;
};

// Ids from here on are not addresses of the heap: they belong to objects that readers require.
constexpr std::uint64_t kOfReaders = std::uint64_t{1} << 60;

void read_class(Bytes& body, Dump& dump) {
  const std::uint64_t id = body.big(8);
  CHECK(dump.names.contains(id));  // a reader asks for the name of each
  CHECK_FALSE(dump.classes.contains(id));
  JavaClass& made = dump.classes[id];
  body.take(4);
  made.super = body.big(8);
  body.take(8 * 5);
  made.instance_bytes = body.big(4);
  CHECK(body.big(2) == 0);
  for (std::uint64_t left = body.big(2); left > 0; --left) {
    const std::string& name = dump.strings.at(body.big(8));
    CHECK(body.big(1) == 2);
    made.statics[name] = body.big(8);
  }
  for (std::uint64_t left = body.big(2); left > 0; --left) {
    const std::string& name = dump.strings.at(body.big(8));
    const std::uint64_t type = body.big(1);
    CHECK((type == 2 || type == 11));
    if (type == 2) made.references.push_back(name);
    made.field_bytes += 8;
  }
}

void read_object(std::uint64_t tag, Bytes& body, Dump& dump) {
  const std::uint64_t id = body.big(8);
  CHECK(id != 0);
  CHECK_FALSE(dump.objects.contains(id));
  CHECK_FALSE(dump.names.contains(id));
  JavaObject& made = dump.objects[id];
  body.take(4);
  made.is_array = tag == 0x22;
  const std::uint64_t elements = made.is_array ? body.big(4) : 0;
  made.type = body.big(8);
  made.bytes = made.is_array ? 8 * elements : body.big(4);
  for (std::uint64_t i = 0; i < made.bytes / 8; ++i) made.elements.push_back(body.big(8));
  if (id >= kOfReaders) return;
  auto& count = dump.by_class[dump.names.at(made.type)];
  count.first += 1;
  count.second += 16 + made.bytes;
}

void read_segment(Bytes body, Dump& dump) {
  while (!body.is_empty()) {
    switch (const std::uint64_t tag = body.big(1)) {
      case 0x01:
        body.take(16);
        ++dump.roots;
        break;
      case 0xff:
        body.take(8);
        ++dump.roots;
        break;
      case 0x20: read_class(body, dump); break;
      case 0x21:
      case 0x22: read_object(tag, body, dump); break;
      default: FAIL("no such sub-record");
    }
  }
}

Dump read_dump(const std::string& text) {
  Bytes file(text);
  Dump dump;
  CHECK(file.take(19) == std::string("JAVA PROFILE 1.0.2\0", 19));
  CHECK(file.big(4) == 8);
  CHECK(file.big(8) == 1763638447000);  // 2025-11-20T11:34:07Z
  std::uint64_t tag = 0;
  while (!file.is_empty()) {
    tag = file.big(1);
    file.take(4);
    Bytes body(file.take(file.big(4)));
    if (tag == 0x01) {
      const std::uint64_t id = body.big(8);
      std::string& string = dump.strings[id];
      while (!body.is_empty()) string += body.take(1);
    } else if (tag == 0x02) {
      body.take(4);
      const std::uint64_t id = body.big(8);
      body.take(4);
      dump.names[id] = dump.strings.at(body.big(8));
    } else if (tag == 0x1c) {
      read_segment(body, dump);
    }
  }
  CHECK(tag == 0x2c);
  return dump;
}

std::string written(std::string_view format, const Snapshot& snapshot) {
  MemorySink sink;
  REQUIRE(find_format(format)->snapshot(snapshot, sink, {}));
  return sink.text;
}

}  // namespace

TEST_CASE("a heap dump has each object, its class, and if possible its size") {
  HostileSnapshot build;
  build.snapshot.header.captured = "2025-11-20T11:34:07.215Z";
  const Dump dump = read_dump(written("hprof", build.snapshot));
  CHECK(dump.roots == build.snapshot.roots.size());
  std::uint64_t objects = 0;
  for (const auto& [name, count] : dump.by_class) objects += count.first;
  CHECK(objects == count_objects(build.snapshot).objects);
  const auto [count, bytes] = dump.by_class.at("String");  // 128 bytes each, two of 16 words used
  CHECK(count == 4);
  CHECK(bytes == 4 * 128);
}

// Checks what VisualVM's engine (org.graalvm.visualvm.lib.jfluid.heap) requires of a dump before it
// shows any number, and what Eclipse MAT reads. Without it, both end with an exception.
void check_rules_of_readers(const Dump& dump) {
  std::map<std::string, std::uint64_t> by_name;
  for (const auto& [id, name] : dump.names) by_name[name] = id;
  // The engine derives the size of a reference from the size of an Object, minus one id.
  CHECK(dump.classes.at(by_name.at("java/lang/Object")).instance_bytes == 16);
  CHECK(dump.classes.contains(by_name.at("java/lang/Class")));
  for (const auto& [id, type] : dump.classes) {
    const std::string& name = dump.names.at(id);
    CAPTURE(name);
    const bool is_top = name == "java/lang/Object";
    CHECK((is_top ? type.super == 0 : dump.classes.contains(type.super)));
    const bool is_array = name.starts_with('[');
    std::uint64_t field_bytes = type.field_bytes;
    for (auto super = type.super; super != 0; super = dump.classes.at(super).super) {
      field_bytes += dump.classes.at(super).field_bytes;
    }
    if (!is_array) CHECK(type.instance_bytes == 16 + field_bytes);
  }
  for (const auto& [address, object] : dump.objects) {
    const std::uint64_t id = address;  // clang cannot capture a structured binding
    CAPTURE(id);
    const JavaClass& type = dump.classes.at(object.type);
    CHECK(object.is_array == dump.names.at(object.type).starts_with('['));
    if (!object.is_array) CHECK(object.bytes == type.field_bytes);
    const std::size_t references =
        object.is_array ? object.elements.size() : type.references.size();
    for (std::size_t i = 0; i < references; ++i) {
      CHECK((object.elements[i] == 0 || dump.objects.contains(object.elements[i])));
    }
  }
  // The engine needs system properties, and the field that makes a reference weak.
  const std::uint64_t props = dump.classes.at(by_name.at("java/lang/System")).statics.at("props");
  const JavaObject& properties = dump.objects.at(props);
  const auto& fields = dump.classes.at(properties.type).references;
  REQUIRE(fields == std::vector<std::string>{"defaults", "table"});
  CHECK(properties.elements.at(0) == 0);
  CHECK(dump.objects.at(properties.elements.at(1)).is_array);
  const std::uint64_t reference = by_name.at("java/lang/ref/Reference");
  CHECK(dump.classes.at(reference).references == std::vector<std::string>{"referent"});
  for (const char* kind : {"Weak", "Soft", "Final", "Phantom"}) {
    const std::string name = std::string("java/lang/ref/") + kind + "Reference";
    CHECK(dump.classes.at(by_name.at(name)).super == reference);
  }
}

TEST_CASE("a heap dump keeps the rules of its readers' engines") {
  SUBCASE("of a hostile heap") {
    HostileSnapshot build;
    build.snapshot.header.captured = "2025-11-20T11:34:07.215Z";
    check_rules_of_readers(read_dump(written("hprof", build.snapshot)));
  }
  SUBCASE("of an empty heap") {
    SnapshotBuilder build;
    build.snapshot.header.captured = "2025-11-20T11:34:07.215Z";
    check_rules_of_readers(read_dump(written("hprof", build.snapshot)));
  }
}

TEST_CASE("an object without room for a head grows by at most a head in a heap dump") {
  SnapshotBuilder build;
  build.snapshot.header.captured = "2025-11-20T11:34:07.215Z";
  const auto pair = build.type("Pair");
  build.object(0x7f0000001000, pair, 16, {{0, 1}, {8, 0}});
  build.object(0x7f0000001010, pair, 16);
  build.object(0x7f0000001020, build.type("Buffer"), std::uint64_t{3} << 20, {{8, 0}});
  const Dump dump = read_dump(written("hprof", build.snapshot));
  CHECK(dump.by_class.at("Pair") == std::pair<std::uint64_t, std::uint64_t>(2, 64));
  CHECK(dump.by_class.at("[LBuffer;").second == std::uint64_t{3} << 20);
}

}  // namespace heapattach::snapshot
