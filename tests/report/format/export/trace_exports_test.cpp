#include <doctest/doctest.h>
#include <simdjson.h>

#include "report/format/export/formats.h"
#include "tests/support/memory_sink.h"
#include "tests/support/small_trace.h"

namespace heapattach {

namespace {

std::string written(std::string_view format, TraceExportOptions options = {}) {
  MemorySink sink;
  REQUIRE(find_format(format)->trace(small_trace(), sink, options));
  return sink.text;
}

TraceExportOptions with_value(trace::Value value) {
  TraceExportOptions options;
  options.frames.text = trace::FrameText::Name;
  options.value = value;
  return options;
}

TEST_CASE("folded stacks begin with the outermost function and end with the type") {
  CHECK(written("folded", with_value(trace::Value::AllocSpace)) ==
        "Shop#serve;Shop#login;Session 96\n"
        "Shop#serve;Shop#login;String 32\n"
        "GC::malloc;GC_malloc_kind 100\n"
        "(truncated);Shop#login 200\n");
  CHECK(written("folded", with_value(trace::Value::AllocObjects)) ==
        "Shop#serve;Shop#login;Session 2\n"
        "Shop#serve;Shop#login;String 1\n"
        "GC::malloc;GC_malloc_kind 1\n"
        "(truncated);Shop#login 1\n");
  CHECK(written("folded", with_value(trace::Value::InuseSpace)) ==
        "Shop#serve;Shop#login;Session 48\n"
        "(truncated);Shop#login 200\n");
}

TEST_CASE("exports have the chosen types and frames alone") {
  TraceExportOptions options = with_value(trace::Value::AllocSpace);
  options.types = {"Str*"};
  options.frames.depth = 1;
  CHECK(written("folded", options) == "Shop#login;String 32\n");
  options.frames = {trace::FrameText::Full, true};
  CHECK(written("folded", options) ==
        "main (main.cr:1);Shop#serve (shop.cr:40);Shop#login (shop.cr:15);GC::malloc "
        "(gc.cr:3);GC_malloc_kind;String 32\n");
}

TEST_CASE("a flame graph shows all of the value, and the share of each function") {
  const std::string text = written("svg", with_value(trace::Value::AllocSpace));
  CHECK(text.find("<title>Allocations of process 4711 by stack</title>") != std::string::npos);
  CHECK(text.find("428 bytes allocated in 4.0 s<") != std::string::npos);
  CHECK(text.find("<title>all: 428 bytes allocated (100.0%)") != std::string::npos);
  CHECK(text.find(
            "<title>Shop#serve: 128 bytes allocated (29.9%), 0 bytes in 0 objects of its own") !=
        std::string::npos);
  const std::string objects = written("svg", with_value(trace::Value::InuseObjects));
  CHECK(objects.find("<title>all: 2 objects in use (100.0%)") != std::string::npos);
}

TEST_CASE("DHAT's file has the bytes and objects of each stack") {
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  const std::string text = written("dhat");
  REQUIRE(parser.parse(text).get(json) == simdjson::SUCCESS);
  CHECK(std::string_view{json["verb"]} == "Allocated");
  std::uint64_t bytes = 0;
  std::uint64_t objects = 0;
  for (const auto point : json["pps"]) {
    bytes += std::uint64_t{point["tb"]};
    objects += std::uint64_t{point["tbk"]};
  }
  CHECK(bytes == 428);
  CHECK(objects == 5);
}

TEST_CASE("speedscope's file has a profile for each value, with names, files and lines") {
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  const std::string text = written("speedscope");
  REQUIRE(parser.parse(text).get(json) == simdjson::SUCCESS);
  CHECK(std::uint64_t{json["activeProfileIndex"]} == 1);
  const std::uint64_t totals[] = {5, 428, 2, 248};
  REQUIRE(json["profiles"].get_array().size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto profile = json["profiles"].at(i);
    CHECK(std::uint64_t{profile["endValue"]} == totals[i]);
    std::uint64_t sum = 0;
    for (const auto weight : profile["weights"]) sum += std::uint64_t{weight};
    CHECK(sum == totals[i]);
    CHECK(profile["samples"].get_array().size() == profile["weights"].get_array().size());
  }
  const auto stack = json["profiles"].at(1)["samples"].at(0);
  const auto frame = [&](std::size_t at) {
    return json["shared"]["frames"].at(std::uint64_t{stack.at(at)});
  };
  REQUIRE(stack.get_array().size() == 3);
  CHECK(std::string_view{frame(0)["name"]} == "Shop#serve");
  CHECK(std::string_view{frame(1)["name"]} == "Shop#login");
  CHECK(std::string_view{frame(1)["file"]} == "shop.cr");
  CHECK(std::uint64_t{frame(1)["line"]} == 12);
  CHECK(std::string_view{frame(2)["name"]} == "Session");
}

TEST_CASE("Alys's events link an allocation, where it moved to, and its end") {
  CHECK(written("alys") == R"([
{"id":0,"time":0.000001000,"kind":"alloc","addr":4096,"size":48,"stack":[{"ip":1298,"line":12,"file":"shop.cr","name":"Shop#login"},{"ip":1344,"line":40,"file":"shop.cr","name":"Shop#serve"}]},
{"id":1,"time":0.000002000,"kind":"alloc","addr":8192,"size":32,"stack":[{"ip":1301,"line":15,"file":"shop.cr","name":"Shop#login"},{"ip":1344,"line":40,"file":"shop.cr","name":"Shop#serve"}]},
{"id":2,"time":0.000003000,"kind":"alloc","addr":12288,"size":100,"stack":[{"ip":32512,"name":"GC_malloc_kind"},{"ip":1280,"line":3,"file":"gc.cr","name":"GC::malloc"}]},
{"id":1,"time":0.000004000,"kind":"free","addr":8192,"size":32,"stack":[]},
{"id":3,"time":0.000005000,"kind":"alloc","addr":4144,"size":48,"stack":[{"ip":1298,"line":12,"file":"shop.cr","name":"Shop#login"},{"ip":1344,"line":40,"file":"shop.cr","name":"Shop#serve"}]},
{"id":0,"time":0.000006000,"kind":"free","addr":4096,"size":48,"stack":[]},
{"id":2,"time":0.000007000,"kind":"realloc","addr":16384,"size":200,"prev_addr":12288,"prev_size":100,"stack":[{"ip":1298,"line":12,"file":"shop.cr","name":"Shop#login"}]},
{"id":2,"time":0.000008000,"kind":"realloc","addr":16384,"size":150,"prev_addr":16384,"prev_size":200,"stack":[{"ip":1298,"line":12,"file":"shop.cr","name":"Shop#login"}]}]
)");
}

TEST_CASE("a profile for pprof is compressed") {
  CHECK(written("pprof").starts_with("\x1f\x8b"));
}

}  // namespace

}  // namespace heapattach
