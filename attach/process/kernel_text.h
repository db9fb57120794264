#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Reads the texts in which the kernel describes processes, control groups and the machine. Most of
// their lines begin with a key: "VmRSS:\t  812 kB", "inactive_file 4096".
namespace heapattach {

// The text of a file in /proc or /sys; empty if it cannot be read.
[[nodiscard]] std::string kernel_text(const std::string& path);

// Calls `take` with each line of a text.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    take(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
}

// Takes the number at the front of `text`, and the white space before it, off the text. None if
// there is no number; then only the white space is taken.
std::optional<std::uint64_t> take_number(std::string_view& text, int base = 10);

// The number after a key, in the line that begins with it: 812 after "VmRSS". None if there is no
// such line, or no number in it.
[[nodiscard]] std::optional<std::uint64_t> number_after(std::string_view text,
                                                        std::string_view key,
                                                        int base = 10);

// The same for a number of kilobytes, in bytes: "VmPTE:     12 kB" is 12288.
[[nodiscard]] std::optional<std::uint64_t> bytes_after(std::string_view text, std::string_view key);

}  // namespace heapattach
