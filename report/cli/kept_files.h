#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heapattach {

// The files of a capture have names such as shop.4711.20261124T093000Z.jsonl.gz: the process, its
// pid, and the time. What is not named so was put there by somebody else, and is left alone.
inline constexpr std::string_view kCaptureEndings[] = {".jsonl.gz", ".diagnosis.txt",
                                                       ".stacks.txt"};

// "shop.4711.20261124T093000Z", from a process's name, which may contain any bytes.
[[nodiscard]] std::string capture_name(std::string_view process, int pid, std::string_view time);

// The name of the capture that a file belongs to; empty if it belongs to none.
[[nodiscard]] std::string_view capture_of(std::string_view file);

// The files to remove so that `keep` captures are left, which are the last ones.
[[nodiscard]] std::vector<std::string> surplus_files(std::vector<std::string> files,
                                                     std::size_t keep);

// Removes them from a directory. What cannot be removed stays.
void remove_surplus(const std::string& directory, std::size_t keep);

}  // namespace heapattach
