#include "report/format/write/sites_formats.h"

#include <doctest/doctest.h>
#include <simdjson.h>

#include "tests/support/small_trace.h"

namespace heapattach {

namespace {

trace::SiteTable table_of(const trace::Trace& trace, trace::GroupBy by = trace::GroupBy::Stack) {
  trace::SiteChoice choice;
  choice.by = by;
  return make_site_table(trace, choice);
}

TEST_CASE("the table has a row for each site, and the collector's own figure below the total") {
  CHECK(format_sites_table(table_of(small_trace()), {}) ==
        R"(allocations  bytes  bytes/s  in use  in-use bytes  type, where
          1    200       50       1           200  (unknown)  Shop#login (shop.cr:12) <- (truncated)
          1    100       25       0             0  (unknown)  GC_malloc_kind <- GC::malloc (gc.cr:3)
          2     96       24       1            48  Session  Shop#login (shop.cr:12) <- Shop#serve (shop.cr:40)
          1     32        8       0             0  String  Shop#login (shop.cr:15) <- Shop#serve (shop.cr:40)
          5    428      107       2           248  total
the collector counted 500 bytes in the same time, 16.8 % more: it counts whole slots
)");
}

TEST_CASE("a table of samples says that its figures are estimates, and what was lost") {
  trace::Trace trace = small_trace();
  trace.header.every = 524288;
  trace.header.drops = 2;
  trace.header.complete = false;
  trace.header.reason = "the process exited";
  trace.header.warnings = {"one entry was not hooked"};
  const std::string text = format_sites_table(table_of(trace), {});
  CHECK(text.find("\nestimates from 5 samples: one for 512.0 KiB allocated, on average\n") !=
        std::string::npos);
  CHECK(text.find("\npartial: 2 samples were lost, so the figures are too low\n") !=
        std::string::npos);
  CHECK(text.find("\npartial: the process exited\n") != std::string::npos);
  CHECK(text.ends_with("\none entry was not hooked\n"));
}

TEST_CASE("rows that are not by stack say what they combine") {
  const std::string text = format_sites_table(table_of(small_trace(), trace::GroupBy::Thread), {});
  CHECK(text.find("thread 4711 shop  Session and 1 more  Shop#login (shop.cr:12) <- Shop#serve "
                  "(shop.cr:40) and 1 more place\n") != std::string::npos);
}

TEST_CASE("values have a header line and a line for each row") {
  const trace::SiteTable table = table_of(small_trace(), trace::GroupBy::Function);
  CHECK(format_sites_tsv(table) ==
        "allocations\tbytes\tbytes_per_second\tin_use_objects\tin_use_bytes\tsamples\tname\ttype"
        "\twhere\n"
        "4\t328\t82\t2\t248\t4\t\t(unknown) and 2 more\tShop#login\n"
        "1\t100\t25\t0\t0\t1\t\t(unknown)\tGC_malloc_kind\n");
  CHECK(format_sites_csv(table) ==
        "allocations,bytes,bytes_per_second,in_use_objects,in_use_bytes,samples,name,type,where\r\n"
        "4,328,82,2,248,4,\"\",\"(unknown) and 2 more\",\"Shop#login\"\r\n"
        "1,100,25,0,0,1,\"\",\"(unknown)\",\"GC_malloc_kind\"\r\n");
}

TEST_CASE("the table in JSON has the same rows and totals") {
  trace::Trace trace = small_trace();
  trace.header.drops = 1;
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  REQUIRE(parser.parse(format_sites_json(table_of(trace))).get(json) == simdjson::SUCCESS);
  CHECK(std::uint64_t{json["total"]["bytes"]} == 428);
  CHECK(std::uint64_t{json["total"]["in_use_bytes"]} == 248);
  CHECK(std::uint64_t{json["collector_bytes"]} == 500);
  CHECK(std::uint64_t{json["drops"]} == 1);
  CHECK_FALSE(bool{json["complete"]});
  CHECK(json["rows"].get_array().size() == 4);
  std::uint64_t bytes = 0;
  for (const auto row : json["rows"]) bytes += std::uint64_t{row["bytes"]};
  CHECK(bytes == 428);
  const auto session = json["rows"].at(2);
  CHECK(std::string_view{session["type"]} == "Session");
  CHECK(std::string_view{session["frames"].at(0)} == "Shop#login (shop.cr:12)");
}

TEST_CASE("MemProf's tables list objects in use, the most bytes first") {
  trace::SiteTable table = table_of(small_trace());
  CHECK(format_sites_memprof(table) ==
        "2\n"
        "1\t200\tShop#login (shop.cr:12)\t(truncated)\n"
        "1\t48\tShop#login (shop.cr:12)\tShop#serve (shop.cr:40)\n");
  CHECK(format_sites_markdown(table) ==
        "| Allocations | Total size | Context |\n"
        "|------------:|-----------:|---------|\n"
        "| 1 | 200 | `Shop#login (shop.cr:12)`<br>`(truncated)` |\n"
        "| 1 | 48 | `Shop#login (shop.cr:12)`<br>`Shop#serve (shop.cr:40)` |\n");
  table.value = trace::Value::AllocSpace;
  CHECK(format_sites_memprof(table).starts_with("4\n1\t200\t"));
}

TEST_CASE("places that differ only in their types are one line of MemProf's") {
  trace::Trace trace = small_trace();
  trace.events.add({.address = 0x8000, .bytes = 2000, .type = 1, .stack = 0});
  const std::string text = format_sites_memprof(table_of(trace));
  CHECK(text.starts_with("2\n2\t2048\tShop#login (shop.cr:12)\tShop#serve (shop.cr:40)\n"));
}

}  // namespace

}  // namespace heapattach
