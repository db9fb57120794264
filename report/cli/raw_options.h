#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attach/result.h"
#include "report/cli/options.h"

namespace heapattach {

// The arguments as parse_options.cpp has them taken apart, before options.cpp makes sense of them.
struct RawOptions {
  std::vector<std::string> sources;
  std::string pid, name, output, format, sort, by, snapshot, colour, top, min_bytes, max_pause,
      timeout, watch, rounds;
  std::string call, allow_calls, returns, thread, routine, routine_library, keep, redact;
  std::vector<std::string> types, fail_if, trees;
  std::vector<std::string> debug_dirs;
  std::string type_info, exe, sysroot;
  std::optional<std::string> values;    // empty: without a number
  std::optional<std::string> in_place;  // empty: without a manner
  RawExplainOptions explain;
  bool help = false, version = false, count = false, sizes = false, check = false, stacks = false,
       diff = false, strings = false, summary = false, force = false, gzip = false, all = false;
  bool allow_missing = false, inject = false, no_rewind = false, quiet = false, verbose = false;
};

// What is wrong with the arguments.
[[nodiscard]] Error usage(std::string message);

// The value that `text` names in `table`, or an error that lists what there is.
template <class Value, std::size_t N>
Result<Value> choose(std::string_view option,
                     std::string_view text,
                     const std::array<std::pair<std::string_view, Value>, N>& table) {
  std::string names;
  for (const auto& [name, value] : table) {
    if (name == text) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  return usage(fmt::format("{} {}: not one of {}", option, text, names));
}

[[nodiscard]] inline bool ends_in_gz(std::string_view file) {
  return file.ends_with(".gz");
}

// Whether the report counts by type, in any of the formats for counts.
[[nodiscard]] inline bool is_counts(Report report) {
  return report == Report::Count || report == Report::Sizes;
}

// A process by its number, a file by its name, or how to find several processes. (read_sources.cpp)
Result<void> read_source(const RawOptions& raw, Options& options);

// In which format the report goes out, as told or by the extension of its file. (read_formats.cpp)
Result<void> read_format(const RawOptions& raw, Options& options);

// What is called, where, and what it may do. (read_call.cpp)
Result<void> read_call(const RawOptions& raw, Options& options);

// All of it, checked for contradictions. (options.cpp)
Result<Options> make_sense(const RawOptions& raw);

}  // namespace heapattach
