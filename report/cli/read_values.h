#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "attach/base/result.h"
#include "report/cli/draft.h"

// Readers for the rows of option_table.cpp and report_table.cpp. Each makes a value from an
// argument, or describes what is wrong with it; the caller adds the name of the option. set(),
// add(), turn_on() and turn_off() put the value into the options: into a member, or into a member
// of a member.
namespace heapattach {

template <auto Read, auto... Members>
Result<void> set(const std::string& value, Draft& draft) {
  auto& option = (draft.options.*....*Members);
  using Option = std::remove_reference_t<decltype(option)>;
  auto read = HA_TRY(Read(value));
  if constexpr (std::is_arithmetic_v<Option>) {
    option = static_cast<Option>(read);
  } else {
    option = std::move(read);
  }
  return {};
}

template <auto Read, auto... Members>
Result<void> add(const std::string& value, Draft& draft) {
  (draft.options.*....*Members).push_back(HA_TRY(Read(value)));
  return {};
}

template <auto... Members>
Result<void> turn_on(const std::string& /*value*/, Draft& draft) {
  (draft.options.*....*Members) = true;
  return {};
}

template <auto... Members>
Result<void> turn_off(const std::string& /*value*/, Draft& draft) {
  (draft.options.*....*Members) = false;
  return {};
}

// Keeps a value as text in the draft. It is parsed once all arguments are known.
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

[[nodiscard]] inline Result<std::string> text(const std::string& value) {
  return value;
}

// A word of a table.
template <const auto& Table>
[[nodiscard]] auto one_of(const std::string& value) {
  return choose(value, Table);
}
// A word of a table, or the default if there is no value.
template <const auto& Table, auto Default>
[[nodiscard]] Result<std::remove_const_t<decltype(Default)>> one_of_or(const std::string& value) {
  if (value.empty()) return Default;
  return choose(value, Table);
}

// A number, with an optional k, M or G.
[[nodiscard]] Result<std::size_t> read_number(const std::string& value, std::size_t least);
template <std::size_t Least>
[[nodiscard]] Result<std::size_t> at_least(const std::string& value) {
  return read_number(value, Least);
}

// --heap accepts the key of each kind of heap, `auto`, and `both` for all kinds together.
[[nodiscard]] const std::vector<Choice<snapshot::HeapChoice>>& heap_choices();
[[nodiscard]] Result<snapshot::HeapChoice> read_heap(const std::string& value);

[[nodiscard]] Result<std::vector<int>> read_calls(std::string_view names);
inline constexpr std::size_t kDefaultValueBytes = 64;
[[nodiscard]] Result<std::size_t> read_value_bytes(const std::string& value);
[[nodiscard]] Result<bool> read_redact(const std::string& value);
[[nodiscard]] Result<std::chrono::milliseconds> read_max_pause(const std::string& value);
[[nodiscard]] Result<std::size_t> read_rounds(const std::string& value);
[[nodiscard]] Result<pid_t> read_thread(const std::string& value);
[[nodiscard]] Result<analyze::FindExpression> read_find(const std::string& value);

// A glob, or a file of globs.
Result<void> add_ignored(const std::string& value, Draft& draft);

}  // namespace heapattach
