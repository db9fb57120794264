#pragma once

#include <string>

namespace heapattach {

// The text of a CSV or TSV cell. Spreadsheets take a text that begins with = + - @, a tab or a
// carriage return for a formula, which can read files and start programs, and the target chooses
// the names of its threads, types and functions. Such a text of more than one character gets an
// apostrophe in front, which spreadsheets understand as "this is text".
[[nodiscard]] std::string spreadsheet_text(std::string text);

}  // namespace heapattach
