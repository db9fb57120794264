// Tests one snapshot in every format. A small reader reads each format.

#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <simdjson.h>
#include <zlib.h>

#include "report/format/export/formats.h"
#include "report/model/counts.h"
#include "tests/report/format/export/hostile_snapshot.h"
#include "tests/support/memory_sink.h"
#include "tests/support/small_snapshot.h"

namespace heapattach::snapshot {

using simdjson::dom::element;

namespace {

struct Count {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Count&) const = default;
};
using Counts = std::map<std::string, Count>;

std::string written(const Snapshot& snapshot, std::string_view format) {
  const Format* const found = find_format(format, writes<&Format::snapshot>);
  REQUIRE(found != nullptr);
  MemorySink sink;
  REQUIRE(found->snapshot(snapshot, sink, {}));
  return sink.text;
}

std::string unpacked(const std::string& packed) {
  std::string text(std::size_t{1} << 20, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

element parse(simdjson::dom::parser& parser, const std::string& text) {
  element parsed;
  CAPTURE(text.substr(0, 300));
  REQUIRE(parser.parse(text).get(parsed) == simdjson::SUCCESS);
  return parsed;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    REQUIRE(end != std::string::npos);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::multiset<std::pair<std::uint64_t, std::uint64_t>> without_names(const Counts& counts) {
  std::multiset<std::pair<std::uint64_t, std::uint64_t>> result;
  for (const auto& [name, count] : counts) result.emplace(count.objects, count.bytes);
  return result;
}

Counts truth_of(const Snapshot& snapshot) {
  Counts counts;
  for (const CountRow& row : count_objects(snapshot).rows) {
    counts[row.type].objects += row.objects;
    counts[row.type].bytes += row.bytes;
  }
  return counts;
}

// Returns by value, because the value() of a temporary result is gone when a loop begins.
simdjson::dom::array array_of(const element& object, std::string_view key) {
  return object[key].get_array().value();
}

Counts read_heapsnapshot(const std::string& text) {
  simdjson::dom::parser parser;
  const element file = parse(parser, text);
  const simdjson::dom::array nodes = file["nodes"].get_array().value();
  std::vector<std::uint64_t> numbers;
  for (const element number : nodes) numbers.push_back(number.get_uint64().value());
  std::vector<std::string> strings;
  for (const element string : array_of(file, "strings")) {
    strings.emplace_back(string.get_string().value());
  }
  CHECK(numbers.size() == 7 * file["snapshot"]["node_count"].get_uint64().value());
  std::uint64_t edges = 0;
  Counts counts;
  std::set<std::uint64_t> ids;
  for (std::size_t at = 0; at < numbers.size(); at += 7) {
    edges += numbers[at + 4];
    CHECK(ids.insert(numbers[at + 2]).second);
    if (numbers[at] == 9) continue;  // synthetic
    counts[strings.at(numbers[at + 1])].objects += 1;
    counts[strings.at(numbers[at + 1])].bytes += numbers[at + 3];
  }
  std::size_t edge_numbers = 0;
  for (const element number : array_of(file, "edges")) {
    if (edge_numbers++ % 3 == 2) CHECK(number.get_uint64().value() % 7 == 0);
  }
  CHECK(edge_numbers == 3 * edges);
  CHECK(edges == file["snapshot"]["edge_count"].get_uint64().value());
  return counts;
}

Counts read_ruby(const std::string& text) {
  std::map<std::string, std::string> classes;
  std::set<std::string> addresses;
  Counts counts;
  for (const std::string& line : lines_of(text)) {
    simdjson::dom::parser parser;
    const element record = parse(parser, line);
    const std::string kind(record["type"].get_string().value());
    if (kind != "ROOT") {
      CHECK(addresses.emplace(record["address"].get_string().value()).second);
    }
    if (kind == "CLASS") {
      classes[std::string(record["address"].get_string().value())] =
          std::string(record["name"].get_string().value());
    } else if (kind != "ROOT") {
      Count& count = counts[classes.at(std::string(record["class"].get_string().value()))];
      count.objects += 1;
      count.bytes += record["memsize"].get_uint64().value();
    }
  }
  return counts;
}

Counts read_dhat(const std::string& text) {
  simdjson::dom::parser parser;
  const element file = parse(parser, text);
  std::vector<std::string> frames;
  for (const element frame : array_of(file, "ftbl")) {
    frames.emplace_back(frame.get_string().value());
  }
  CHECK(frames.at(0) == "[root]");
  Counts counts;
  for (const element point : array_of(file, "pps")) {
    Count& count = counts[frames.at(point["fs"].at(0).get_uint64().value())];
    count.objects += point["tbk"].get_uint64().value();
    count.bytes += point["tb"].get_uint64().value();
  }
  return counts;
}

// Reads folded stacks, which have only bytes.
Counts read_folded(const std::string& text) {
  Counts counts;
  for (const std::string& line : lines_of(text)) {
    const std::size_t space = line.rfind(' ');
    const std::size_t semicolon = line.rfind(';');
    REQUIRE(semicolon != std::string::npos);
    counts[line.substr(semicolon + 1, space - semicolon - 1)].bytes +=
        std::stoull(line.substr(space + 1));
  }
  return counts;
}

// A protobuf message: its numbers and bytes, by field, in order.
struct Message {
  std::multimap<std::uint64_t, std::uint64_t> numbers;
  std::multimap<std::uint64_t, std::string> bytes;
};

std::uint64_t take_varint(const std::string& text, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(text.at(at++));
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80U) == 0) return value;
  }
}

Message read_message(const std::string& text) {
  Message message;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint64_t tag = take_varint(text, at);
    const std::uint64_t value = take_varint(text, at);
    if (tag % 8 == 0) {
      message.numbers.emplace(tag / 8, value);
    } else {
      REQUIRE(tag % 8 == 2);
      REQUIRE(at + value <= text.size());
      message.bytes.emplace(tag / 8, text.substr(at, value));
      at += value;
    }
  }
  return message;
}

