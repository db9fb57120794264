// The formats that are neither text nor anybody's JSON, taken apart byte by byte.

#include <cstring>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "report/export/formats.h"
#include "report/snapshot/counts.h"
#include "tests/report/export/hostile_snapshot.h"
#include "tests/support/memory_sink.h"

using namespace heapattach;
using namespace heapattach::snapshot;

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

// The objects of each class of a heap dump; bytes as a reader of Java's would count them.
struct Dump {
  std::map<std::uint64_t, std::string> strings;
  std::map<std::uint64_t, std::string> names;  // by class
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> by_class;
  std::uint64_t roots = 0;
};

void read_class(Bytes& body) {
  body.take(8 + 4 + 8 * 6 + 4);
  CHECK(body.big(2) == 0);
  for (std::uint64_t left = body.big(2); left > 0; --left) body.take(8 + 1 + 8);
  for (std::uint64_t left = body.big(2); left > 0; --left) body.take(8 + 1);
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
      case 0x20: read_class(body); break;
      case 0x21:
      case 0x22: {
        body.take(12);
        const std::uint64_t elements = tag == 0x22 ? body.big(4) : 0;
        auto& count = dump.by_class[dump.names.at(body.big(8))];
        const std::uint64_t bytes = tag == 0x22 ? 8 * elements : body.big(4);
        body.take(bytes);
        count.first += 1;
        count.second += 16 + bytes;
        break;
      }
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

std::string written(Result<void> (*write)(const Snapshot&, Sink&, const ExportOptions&),
                    const Snapshot& snapshot) {
  MemorySink sink;
  REQUIRE(write(snapshot, sink, {}));
  return sink.text;
}

}  // namespace

TEST_CASE("a heap dump has each object, its class, and its size where that can be") {
  HostileSnapshot build;
  build.snapshot.header.captured = "2025-11-20T11:34:07.215Z";
  const Dump dump = read_dump(written(write_hprof, build.snapshot));
  CHECK(dump.roots == build.snapshot.roots.size());
  std::uint64_t objects = 0;
  for (const auto& [name, count] : dump.by_class) objects += count.first;
  CHECK(objects == count_objects(build.snapshot).objects);
  const auto [count, bytes] = dump.by_class.at("String");  // 128 bytes each, two of 16 words used
  CHECK(count == 4);
  CHECK(bytes == 4 * 128);
}

TEST_CASE("an object of a heap dump that has no room for a head is larger by a head at most") {
  SnapshotBuilder build;
  build.snapshot.header.captured = "2025-11-20T11:34:07.215Z";
  const auto pair = build.type("Pair");
  build.object(0x7f0000001000, pair, 16, {{0, 1}, {8, 0}});
  build.object(0x7f0000001010, pair, 16);
  build.object(0x7f0000001020, build.type("Buffer"), std::uint64_t{3} << 20, {{8, 0}});
  const Dump dump = read_dump(written(write_hprof, build.snapshot));
  CHECK(dump.by_class.at("Pair") == std::pair<std::uint64_t, std::uint64_t>(2, 64));
  CHECK(dump.by_class.at("[LBuffer;").second == std::uint64_t{3} << 20);
}
