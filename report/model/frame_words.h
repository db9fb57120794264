#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "symbols/unwind/stack_record.h"

// The words for frames and stacks in records. They are the same in every format.
namespace heapattach::snapshot {

inline constexpr std::array<std::pair<std::string_view, unwind::FoundBy>, 6> kFoundByWords{{
    {"registers", unwind::FoundBy::Registers},
    {"tables", unwind::FoundBy::FrameTables},
    {"signal", unwind::FoundBy::SignalFrame},
    {"code", unwind::FoundBy::Code},
    {"frame pointer", unwind::FoundBy::FramePointer},
    {"scan", unwind::FoundBy::Scan},
}};

inline constexpr std::array<std::pair<std::string_view, unwind::StackEnd>, 6> kStackEndWords{{
    {"outermost", unwind::StackEnd::Outermost},
    {"limit", unwind::StackEnd::Limit},
    {"unknown", unwind::StackEnd::Unknown},
    {"generated code", unwind::StackEnd::Generated},
    {"other stack", unwind::StackEnd::OtherStack},
    {"corrupt", unwind::StackEnd::Corrupt},
}};

template <class Words, class Value>
[[nodiscard]] constexpr std::string_view word_for(const Words& words, Value value) {
  for (const auto& [word, meant] : words) {
    if (meant == value) return word;
  }
  return {};
}

// The value that a word in a record means; nothing if there is no such word.
template <class Words>
[[nodiscard]] constexpr auto meant_by(const Words& words, std::string_view said)
    -> std::optional<decltype(words[0].second)> {
  for (const auto& [word, meant] : words) {
    if (word == said) return meant;
  }
  return {};
}

// Whether a frame was found by a guess, not by tables. Reports mark such a frame.
[[nodiscard]] constexpr bool is_guess(unwind::FoundBy by) {
  return by == unwind::FoundBy::FramePointer || by == unwind::FoundBy::Scan;
}

}  // namespace heapattach::snapshot
