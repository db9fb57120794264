#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "attach/memory/capture.h"
#include "symbols/musl/heap.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach {

// A process with a heap of musl's older malloc, written by hand: the C library's data with the
// bins, segments of chunks, and mappings. A chunk is given by its whole size, a multiple of 32.
class FakeOldMuslHeap {
 public:
  FakeOldMuslHeap();

  // These functions add a chunk, and return the address of the program's memory in it.
  RemoteAddr add(std::uint64_t chunk_bytes);
  RemoteAddr add_free(std::uint64_t chunk_bytes);
  RemoteAddr add_mapped(std::uint64_t pages, std::uint64_t aligned = 32);
  // The next chunks are in another segment. begin_donated() begins one in the memory after the
  // library's data, which the loader has donated.
  void begin_segment();
  void begin_donated();

  void poke(RemoteAddr at, std::uint64_t word) { memory_.put(at, word); }
  [[nodiscard]] std::uint64_t peek(RemoteAddr at);
  [[nodiscard]] std::uint64_t segment_bytes() const { return segment_bytes_; }

  // Ends the last segment, and reads the heap.
  Result<musl::Heap> read(std::size_t threads = 1);
  // Reads the heap as it is.
  Result<musl::Heap> read_again(std::size_t threads = 1);
  [[nodiscard]] const Capture& capture() const { return *capture_; }
  static constexpr RemoteAddr kBins{0x7f0000001128};

 private:
  static constexpr RemoteAddr kData{0x7f0000000000};
  static constexpr std::uint64_t kDataBytes = 0x3560;
  static constexpr std::uint64_t kDataPages = 0x4000;
  static constexpr RemoteAddr kHeap{0x555555000000};
  static constexpr std::uint64_t kHeapBytes = 0x40000;
  static constexpr RemoteAddr kMapped{0x7e0000000000};
  static constexpr std::uint64_t kMappedBytes = 0x100000;

  RemoteAddr append(std::uint64_t chunk_bytes, bool is_in_use);
  void end_segment();

  FakeMemory memory_;
  RemoteAddr start_ = kHeap;
  RemoteAddr next_ = kHeap + 16;
  RemoteAddr next_mapped_ = kMapped;
  bool is_donated_ = false;
  std::uint64_t segment_bytes_ = 0;  // of all segments that have ended
  std::unique_ptr<Capture> capture_;
};

}  // namespace heapattach
