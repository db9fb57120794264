#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

// Numbers and texts in a Mono program's memory, which is read one word at a time.
namespace heapattach::mono {

// The word at an address that is a multiple of 8; nothing if it cannot be read.
using ReadWord = std::function<std::optional<std::uint64_t>(std::uint64_t at)>;

// Both functions read whole words, so that they never touch a page that they do not need.

// A number of up to 8 bytes, at any address.
[[nodiscard]] std::optional<std::uint64_t> number_at(const ReadWord& read,
                                                     std::uint64_t at,
                                                     unsigned bytes);

// A C string that is safe to show; empty if there is none.
[[nodiscard]] std::string text_at(const ReadWord& read, std::uint64_t at);

}  // namespace heapattach::mono
