#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/freeze.h"
#include "attach/remote_addr.h"

namespace heapattach {

// A part of a file that was mapped.
struct CoreMappedFile {
  Range range;
  std::uint64_t file_offset = 0;
  std::string path;
};

// What the notes of a core file say (core(5); NT_… of elf.h), as far as we use it.
struct CoreNotes {
  pid_t pid = 0;                      // 0: not told
  std::string name;                   // of the program, cut off after 15 bytes
  int signal = 0;                     // that ended it; 0: none, or not told
  std::string auxv;                   // as /proc/<pid>/auxv has it
  bool has_files = false;             // whether it says which files were mapped at all
  std::vector<CoreMappedFile> files;  // in the order of the file
  std::vector<FrozenThread> threads;  // as they come: the one that ended it first
  std::vector<std::string> faults;    // what was skipped because it cannot be true
};

// Adds what one note segment says. Takes any bytes: what does not fit is skipped.
void read_core_notes(std::span<const std::byte> bytes, CoreNotes& notes);

}  // namespace heapattach
