#include "report/analyze/merge.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace heapattach::analyze {

namespace {

constexpr std::uint64_t kMega = std::uint64_t{1} << 20;

// Adds a snapshot with so many megabytes of one type, in objects of 1 MiB, and 100 bytes of
// another.
void add(Merge& merge, std::uint64_t megabytes) {
  snapshot::CountTable counts;
  if (megabytes != 0) counts.rows.push_back({"Cache", megabytes, megabytes * kMega});
  counts.rows.push_back({"String", 2, 100});
  counts.rows.push_back({"Cache", 7, 7 * kMega, false});  // garbage does not count
  counts.objects = megabytes + 2;
  counts.bytes = megabytes * kMega + 100;
  MergedSnapshot snapshot;
  snapshot.source = std::to_string(megabytes);
  merge.add(std::move(snapshot), counts);
}

MergedTable merged(const std::vector<std::uint64_t>& megabytes,
                   const snapshot::RowChoice& choice = {}) {
  Merge merge;
  for (const std::uint64_t one : megabytes) add(merge, one);
  return std::move(merge).finish(choice);
}

// The sources whose bytes are far from the rest, in the first row.
std::vector<std::string> far(const MergedTable& table) {
  std::vector<std::string> names;
  for (const MergedCell& cell : table.rows.front().cells) {
    if (cell.is_far) names.push_back(table.snapshots[cell.snapshot].source);
  }
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a merged table has the sums, the median and the largest of each type") {
  const MergedTable table = merged({10, 12, 11, 13, 60});
  REQUIRE(table.rows.size() == 2);
  const MergedRow& row = table.rows.front();
  CHECK(row.type == "Cache");
  CHECK(row.objects == 106);
  CHECK(row.bytes == 106 * kMega);
  CHECK(row.snapshots == 5);
  CHECK(row.median_bytes == 12 * kMega);
  CHECK(row.most_bytes == 60 * kMega);
  CHECK(table.total.bytes == 106 * kMega + 500);
  CHECK(table.total.objects == 116);
  CHECK(table.is_complete());
}

TEST_CASE("what is far from the median is found, above and below") {
  CHECK(far(merged({10, 12, 11, 13, 60})) == Names{"60"});
  CHECK(far(merged({10, 12, 0, 11, 13})) == Names{"0"});
  CHECK(far(merged({0, 0, 0, 1})) == Names{"1"});
  // All numbers differ by their usual distance.
  CHECK(far(merged({10, 20, 30, 40, 50})).empty());
  // Some numbers are twice the median, but such a distance is usual in this table.
  CHECK(far(merged({5, 10, 20, 5, 10, 20})).empty());
  // Two numbers do not show which one is far.
  CHECK(far(merged({1, 1000})).empty());
}

TEST_CASE("a snapshot that was not read counts as nothing, not as zero") {
  Merge merge;
  for (int i = 0; i < 3; ++i) add(merge, 10);
  merge.add_unread("bad.jsonl", "line 3: not a record");
  CHECK(merge.read() == 3);
  const MergedTable table = std::move(merge).finish({});
  CHECK_FALSE(table.is_complete());
  CHECK(table.rows.front().median_bytes == 10 * kMega);
  CHECK(far(table).empty());
  CHECK(table.snapshots.back().reason == "line 3: not a record");
}

TEST_CASE("a snapshot without any object is far once in the total") {
  Merge merge;
  for (int i = 0; i < 4; ++i) add(merge, 10);
  MergedSnapshot empty;
  empty.source = "cut";
  merge.add(std::move(empty), {});
  const MergedTable table = std::move(merge).finish({});
  Names names;
  for (const MergedCell& cell : table.total.cells) {
    if (cell.is_far) names.push_back(table.snapshots[cell.snapshot].source);
  }
  CHECK(names == Names{"cut"});
  CHECK(table.total.cells.size() == 5);
  CHECK(far(table) == Names{"cut"});
}

TEST_CASE("the rows of a merged table are chosen and sorted; its total is of all") {
  snapshot::RowChoice choice;
  choice.sort = snapshot::SortBy::Name;
  CHECK(merged({1, 1}, choice).rows.front().type == "Cache");
  choice.types = {"Str*"};
  const MergedTable strings = merged({1, 1}, choice);
  REQUIRE(strings.rows.size() == 1);
  CHECK(strings.left_out_rows == 1);
  CHECK(strings.total.bytes == 2 * kMega + 200);
  snapshot::RowChoice top;
  top.top = 1;
  CHECK(merged({1, 1}, top).rows.front().type == "Cache");
  CHECK(merged({1, 1}, top).left_out_rows == 1);
}

}  // namespace heapattach::analyze
