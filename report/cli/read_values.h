#pragma once

#include <string>

#include "attach/base/result.h"
#include "report/cli/draft.h"

// Parsers for the rows of option_table.cpp and report_table.cpp: each sets one thing in the draft.
// Errors describe what is wrong with the value; the caller adds the name of the option.
namespace heapattach {

template <auto Member, bool To = true>
Result<void> set_flag(const std::string& /*value*/, Draft& draft) {
  draft.options.*Member = To;
  return {};
}

template <auto Member>
Result<void> set_text(const std::string& value, Draft& draft) {
  draft.options.*Member = value;
  return {};
}

template <std::string Draft::*Member>
Result<void> keep_text(const std::string& value, Draft& draft) {
  draft.*Member = value;
  return {};
}

template <std::vector<std::string> Draft::*Member>
Result<void> add_text(const std::string& value, Draft& draft) {
  (draft.*Member).push_back(value);
  return {};
}

template <std::string SymbolSearch::*Member>
Result<void> set_symbol_path(const std::string& value, Draft& draft) {
  draft.options.symbols.*Member = value;
  return {};
}

template <std::string ExplainOptions::*Member>
Result<void> set_explain_text(const std::string& value, Draft& draft) {
  draft.options.explain.*Member = value;
  return {};
}

// Sets a number of at least `Least`.
Result<std::size_t> read_number(const std::string& value, std::size_t least);

template <std::size_t ExplainOptions::*Member, std::size_t Least>
Result<void> set_limit(const std::string& value, Draft& draft) {
  draft.options.explain.*Member = HA_TRY(read_number(value, Least));
  return {};
}

Result<void> set_sort(const std::string& value, Draft& draft);
Result<void> set_by(const std::string& value, Draft& draft);
Result<void> set_top(const std::string& value, Draft& draft);
Result<void> add_type(const std::string& value, Draft& draft);
Result<void> set_min_bytes(const std::string& value, Draft& draft);
Result<void> set_length(const std::string& value, Draft& draft);
Result<void> set_every(const std::string& value, Draft& draft);
Result<void> set_min_count(const std::string& value, Draft& draft);
Result<void> set_value(const std::string& value, Draft& draft);
Result<void> set_depth(const std::string& value, Draft& draft);
Result<void> set_frames(const std::string& value, Draft& draft);
Result<void> add_fail_if(const std::string& value, Draft& draft);
Result<void> add_ignored(const std::string& value, Draft& draft);
Result<void> set_at_exit(const std::string& value, Draft& draft);
Result<void> set_confirm(const std::string& value, Draft& draft);
Result<void> add_exclusion(const std::string& value, Draft& draft);
Result<void> set_values(const std::string& value, Draft& draft);
Result<void> set_redact(const std::string& value, Draft& draft);
Result<void> set_hold(const std::string& value, Draft& draft);
Result<void> set_heap(const std::string& value, Draft& draft);
Result<void> set_max_pause(const std::string& value, Draft& draft);
Result<void> set_timeout(const std::string& value, Draft& draft);
Result<void> set_rounds(const std::string& value, Draft& draft);
Result<void> set_returns(const std::string& value, Draft& draft);
Result<void> set_place(const std::string& value, Draft& draft);
Result<void> set_thread(const std::string& value, Draft& draft);
Result<void> set_allowed_calls(const std::string& value, Draft& draft);
Result<void> set_colour(const std::string& value, Draft& draft);
Result<void> set_human(const std::string& value, Draft& draft);
Result<void> set_brief(const std::string& value, Draft& draft);
Result<void> set_live(const std::string& value, Draft& draft);
Result<void> set_no_mark(const std::string& value, Draft& draft);
Result<void> set_full(const std::string& value, Draft& draft);
Result<void> add_debug_dir(const std::string& value, Draft& draft);

// Arguments of reports.
Result<void> set_explained(const std::string& value, Draft& draft);
Result<void> set_find(const std::string& value, Draft& draft);
Result<void> set_interval(const std::string& value, Draft& draft);
Result<void> set_ruby(const std::string& value, Draft& draft);
Result<void> set_call(const std::string& value, Draft& draft);

}  // namespace heapattach
