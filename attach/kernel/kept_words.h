#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/kernel/kept_contents.h"
#include "attach/process/descriptors.h"
#include "attach/process/process.h"

// What a program has left to the kernel, which gives it back later: the data of epoll, the value
// of a timer, the bytes in a pipe. A program may keep the only pointer to an object there. A new
// kind of such words is a function and a row of a table in kept_words.cpp.
namespace heapattach {

struct KeptWords {
  std::string_view name;  // "(data of epoll)"; a literal
  std::vector<std::byte> bytes;
  bool is_packed = false;  // a pointer may begin at any byte, not only at each eighth one
};

struct KeptByKernel {
  std::vector<KeptWords> words;
  std::uint64_t request_queues = 0;        // instances of io_uring: their requests are not shown
  std::uint64_t left_out_descriptors = 0;  // for lack of time
  // Shared memory that is over the limit, or in files that could not be opened.
  std::uint64_t left_out_bytes = 0;
};

// Shared memory as the process's page tables show it. The file may hold more: pages that were
// swapped out, or that this process never touched.
struct MappedFile {
  struct Part {
    std::uint64_t offset = 0;  // in the file
    std::uint64_t bytes = 0;
  };
  std::vector<Part> read;          // by the caller; they overlap if the file is mapped twice
  std::uint64_t absent_bytes = 0;  // the rest of the mappings
  std::string name;                // "map_files/…"

  // The size of all that is read, each byte counted once.
  [[nodiscard]] std::uint64_t read_bytes() const;
};

struct KeptLimits {
  std::uint64_t file_bytes = 0;          // of the contents of shared memory
  std::span<const Descriptor> before{};  // those of a moment ago, or none
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  std::map<FileId, MappedFile> mapped{};
};

// Reads them while the process is stopped; if it runs, they may change meanwhile. Consumes nothing.
[[nodiscard]] KeptByKernel read_kept_words(const Process& process, const KeptLimits& limits);

// The "data:" words in the text of /proc/<pid>/fdinfo/<fd> of an epoll instance.
[[nodiscard]] std::vector<std::uint64_t> epoll_data(std::string_view fdinfo);
// The values with which the timers in the text of /proc/<pid>/timers send their signals.
[[nodiscard]] std::vector<std::uint64_t> timer_values(std::string_view timers);

}  // namespace heapattach
