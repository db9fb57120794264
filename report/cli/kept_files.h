#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"

namespace heapattach {

// The files of a capture have names such as shop.4711.20261124T093000Z.jsonl.gz: the process, its
// pid, and the time. Files with other names are not ours, and are left alone.
inline constexpr std::string_view kCaptureEndings[] = {".jsonl.gz", ".diagnosis.txt",
                                                       ".stacks.txt"};

// "shop.4711.20261124T093000Z", from a process's name, which may contain any bytes.
[[nodiscard]] std::string capture_name(std::string_view process, int pid, std::string_view time);

// The name of the capture that a file belongs to; empty if it belongs to none.
[[nodiscard]] std::string_view capture_of(std::string_view file);

// The files to remove so that `keep` captures are left, which are the last ones.
[[nodiscard]] std::vector<std::string> surplus_files(std::vector<std::string> files,
                                                     std::size_t keep);

// Makes the directory for captures unless it exists. In a directory where everybody can write, it
// refuses one, or a link, that another user has made: that user could replace the captures, or
// choose by the link where they are saved.
Result<void> make_capture_directory(std::string path);

// Removes the surplus files of a directory. Those that cannot be removed stay.
void remove_surplus(const std::string& directory, std::size_t keep);

// Removes the oldest captures until the rest have at most `most_bytes`.
void make_room(const std::string& directory, std::uint64_t most_bytes);

}  // namespace heapattach
