#include "report/format/export/html_trace.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <simdjson.h>

#include "report/format/export/html.h"
#include "tests/support/memory_sink.h"
#include "tests/support/small_snapshot.h"
#include "tests/support/small_trace.h"

namespace heapattach {

using simdjson::dom::element;

namespace {

struct PageData {
  explicit PageData(const std::string& page) {
    const std::string_view begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t at = page.find(begin);
    REQUIRE(at != std::string::npos);
    const std::size_t end = page.find("</script>", at);
    text = page.substr(at + begin.size(), end - at - begin.size());
    REQUIRE(parser.parse(text).get(json) == simdjson::SUCCESS);
  }
  [[nodiscard]] std::string name(element number) const {
    return std::string(json["names"].at(number.get_uint64().value()).get_string().value());
  }
  [[nodiscard]] static std::vector<std::uint64_t> numbers(element list) {
    std::vector<std::uint64_t> found;
    for (const element number : list.get_array()) {
      if (number.is_uint64()) found.push_back(number.get_uint64().value());
    }
    return found;
  }

  std::string text;
  simdjson::dom::parser parser;
  element json;
};

std::string page_of(const trace::Trace& trace, const trace::SiteChoice& choice = {}) {
  MemorySink sink;
  REQUIRE(write_html_of_trace(trace, nullptr, choice, sink, {}));
  return sink.text;
}

using Numbers = std::vector<std::uint64_t>;

TEST_CASE("a page of a trace has its sites and types, allocated and in use") {
  const PageData page(page_of(small_trace()));
  CHECK_FALSE(page.json["has_heap"].get_bool().value());
  const element trace = page.json["trace"];
  CHECK(trace["duration_ns"].get_uint64().value() == 4'000'000'000);
  CHECK(trace["collector_bytes"].get_uint64().value() == 500);
  CHECK(PageData::numbers(trace["total"]) == Numbers{5, 428, 2, 248});
  // name, allocations, bytes, objects and bytes in use
  const element type = trace["types"].at(1);
  CHECK(page.name(type.at(0)) == "Session");
  CHECK(PageData::numbers(type) == Numbers{type.at(0).get_uint64().value(), 2, 96, 1, 48});
  const element site = trace["sites"].at(2);
  CHECK(page.name(site.at(0)) == "Session");
  const element frames = trace["frames"];
  const element innermost = frames.at(site.at(1).at(0).get_uint64().value());
  CHECK(innermost.get_string().value() == "Shop#login (shop.cr:12)");
  CHECK(trace["timeline"]["in_use"].get_array().value().size() == HtmlTrace::kSteps);
}

TEST_CASE("names of a trace cannot leave the data of its page") {
  trace::Trace trace = small_trace();
  const std::string hostile = "</script><script>alert(1)</script>\x1b[31m\xe2\x80\xae";
  trace.types[0].name = hostile;
  trace.frames[2].function = hostile;
  trace.header.reason = hostile;
  trace.header.warnings = {hostile};
  const std::string page = page_of(trace);
  CHECK(page.find("<script>alert") == std::string::npos);
  const PageData data(page);
  CHECK(data.text.find('\x1b') == std::string::npos);
  CHECK(data.text.find("\xe2\x80\xae") == std::string::npos);
}

TEST_CASE("a page of a trace lists the largest sites, and counts the others") {
  trace::SiteChoice choice;
  choice.top = 1;
  const PageData page(page_of(small_trace(), choice));
  CHECK(page.json["trace"]["sites"].get_array().value().size() == 1);
  CHECK(page.json["trace"]["left_out"]["sites"].get_uint64().value() == 3);
}

TEST_CASE("a page of a heap with a trace has the same number for a type in both") {
  SnapshotBuilder heap;
  heap.object(0x1000, heap.type("String"), 32);
  heap.object(0x1030, heap.type("Session"), 48);
  MemorySink sink;
  REQUIRE(write_html_of_trace(small_trace(), &heap.snapshot, {}, sink, {}));
  const PageData page(sink.text);
  CHECK(page.json["has_heap"].get_bool().value());
  const std::size_t types = page.json["types"].get_array().value().size();
  CHECK(types == 2);
  int known = 0;
  for (const element row : page.json["trace"]["types"].get_array()) {
    const std::string name = page.name(row.at(0));
    const bool is_of_heap = name == "Session" || name == "String";
    CHECK((row.at(0).get_uint64().value() < types) == is_of_heap);
    known += is_of_heap ? 1 : 0;
  }
  CHECK(known == 2);
}

}  // namespace

}  // namespace heapattach