Counts read_pprof(const std::string& text) {
  const Message profile = read_message(unpacked(text));
  std::vector<std::string> strings;
  std::map<std::uint64_t, std::uint64_t> names;  // function -> string
  const auto [first, last] = profile.bytes.equal_range(6);
  for (auto at = first; at != last; ++at) strings.push_back(at->second);
  CHECK(strings.at(0).empty());
  const auto [first_function, last_function] = profile.bytes.equal_range(5);
  for (auto at = first_function; at != last_function; ++at) {
    const Message function = read_message(at->second);
    names[function.numbers.find(1)->second] = function.numbers.find(2)->second;
    CHECK(function.numbers.count(3) == 0);
    CHECK(function.numbers.find(1)->second == names.size());  // Parca requires ids from 1 on
  }
  std::uint64_t locations = 0;
  const auto [first_location, last_location] = profile.bytes.equal_range(4);
  for (auto at = first_location; at != last_location; ++at) {
    CHECK(read_message(at->second).numbers.find(1)->second == ++locations);
  }
  // Pyroscope needs the type of the period to merge profiles.
  REQUIRE(profile.bytes.count(11) == 1);
  const Message period = read_message(profile.bytes.find(11)->second);
  CHECK(strings.at(period.numbers.find(1)->second) == "space");
  CHECK(strings.at(period.numbers.find(2)->second) == "bytes");
  Counts counts;
  const auto [first_sample, last_sample] = profile.bytes.equal_range(2);
  for (auto at = first_sample; at != last_sample; ++at) {
    const Message sample = read_message(at->second);
    std::size_t place = 0;
    const std::string& values = sample.bytes.find(2)->second;
    std::size_t leaf = 0;
    const std::uint64_t location = take_varint(sample.bytes.find(1)->second, leaf);
    Count& count = counts[strings.at(names.at(location))];
    count.objects += take_varint(values, place);
    count.bytes += take_varint(values, place);
  }
  return counts;
}

Count sum_of(const Counts& counts) {
  Count sum;
  for (const auto& [name, count] : counts) {
    sum.objects += count.objects;
    sum.bytes += count.bytes;
  }
  return sum;
}

