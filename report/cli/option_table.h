#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "report/cli/draft.h"

// The table of all options, one row each. Parsing, the checks for options that do not suit a report
// or a file, the help texts, the man page and the shell completions all use these rows and those of
// report_table.h; nothing else lists options.
namespace heapattach {

// A set of reports.
class Reports {
 public:
  constexpr Reports() = default;
  constexpr Reports(std::initializer_list<Report> reports) {
    for (const Report report : reports) bits_ |= 1U << static_cast<unsigned>(report);
  }
  [[nodiscard]] constexpr bool contains(Report report) const {
    return (bits_ >> static_cast<unsigned>(report) & 1U) != 0;
  }
  [[nodiscard]] constexpr bool are_all() const { return bits_ == ~0U; }
  [[nodiscard]] constexpr Reports without(Reports others) const {
    Reports rest;
    rest.bits_ = bits_ & ~others.bits_;
    return rest;
  }
  static constexpr Reports all() {
    Reports reports;
    reports.bits_ = ~0U;
    return reports;
  }

 private:
  std::uint32_t bits_ = 0;
};

// The headings of --help all, in order.
enum class OptionGroup : std::uint8_t {
  Source,
  Output,
  Rows,
  Explain,
  Content,
  Pause,
  Calls,
  Trace,
  Serve,
  Symbols,
  General,
};
[[nodiscard]] std::string_view title_of(OptionGroup group);

// The kind of source that an option requires.
enum class Needs : std::uint8_t { AnySource, ProcessOrCore, Process };

struct OptionRow {
  std::string_view name = {};      // without its dashes
  char letter = 0;                 // short form; 0: none
  std::string_view alias = {};     // another name; empty: none
  std::string_view argument = {};  // "FILE"; "[=N]" if optional; empty if it takes none
  OptionGroup group = OptionGroup::General;
  // Help text of any length; {formats} is replaced by the formats of each report.
  std::string_view help = {};
  Result<void> (*read)(const std::string& value, Draft& draft) = nullptr;
  Reports reports = Reports::all();
  Needs needs = Needs::AnySource;
  bool may_repeat = false;
  // The completions of its argument: words, or @file, @directory, @pid, @process, @format, @heap,
  // @type.
  std::string_view offers = {};
  std::string_view man = {};  // additional text in the man page; empty: none
};

[[nodiscard]] std::span<const OptionRow> option_rows();

// Null if there is none. Names have no dashes.
[[nodiscard]] const OptionRow* find_option(std::string_view name);
[[nodiscard]] const OptionRow* find_option(char letter);

}  // namespace heapattach
