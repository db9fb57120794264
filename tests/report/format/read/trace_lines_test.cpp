#include "report/format/read/trace_lines.h"

#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <simdjson.h>

#include "report/format/write/trace_lines.h"
#include "tests/support/memory_sink.h"
#include "tests/support/small_trace.h"
#include "tests/support/temporary_directory.h"

namespace heapattach {

namespace {

std::string written(const trace::Trace& trace, bool with_gzip = false) {
  MemorySink sink;
  TraceLinesOptions options;
  options.with_gzip = with_gzip;
  const auto in_time = write_trace_lines(trace, sink, options);
  REQUIRE(in_time);
  CHECK(*in_time);
  return sink.text;
}

Result<trace::Trace> read_text(const std::string& text) {
  const TemporaryDirectory directory;
  const std::string name = directory.file("trace.jsonl");
  std::ofstream(name) << text;
  read::ReadTraceOptions options;
  options.block_bytes = 100;  // so that block boundaries are everywhere
  auto file = read::TextFile::open(name, options.deadline);
  REQUIRE(file);
  return read::read_trace_lines(std::move(*file), options);
}

// The text, with the first `from` replaced by `to`.
std::string with(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a trace that is read and written again has the same bytes") {
  trace::Trace trace = small_trace();
  trace.header.every = 524288;
  trace.header.warnings = {"one \"warning\"\n"};
  trace.header.drops = 7;
  trace.types.push_back({"not UTF-8: \xff"});
  const std::string text = written(trace);
  const auto read = read_text(text);
  REQUIRE(read);
  CHECK(written(*read) == text);
  CHECK(read->events.size() == trace.events.size());
  CHECK_FALSE(read->is_whole());

  const auto unpacked = read_text(written(trace, true));
  REQUIRE(unpacked);
  CHECK(written(*unpacked) == text);
}

TEST_CASE("each line of a trace is JSON to another parser") {
  const std::string text = written(small_trace());
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines;
  REQUIRE(parser.parse_many(text).get(lines) == simdjson::SUCCESS);
  std::size_t found = 0;
  for (auto line : lines) {
    simdjson::dom::element element;
    REQUIRE(std::move(line).get(element) == simdjson::SUCCESS);
    std::string_view record;
    CHECK(element["record"].get(record) == simdjson::SUCCESS);
    ++found;
  }
  CHECK(found == 1 + 2 + 6 + 4 + 2 + 1 + 9 + 1);
  CHECK(text.find(
            "{\"record\":\"free\",\"time_ns\":6000,\"address\":\"0x1000\",\"collection\":3}\n") !=
        std::string::npos);
}

TEST_CASE("a trace that was cut short is partial, wherever the cut is") {
  const std::string text = written(small_trace());
  const std::size_t header = text.find('\n') + 1;
  for (std::size_t size = header; size < text.size() - 1; size += 7) {
    CAPTURE(size);
    const auto read = read_text(text.substr(0, size));
    REQUIRE(read);
    CHECK_FALSE(read->header.complete);
    CHECK(read->header.reason.find("ends early") != std::string::npos);
    const auto again = read_text(written(*read));
    REQUIRE(again);
    CHECK(written(*again) == written(*read));
  }
}

TEST_CASE("unknown records and keys are skipped") {
  const std::string text = written(small_trace());
  const auto read =
      read_text(with(with(text, "{\"record\":\"type\"",
                          "{\"record\":\"colour\",\"of\":[{}]}\n\n{\"record\":\"type\""),
                     "\"time_ns\":1000", "\"why\":{\"a\":[1,null]},\"time_ns\":1000"));
  REQUIRE(read);
  CHECK(written(*read) == text);
}

TEST_CASE("a broken trace is refused with its line") {
  const std::string text = written(small_trace());
  const auto refusal = [&](const std::string& broken, ErrorKind kind) {
    const auto read = read_text(broken);
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == kind);
    CHECK(read.error().message().find("trace.jsonl") != std::string::npos);
    return read.error().message();
  };
  const auto malformed = [&](std::string_view from, std::string_view to) {
    return refusal(with(text, from, to), ErrorKind::Malformed);
  };
  CHECK(malformed("\"id\":1", "\"id\":2").find("line 3: ") != std::string::npos);
  CHECK(malformed("[0,1,3,4,5]", "[0,1,6,4,5]").find("line 11: ") != std::string::npos);
  CHECK(malformed("\"bytes\":32", "\"bytes\":-1").find("line 18: ") != std::string::npos);
  CHECK(malformed("\"stack\":1", "\"stack\":9").find("line 18: ") != std::string::npos);
  CHECK(malformed("\"of\":\"own\"", "\"of\":\"me\"").find("line 6: ") != std::string::npos);
  CHECK(
      malformed("{\"record\":\"end\"", "{\"record\":\"trace\",\"version\":1}\n{\"record\":\"end\"")
          .find("second trace") != std::string::npos);
  CHECK(malformed("\"frees\":3", "\"frees\":4").find("missing or duplicated") != std::string::npos);
  refusal(text + "{\"record\":\"type\",\"id\":2,\"name\":\"x\"}\n", ErrorKind::Malformed);
  refusal("", ErrorKind::Malformed);
  refusal("{\"record\":\"snapshot\",\"version\":1}\n", ErrorKind::Malformed);
  refusal(with(text, "\"version\":1", "\"version\":2"), ErrorKind::Malformed);
  refusal(with(text, "\"every\":1", "\"every\":0"), ErrorKind::Malformed);
}

TEST_CASE("a trace cut short by the deadline is marked so in its end record") {
  trace::Trace trace = small_trace();
  for (int i = 0; i < 10'000; ++i) trace.events.add({.address = 0x10, .bytes = 8});
  MemorySink sink;
  TraceLinesOptions options;
  options.deadline.at = {};
  const auto in_time = write_trace_lines(trace, sink, options);
  REQUIRE(in_time);
  CHECK_FALSE(*in_time);
  const auto read = read_text(sink.text);
  REQUIRE(read);
  CHECK(read->header.reason == "the deadline passed");
}

}  // namespace

}  // namespace heapattach
