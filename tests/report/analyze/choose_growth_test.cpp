#include <doctest/doctest.h>

#include "report/analyze/difference.h"

namespace heapattach::analyze {

using heapattach::snapshot::RowChoice;
using heapattach::snapshot::SortBy;

namespace {

Difference sample() {
  Difference difference;
  difference.rows = {{"Gone", {4, 64}, {}, {}, {}},
                     {"More", {1, 16}, {5, 80}, {1, 16}, {}},
                     {"Much", {1, 16}, {2, 4016}, {1, 16}, {1, 4000}},
                     {"Same", {7, 112}, {7, 112}, {7, 112}, {}},
                     {"Swapped", {7, 112}, {7, 112}, {}, {3, 48}}};
  return difference;
}

std::string names(const Difference& difference) {
  std::string text;
  for (const TypeGrowth& row : difference.rows) text += row.type + ' ';
  return text;
}

}  // namespace

TEST_CASE(
    "types that grew most come first, types that shrank last, and unchanged types are omitted") {
  const Difference all = choose_growth(sample(), {}, GrowthOrder::ByGrowth);
  CHECK(names(all) == "Much More Swapped Gone ");
  CHECK(all.left_out_rows == 1);
  CHECK(all.left_out.after == Amount{7, 112});
  CHECK(names(choose_growth(sample(), {}, GrowthOrder::ByKept)) == "Much Swapped More Gone ");
}

TEST_CASE("rows of growth are chosen and sorted as those of counts are") {
  RowChoice choice;
  choice.sort = SortBy::Count;
  CHECK(names(choose_growth(sample(), choice, GrowthOrder::ByGrowth)).starts_with("More Much"));
  choice.sort = SortBy::Name;
  CHECK(names(choose_growth(sample(), choice, GrowthOrder::ByGrowth)) == "Gone More Much Swapped ");
  choice = {};
  choice.top = 1;
  CHECK(names(choose_growth(sample(), choice, GrowthOrder::ByGrowth)) == "Much ");
  choice = {};
  choice.types = {"M*"};
  CHECK(names(choose_growth(sample(), choice, GrowthOrder::ByGrowth)) == "Much More ");
  choice = {};
  choice.min_bytes = 64;
  CHECK(names(choose_growth(sample(), choice, GrowthOrder::ByGrowth)) == "Much More Gone ");
}

TEST_CASE("by retained bytes, types with more objects come before those that only hold them") {
  Difference difference;
  difference.rows = {{"Buffer", {1, 16}, {1, 96}, {}, {}, RetainedGrowth{100, 5000}},
                     {"Session", {1, 48}, {11, 528}, {1, 48}, {}, RetainedGrowth{90, 4900}},
                     {"String", {1, 400}, {11, 4400}, {1, 400}, {}, RetainedGrowth{400, 4400}}};
  RowChoice choice;
  choice.sort = SortBy::Retained;
  CHECK(names(choose_growth(difference, choice, GrowthOrder::ByGrowth)) ==
        "Session String Buffer ");
  CHECK(names(choose_growth(difference, {}, GrowthOrder::ByGrowth)) == "String Session Buffer ");
}

}  // namespace heapattach::analyze