// Compares without names, because formats escape them. Each type has its own size.
void check_same(const Counts& found, const Counts& truth) {
  CHECK(without_names(found) == without_names(truth));
  const std::string plain = "Hash(String, Foo | Nil)";
  CHECK(found.at(plain) == truth.at(plain));
}

void check_all(const Snapshot& snapshot) {
  const Counts truth = truth_of(snapshot);
  check_same(read_heapsnapshot(written(snapshot, "heapsnapshot")), truth);
  check_same(read_ruby(written(snapshot, "ruby")), truth);
  check_same(read_dhat(written(snapshot, "dhat")), truth);
  check_same(read_pprof(written(snapshot, "pprof")), truth);
  CHECK(sum_of(read_folded(written(snapshot, "folded"))).bytes == sum_of(truth).bytes);
  const std::string total = std::to_string(sum_of(truth).bytes) + " bytes retained (100.0%)";
  CHECK(written(snapshot, "svg").find(total) != std::string::npos);
}

}  // namespace

TEST_CASE("objects and bytes by type are the same in every format") {
  HostileSnapshot build;
  SUBCASE("of live objects") {}
  SUBCASE("of all objects") {
    build.snapshot.header.live_only = false;
  }
  SUBCASE("with texts") {
    build.keep_texts();
  }
  SUBCASE("of a partial heap") {
    build.snapshot.complete = false;
    build.snapshot.reason = "\"torn\"\n";
  }
  if (build.snapshot.values.empty()) {
    check_all(build.snapshot);
  } else {  // the name of a string is its text
    CHECK(sum_of(read_heapsnapshot(written(build.snapshot, "heapsnapshot"))) ==
          sum_of(truth_of(build.snapshot)));
    check_same(read_ruby(written(build.snapshot, "ruby")), truth_of(build.snapshot));
  }
}

TEST_CASE("in Ruby's format, classes have addresses of their own, wherever the objects are") {
  // Some processors give programs addresses in the upper half, too.
  for (const std::uint64_t first : {0x0000'8000'0000'0000U, 0x0000'7f00'0000'0000U}) {
    SnapshotBuilder build;
    const auto user = build.type("User");
    const auto session = build.type("Session");
    for (std::uint64_t i = 0; i < 10; ++i) build.object(first + i * 16, i < 3 ? user : session, 16);
    for (std::uint64_t i = 0; i < 10; ++i) {
      build.object(0x0000'c000'0000'0000U + i * 16, session, 16);
    }
    const Counts truth{{"User", {3, 48}}, {"Session", {17, 272}}};
    CHECK(read_ruby(written(build.snapshot, "ruby")) == truth);
  }
}

TEST_CASE("whatever the names of the target's types, text formats contain only text") {
  const HostileSnapshot build;
  for (const Format* const format : formats_with(writes<&Format::snapshot>)) {
    CAPTURE(format->name);
    if (format->is_binary) continue;
    const std::string text = written(build.snapshot, format->name);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find("\xe2\x80\xae") == std::string::npos);  // right-to-left override
    if (format->name == "svg") CHECK(text.find("<script") == std::string::npos);
  }
}

TEST_CASE("an export that cannot be written completely fails") {
  const HostileSnapshot build;
  for (const Format* const format : formats_with(writes<&Format::snapshot>)) {
    CAPTURE(format->name);
    MemorySink full;
    full.limit_bytes = 100;
    CHECK_FALSE(format->snapshot(build.snapshot, full, {}));
    MemorySink late;
    ExportOptions options;
    options.deadline.at = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    const auto result = format->snapshot(build.snapshot, late, options);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::Timeout);
    CHECK_FALSE(late.is_finished);
  }
}

TEST_CASE("a compressed export unpacks to the plain one") {
  const HostileSnapshot build;
  for (const Format* const format : formats_with(writes<&Format::snapshot>)) {
    CAPTURE(format->name);
    MemorySink sink;
    ExportOptions options;
    options.with_gzip = true;
    REQUIRE(format->snapshot(build.snapshot, sink, options));
    const std::string plain = written(build.snapshot, format->name);
    CHECK(unpacked(sink.text) == (format->name == "pprof" ? unpacked(plain) : plain));
  }
}

}  // namespace heapattach::snapshot
