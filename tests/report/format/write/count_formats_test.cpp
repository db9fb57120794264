#include "report/format/write/count_formats.h"

#include <string>

#include <doctest/doctest.h>

#include "symbols/boehm/source.h"
#include "symbols/malloc/source.h"

namespace heapattach {

using snapshot::CountTable;

namespace {

CountTable sample() {
  CountTable table;
  table.pid = 4711;
  table.rows = {{"Hash(String, Foo | Nil)", 1000, 48000, true}, {"String", 2000, 32000, true}};
  table.objects = 3000;
  table.bytes = 80000;
  table.typed_bytes = 80000;
  table.unreachable_bytes = 20000;
  table.free_bytes = 31072;
  table.heap_bytes = 131072;
  return table;
}

CountTable hostile() {
  CountTable table;
  table.rows = {{"a\tb\"\x1b[31m\n`|\xff", 1, 16, false}};
  return table;
}

}  // namespace

TEST_CASE("the table ends in lines that add up to the heap") {
  CHECK(format_count_table(sample(), {}) ==
        "rank  objects   bytes       %  type\n"
        "   1     1000   48000   48.00  Hash(String, Foo | Nil)\n"
        "   2     2000   32000   32.00  String\n"
        "         3000   80000   80.00  live\n"
        "                20000   20.00  not reachable, or unused in blocks in use\n"
        "               100000  100.00  total in use by the collector\n"
        "                31072          free\n"
        "               131072          heap\n");
}

TEST_CASE("what leaked and malloc's headers have a row and a key each") {
  CountTable table = sample();
  table.heaps = {{&glibc::kHeapKind, 3000, 80000, 20000, 131072, 31072, 19000}};
  table.leaked_bytes = 19000;
  table.overhead_bytes = 1000;
  CHECK(format_count_table(table, {}).find(
            "         3000   80000   80.00  live\n"
            "                19000   19.00  leaked: nothing reachable references it\n"
            "                 1000    1.00  malloc's own headers and tables\n"
            "               100000  100.00  total in use by malloc\n") != std::string::npos);
  CHECK(format_count_json(table).find(R"("unreachable_bytes":20000,"leaked_bytes":19000,)"
                                      R"("overhead_bytes":1000,)") != std::string::npos);
  CHECK(format_count_openmetrics(table).find("\nheapattach_leaked_bytes{pid=\"4711\"} 19000\n") !=
        std::string::npos);
  SUBCASE("unless a saved file does not tell them apart") {
    table.heaps.front().leaked_bytes.reset();
    CHECK(format_count_table(table, {}).find(
              "                20000   20.00  leaked, or malloc's own headers and tables: the file "
              "does not say which\n") != std::string::npos);
  }
}

TEST_CASE("of two heaps the table and the JSON have each one's totals, and both") {
  CountTable table = sample();
  table.heaps = {{&boehm::kHeapKind, 1000, 48000, 20000, 99072, 31072},
                 {&glibc::kHeapKind, 2000, 32000, 0, 32000, 0}};
  CHECK(format_count_table(table, {}) ==
        "rank  objects   bytes       %  type\n"
        "   1     1000   48000   48.00  Hash(String, Foo | Nil)\n"
        "   2     2000   32000   32.00  String\n"
        "         1000   48000   48.00  live, the collector's\n"
        "         2000   32000   32.00  live, malloc's\n"
        "         3000   80000   80.00  live\n"
        "                20000   20.00  not reachable, or unused in blocks in use\n"
        "                68000   68.00  total in use by the collector\n"
        "                32000   32.00  total in use by malloc\n"
        "               100000  100.00  total in use by both\n"
        "                31072          free, the collector's\n"
        "                    0          free, malloc's\n"
        "                99072          the collector's heap\n"
        "                32000          malloc's heap\n"
        "               131072          both heaps\n");
  CHECK(format_count_json(table).find(
            R"("heaps":[{"heap":"gc","objects":1000,"bytes":48000,"heap_bytes":99072,)"
            R"("free_bytes":31072,"unreachable_bytes":20000},{"heap":"malloc","objects":2000,)"
            R"("bytes":32000,"heap_bytes":32000,"free_bytes":0,"unreachable_bytes":0}],)"
            R"("types":[)") != std::string::npos);
  CHECK(format_count_markdown(table).ends_with("total in use by the collector and malloc |\n"));
}

TEST_CASE("the table mentions omitted rows and a partial heap") {
  CountTable table = sample();
  table.rows.pop_back();
  table.left_out_rows = 1;
  table.left_out_objects = 2000;
  table.left_out_bytes = 32000;
  table.complete = false;
  table.reason = "2 blocks skipped";
  const std::string text = format_count_table(table, {});
  CHECK(text.find("2000   32000   32.00  (1 more type)\n") != std::string::npos);
  CHECK(text.ends_with("partial: 2 blocks skipped\n"));
}

TEST_CASE("an empty table is still a table") {
  CHECK(format_count_table({}, {}) ==
        "rank  objects  bytes  %  type\n"
        "            0      0     live\n"
        "                   0     total in use by the collector\n");
}

TEST_CASE("colour appears only on request") {
  CHECK(format_count_table(sample(), {}).find('\x1b') == std::string::npos);
  CHECK(format_count_table(sample(), {.with_colour = true}).starts_with("\x1b[1mrank"));
}

TEST_CASE("tab-separated values keep to their columns") {
  CHECK(format_count_tsv(sample()) ==
        "objects\tbytes\ttype\n1000\t48000\tHash(String, Foo | Nil)\n2000\t32000\tString\n");
  CHECK(format_count_tsv(hostile()) ==
        "objects\tbytes\ttype\n1\t16\ta\\tb\"\\x1b[31m\\n`|\\xff (unreachable)\n");
}

TEST_CASE("comma-separated values are quoted as in RFC 4180") {
  CHECK(
      format_count_csv(sample()) ==
      "objects,bytes,type\r\n1000,48000,\"Hash(String, Foo | Nil)\"\r\n2000,32000,\"String\"\r\n");
  CHECK(format_count_csv(hostile()) ==
        "objects,bytes,type\r\n1,16,\"a\\tb\"\"\\x1b[31m\\n`|\\xff (unreachable)\"\r\n");
}

TEST_CASE("the JSON has the totals and a list of types") {
  CHECK(format_count_json(sample()) ==
        R"({"version":1,"pid":4711,"objects":3000,"bytes":80000,"heap_bytes":131072,)"
        R"("free_bytes":31072,"unreachable_bytes":20000,"typed_bytes":80000,"types":[)"
        R"x({"type":"Hash(String, Foo | Nil)","objects":1000,"bytes":48000},)x"
        R"({"type":"String","objects":2000,"bytes":32000}]})"
        "\n");
  const std::string text = format_count_json(hostile());
  const std::string row =
      R"({"type":"a\tb\"\u001b[31m\n`|%","objects":1,"bytes":16,"reachable":false,"lossy":true})";
  const std::size_t mark = row.find('%');
  CHECK(text.find(row.substr(0, mark) + "\uFFFD" + row.substr(mark + 1)) != std::string::npos);
}

