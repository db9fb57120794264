#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/cli/option_table.h"
#include "report/cli/runner.h"
#include "report/format/export/formats.h"

// The table of all reports, one row each: names, arguments, writers and functions.
namespace heapattach {

struct ReportRow {
  Report report = Report::Snapshot;
  std::string_view name = {};      // of the subcommand, and of the option
  std::string_view option = {};    // if its name differs; "-": there is no option
  std::string_view argument = {};  // before the source; empty: none
  std::string_view source = "SOURCE";
  std::string_view help = {};         // one line
  std::string_view more = {};         // additional text for `help NAME`
  std::string_view examples[2] = {};  // arguments after the program's name
  std::string_view written = {};      // "counts are", followed by "not written as .x"
  Writes writers = nullptr;           // those of its formats; null: their text is passed on
  Result<void> (*read)(const std::string& argument, Draft& draft) = nullptr;
  MakeAnswer answer = nullptr;
  Needs needs = Needs::AnySource;
  bool is_of_one_process = false;
};

[[nodiscard]] std::span<const ReportRow> report_rows();

[[nodiscard]] const ReportRow& row_of(Report report);

// Null if there is none.
[[nodiscard]] const ReportRow* find_report(std::string_view name);
[[nodiscard]] const ReportRow* find_report_option(std::string_view option);

// "help", and those of the reports that have one.
[[nodiscard]] std::vector<std::string_view> subcommands();

// The formats in which it can be written. The first is the default.
[[nodiscard]] std::vector<const Format*> formats_of(const ReportRow& row);
[[nodiscard]] std::vector<std::string_view> names_of(const std::vector<const Format*>& formats);

// Its option without dashes; empty if it has none.
[[nodiscard]] std::string_view option_of(const ReportRow& row);

// "--count", or "a snapshot".
[[nodiscard]] std::string shown_name(const ReportRow& row);

}  // namespace heapattach
