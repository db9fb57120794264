#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/arch/processors.h"
#include "attach/base/remote_addr.h"
#include "attach/stop/freeze.h"

namespace heapattach {

// A part of a file that was mapped.
struct CoreMappedFile {
  Range range;
  std::uint64_t file_offset = 0;
  std::string path;
};

// The notes of a core file (core(5); NT_… in elf.h), those that we use.
struct CoreNotes {
  std::uint16_t machine = kOwnProcessor;
  pid_t pid = 0;                      // 0: unknown
  std::string name;                   // of the program, cut off after 15 bytes
  int signal = 0;                     // the signal that killed it; 0: none or unknown
  std::string auxv;                   // in the format of /proc/<pid>/auxv
  bool has_files = false;             // whether it lists mapped files at all
  std::vector<CoreMappedFile> files;  // in file order
  std::vector<FrozenThread> threads;  // in file order; the one that ended the process is first
  std::vector<std::string> faults;    // what was skipped because its values are impossible
};

// Adds the notes of one segment, of a process of notes.machine. Accepts any bytes, and skips
// malformed notes.
void read_core_notes(std::span<const std::byte> bytes, CoreNotes& notes);

}  // namespace heapattach