TEST_CASE("Markdown escapes bars and backticks") {
  CHECK(format_count_markdown(sample()) ==
        "| objects | bytes | type |\n"
        "| ---: | ---: | :--- |\n"
        "| 1000 | 48000 | `Hash(String, Foo \\| Nil)` |\n"
        "| 2000 | 32000 | `String` |\n"
        "| 3000 | 80000 | live |\n"
        "| | 100000 | total in use by the collector |\n");
  CHECK(format_count_markdown(hostile()).find("``") != std::string::npos);
}

TEST_CASE("memprof is the line count, then objects and type") {
  CHECK(format_count_memprof(sample()) == "2\n1000\tHash(String, Foo | Nil)\n2000\tString\n");
}

TEST_CASE("sizes are separate columns, empty for unreachable objects") {
  CountTable table = sample();
  table.has_sizes = true;
  table.rows[0].sizes = snapshot::RowSizes{80000, 64000};
  table.rows[1].is_reachable = false;
  CHECK(format_count_table(table, {}).starts_with(
      "rank  objects   bytes       %  transitive  retained  type\n"
      "   1     1000   48000   48.00       80000     64000  Hash(String, Foo | Nil)\n"
      "   2     2000   32000   32.00                        String (unreachable)\n"));
  CHECK(format_count_tsv(table) ==
        "objects\tbytes\ttransitive_bytes\tretained_bytes\ttype\n"
        "1000\t48000\t80000\t64000\tHash(String, Foo | Nil)\n"
        "2000\t32000\t\t\tString (unreachable)\n");
  CHECK(format_count_csv(table).starts_with(
      "objects,bytes,transitive_bytes,retained_bytes,type\r\n"
      "1000,48000,80000,64000,\"Hash(String, Foo | Nil)\"\r\n2000,32000,,,"));
  CHECK(format_count_json(table).find(
            "\"bytes\":48000,\"transitive_bytes\":80000,\"retained_bytes\":64000}") !=
        std::string::npos);
  CHECK(format_count_markdown(table).find("| 1000 | 48000 | 80000 | 64000 | `Hash") !=
        std::string::npos);
}

