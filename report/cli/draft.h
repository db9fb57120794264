#pragma once

#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attach/base/result.h"
#include "report/cli/options.h"
#include "report/similar_names.h"

namespace heapattach {

// The options while they are being read. Values that depend on the report are still unparsed.
struct Draft {
  Options options;
  std::vector<std::string> sources;  // neither options nor their values, in order
  std::vector<std::string> command;  // of --trace, --at-exit: what follows "--"
  std::vector<std::string> pids;     // of -p
  std::vector<std::string> trees;    // of --tree
  std::string format;                // of -f; empty: chosen by the file's extension
};

// A usage error.
[[nodiscard]] inline Error usage(std::string message) {
  return {ErrorKind::Usage, std::move(message)};
}

// All bytes of a heap are written only on request.
[[nodiscard]] inline Error refuse_all_bytes() {
  return usage("-f gcfull writes all bytes of the heap, including any secrets")
      .advise("--values, which allows that");
}

// "; did you mean count?", or nothing.
[[nodiscard]] inline std::string did_you_mean(std::string_view word,
                                              std::span<const std::string_view> names,
                                              std::string_view dashes = "") {
  const std::string_view meant = most_similar(word, names);
  return meant.empty() ? std::string() : fmt::format("; did you mean {}{}?", dashes, meant);
}

template <class Value>
using Choice = std::pair<std::string_view, Value>;

// Looks up `text` in `table`. If it is not there, the error lists the valid values.
template <class Table, class Value = typename std::ranges::range_value_t<Table>::second_type>
Result<Value> choose(std::string_view text, const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : table) {
    if (name == text) return value;
    names.push_back(name);
  }
  return usage(fmt::format("not one of {}{}", fmt::join(names, ", "), did_you_mean(text, names)));
}

// Reads the sources: a pid, a file name, or an option that selects several processes.
// (read_sources.cpp)
Result<void> read_sources(Draft& draft, std::string_view report_name);

// Sets the format of the report from -f or from the extension of its file. (read_formats.cpp)
Result<void> read_format(Draft& draft);

// Parses a time such as 10, 0.5, 500ms, 10s, 5m or 1h. (read_values.cpp)
Result<std::chrono::milliseconds> read_interval(std::string_view text);
// The same for an option that a pid may follow by mistake: from 100 on, it needs a unit.
Result<std::chrono::milliseconds> read_interval_with_unit(std::string_view text);

// Refuses options that contradict each other. (contradictions.cpp)
Result<void> refuse_contradictions(const Draft& draft);

}  // namespace heapattach
