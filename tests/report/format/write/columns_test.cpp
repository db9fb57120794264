#include "report/format/write/columns.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace heapattach {

namespace {

struct Pet {
  std::string name;
  std::uint64_t legs = 0;
  std::int64_t grown = 0;
};
struct Pets {
  std::vector<Pet> all;
  bool with_growth = false;
};

constexpr Column<Pets, Pet> kColumns[] = {
    {{.json = "name"}, member<&Pet::name>},
    {{.head = "legs", .key = "legs"},
     [](const auto&, const auto& pet) {
       return pet.legs == 0 ? CellValue() : CellValue(pet.legs);
     }},
    {{.head = "+bytes", .key = "grown_bytes", .unit = Unit::Bytes},
     member<&Pet::grown>,
     [](const Pets& pets) { return pets.with_growth; }},
    {{.json = "cage"}, [](const auto&, const auto&) { return CellValue(Address{0x7f00}); }},
    {{.json = "toys"},
     [](const auto&, const auto&) {
       return CellValue(std::vector<std::string>{"a", "b"});
     }},
    {{.head = "name", .cells = "name"}, member<&Pet::name>},
};

Pets pets(bool with_growth = true) {
  return {{{"=Rex, \"the\" dog", 1004, -2048}, {"eel", 0, 7}}, with_growth};
}

Grid grid(const Pets& of) {
  return grid_of(kColumns, of, of.all);
}

}  // namespace

TEST_CASE("a column appears in each format under its name there, and not where it has none") {
  const Pets two = pets();
  CHECK(table_of(grid(two), {}) ==
        "legs  +bytes  name\n"
        "1004   -2048  =Rex, \"the\" dog\n"
        "          +7  eel\n");
  CHECK(tsv_of(grid(two)) ==
        "legs\tgrown_bytes\tname\n1004\t-2048\t'=Rex, \"the\" dog\n\t7\teel\n");
  CHECK(csv_of(grid(two)) ==
        "legs,grown_bytes,name\r\n1004,-2048,\"'=Rex, \"\"the\"\" dog\"\r\n,7,\"eel\"\r\n");
  CHECK(markdown_of(grid(two)) ==
        "| legs | +bytes | name |\n| ---: | ---: | :--- |\n"
        "| 1004 | -2048 | `=Rex, \"the\" dog` |\n|  | 7 | `eel` |\n");
  JsonRecord record;
  add_rows("pets", grid(two), record);
  CHECK(std::move(record).line() ==
        R"({"pets":[{"name":"=Rex, \"the\" dog","legs":1004,"grown_bytes":-2048,"cage":"0x7f00",)"
        R"("toys":["a","b"]},{"name":"eel","grown_bytes":7,"cage":"0x7f00","toys":["a","b"]}]})"
        "\n");
}

TEST_CASE("a column may be left out of a report as a whole") {
  const Pets two = pets(false);
  CHECK(table_of(grid(two), {}).starts_with("legs  name\n"));
  CHECK(csv_of(grid(two)).starts_with("legs,name\r\n"));
  JsonRecord record;
  add_row(grid(two), 1, record);
  CHECK(std::move(record).line() == R"({"name":"eel","cage":"0x7f00","toys":["a","b"]})"
                                    "\n");
}

TEST_CASE("totals are below the rows, for people alone") {
  const Pets two = pets();
  Grid all = grid(two);
  all.add_total({{"legs", std::uint64_t{1004}}}, "all legs");
  const Pets sum{{{"", 1004, -2041}}, true};
  all.add_total(grid(sum), "all pets");
  CHECK(table_of(all, {.with_separators = true}) ==
        " legs  +bytes  name\n"
        "1,004  -2,048  =Rex, \"the\" dog\n"
        "           +7  eel\n"
        "1,004          all legs\n"
        "1,004  -2,041  all pets\n");
  CHECK(markdown_of(all).ends_with("| 1004 | | all legs |\n| 1004 | -2041 | all pets |\n"));
  CHECK(csv_of(all) == csv_of(grid(two)));
}

}  // namespace heapattach