TEST_CASE("OpenMetrics has a gauge for each number, and escapes what labels may hold") {
  CountTable table = hostile();
  table.pid = 4711;
  table.objects = 3;
  table.bytes = 48;
  table.complete = false;
  CHECK(format_count_openmetrics(table) ==
        "# TYPE heapattach_type_objects gauge\n"
        "# HELP heapattach_type_objects Objects of a type.\n"
        "heapattach_type_objects{pid=\"4711\",type=\"a\\\\tb\\\"\\\\x1b[31m\\\\n`|\\\\xff\","
        "reachable=\"false\"} 1\n"
        "# TYPE heapattach_type_bytes gauge\n"
        "# UNIT heapattach_type_bytes bytes\n"
        "# HELP heapattach_type_bytes Bytes of the objects of a type.\n"
        "heapattach_type_bytes{pid=\"4711\",type=\"a\\\\tb\\\"\\\\x1b[31m\\\\n`|\\\\xff\","
        "reachable=\"false\"} 16\n"
        "# TYPE heapattach_objects gauge\n"
        "# HELP heapattach_objects Reachable objects.\n"
        "heapattach_objects{pid=\"4711\"} 3\n"
        "# TYPE heapattach_live_bytes gauge\n"
        "# UNIT heapattach_live_bytes bytes\n"
        "# HELP heapattach_live_bytes Bytes of the reachable objects.\n"
        "heapattach_live_bytes{pid=\"4711\"} 48\n"
        "# TYPE heapattach_unreachable_bytes gauge\n"
        "# UNIT heapattach_unreachable_bytes bytes\n"
        "# HELP heapattach_unreachable_bytes Bytes in use that no reachable object has.\n"
        "heapattach_unreachable_bytes{pid=\"4711\"} 0\n"
        "# TYPE heapattach_complete gauge\n"
        "# HELP heapattach_complete 1 if the whole heap was read, 0 if only part of it was read.\n"
        "heapattach_complete{pid=\"4711\"} 0\n"
        "# EOF\n");
}

TEST_CASE("OpenMetrics has the identity of a service in each sample, and the rest in one") {
  CountTable table = sample();
  table.pid = 7;
  table.resource = {{"service.name", "sh\"op"},
                    {"service.instance.id", "a-1"},
                    {"host.name", "web"},
                    {"host_name", "another"},
                    {"pid", "8"},
                    {"__name__", "up"},  // reserved for the name of the metric
                    {"..pid", "9"},
                    {"1st", "x"}};
  const std::string text = format_count_openmetrics(table);
  CAPTURE(text);
  CHECK(text.starts_with(
      "# TYPE heapattach_resource_info gauge\n"
      "# HELP heapattach_resource_info 1 for a process that says which service it is; its labels "
      "say it.\nheapattach_resource_info{pid=\"7\",service_name=\"sh\\\"op\","
      "service_instance_id=\"a-1\",host_name=\"web\",_name__=\"up\",_pid=\"9\",_1st=\"x\"} 1\n"));
  CHECK(text.find("\nheapattach_objects{pid=\"7\",service_name=\"sh\\\"op\","
                  "service_instance_id=\"a-1\"} ") != std::string::npos);
  CHECK(text.find("service_instance_id=\"a-1\",type=") != std::string::npos);
  CHECK(format_count_json(table).find(
            "\"resource\":{\"service.name\":\"sh\\\"op\",\"service.instance.id\":\"a-1\"") !=
        std::string::npos);
}

TEST_CASE("OpenMetrics has the totals of each of two heaps") {
  CountTable table = sample();
  CHECK(format_count_openmetrics(table).find("heap=") == std::string::npos);
  table.heaps = {{&boehm::kHeapKind, 1000, 48000, 20000, 99072, 31072},
                 {&glibc::kHeapKind, 2000, 32000, 0, 32000, {}}};
  const std::string text = format_count_openmetrics(table);
  for (const char* line : {"live_bytes{pid=\"4711\",heap=\"gc\"} 48000\n",
                           "live_bytes{pid=\"4711\",heap=\"malloc\"} 32000\n",
                           "unreachable_bytes{pid=\"4711\",heap=\"gc\"} 20000\n",
                           "free_bytes{pid=\"4711\",heap=\"gc\"} 31072\n"}) {
    CHECK(text.find(std::string("\nheapattach_one_heap_") + line) != std::string::npos);
  }
  CHECK(text.find("one_heap_free_bytes{pid=\"4711\",heap=\"malloc\"}") == std::string::npos);
}

TEST_CASE("OpenMetrics has retained bytes on request") {
  CountTable table = sample();
  table.has_sizes = true;
  table.rows[1].sizes = snapshot::RowSizes{64000, 40000};
  const std::string text = format_count_openmetrics(table);
  CHECK(text.find("heapattach_type_retained_bytes{pid=\"4711\",type=\"String\",reachable=\"true\"} "
                  "40000\n# TYPE heapattach_objects gauge\n") != std::string::npos);
  CHECK(text.find("heapattach_heap_bytes{pid=\"4711\"} 131072\n") != std::string::npos);
}

}  // namespace heapattach
