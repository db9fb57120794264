#include "report/format/write/together.h"

#include <vector>

#include <doctest/doctest.h>

using namespace heapattach;

TEST_CASE("the cells of several processes have one header, and the process in front") {
  const std::vector<ReportText> reports{
      {4711, "objects,bytes,type\r\n1,16,\"String\"\r\n2,32,\"Foo\"\r\n"},
      {4712, ""},
      {4713, "objects,bytes,type\r\n3,48,\"String\"\r\n"}};
  CHECK(join_csv(reports) ==
        "pid,objects,bytes,type\r\n4711,1,16,\"String\"\r\n4711,2,32,\"Foo\"\r\n"
        "4713,3,48,\"String\"\r\n");
  const std::vector<ReportText> tabs{{1, "bytes\ttype\n16\tA\n"}, {2, "bytes\ttype\n8\tB\n"}};
  CHECK(join_tsv(tabs) == "pid\tbytes\ttype\n1\t16\tA\n2\t8\tB\n");
}

TEST_CASE("the metrics of several processes are described once, and their samples are together") {
  const std::vector<ReportText> reports{
      {1, "# TYPE a gauge\n# HELP a One.\na{pid=\"1\"} 5\n# TYPE b gauge\nb{pid=\"1\"} 6\n# EOF\n"},
      {2,
       "# TYPE a gauge\n# HELP a One.\na{pid=\"2\"} 7\n# TYPE c gauge\nc{pid=\"2\"} 8\n# EOF\n"}};
  CHECK(join_openmetrics(reports) ==
        "# TYPE a gauge\n# HELP a One.\na{pid=\"1\"} 5\na{pid=\"2\"} 7\n"
        "# TYPE b gauge\nb{pid=\"1\"} 6\n"
        "# TYPE c gauge\nc{pid=\"2\"} 8\n"
        "# EOF\n");
}
