#include "report/exit_status.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace heapattach {

namespace {

struct ReadmeRow {
  int status = 0;
  std::string text;  // without backticks
};

// The rows "| 0 | complete |" of README.md's table.
std::vector<ReadmeRow> rows_of_readme() {
  std::ifstream file(README);
  std::vector<ReadmeRow> rows;
  std::string line;
  while (std::getline(file, line) && line != "## Exit status") {
  }
  while (std::getline(file, line) && !line.starts_with("## ")) {
    const std::size_t middle = line.find(" | ");
    if (middle == std::string::npos || line.find_first_of("0123456789") != 2) continue;
    ReadmeRow row{std::stoi(line.substr(2)), line.substr(middle + 3)};
    std::erase(row.text, '`');
    row.text.resize(row.text.rfind(" |"));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

TEST_CASE("README.md has each exit status, with the meaning that the tool gives") {
  const std::vector<ReadmeRow> rows = rows_of_readme();
  REQUIRE(rows.size() == kStatusTexts.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(rows[i].text);
    CHECK(rows[i].status == static_cast<int>(kStatusTexts[i].status));
    // Only README.md says what else happens.
    const std::string text(kStatusTexts[i].text);
    CHECK((rows[i].text == text || rows[i].text.starts_with(text + ". ")));
  }
}

TEST_CASE("only a complete report and a partial one are reports") {
  for (const StatusText& row : kStatusTexts) {
    const int number = static_cast<int>(row.status);
    CHECK(is_report(row.status) == (number == 0 || number == 7));
  }
  CHECK_FALSE(is_report(static_cast<ExitStatus>(99)));
}

TEST_CASE("a run without a report has an HTTP status by its exit status") {
  struct Known {
    int status;
    unsigned http;
  };
  for (const Known& known :
       std::vector<Known>{{3, 404}, {4, 403}, {5, 422}, {6, 504}, {9, 503}, {99, 500}}) {
    CHECK(http_status_of(static_cast<ExitStatus>(known.status)) == known.http);
  }
  const auto others = std::count_if(kStatusTexts.begin(), kStatusTexts.end(),
                                    [](const StatusText& row) { return row.http == 500; });
  CHECK(others == static_cast<std::ptrdiff_t>(kStatusTexts.size()) - 5);
}

}  // namespace heapattach
