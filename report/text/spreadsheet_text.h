#pragma once

#include <string>

namespace heapattach {

// The text of a CSV or TSV cell. Spreadsheets take one that begins with = + - or @ for a formula,
// which can read files and start programs, and names of threads, types and functions are chosen by
// the target. Such a text gets an apostrophe in front, which spreadsheets understand as "this is
// text".
[[nodiscard]] std::string spreadsheet_text(std::string text);

}  // namespace heapattach
