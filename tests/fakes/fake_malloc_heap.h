#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/memory/capture.h"
#include "symbols/malloc/heap.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach {

// The forms of malloc's data in a release of glibc.
struct MallocRelease {
  std::string name;
  std::uint64_t bins = 0x70;
  std::uint64_t fast_bins = 0x10;  // 0: none
  std::uint64_t cache_chunk = 0x290;
  bool links_safely = true;
  bool is_since_235 = true;
  bool counts_free_places = false;
  std::uint64_t behind_mapped = 0;  // bytes after a mapped chunk
};
// One release for each form, from 2.26 to 2.43.
const std::vector<MallocRelease>& malloc_releases();

// A process with a heap of glibc's malloc, written by hand: the C library's data, and one main
// arena, whose chunks follow each other. A chunk is given by its whole size.
class FakeMallocHeap {
 public:
  explicit FakeMallocHeap(const MallocRelease& release);

  // These functions add a chunk, and return the address of the program's memory in it.
  RemoteAddr add(std::uint64_t chunk_bytes);         // in use
  RemoteAddr add_free(std::uint64_t chunk_bytes);    // in a bin
  RemoteAddr add_fast(std::uint64_t chunk_bytes);    // in a fast bin
  RemoteAddr add_cached(std::uint64_t chunk_bytes);  // in the cache of the only thread
  // Adds a chunk with a mapping of its own, of whole pages. `aligned` may be more than 16 bytes.
  RemoteAddr add_mapped(std::uint64_t bytes, std::uint64_t aligned = 16);
  // Adds fence chunks and `bytes` of the program's own, as if the program had moved the break.
  // Returns the range of the program's bytes.
  Range add_foreign(std::uint64_t bytes);

  // Makes the cache count one chunk too few of this size.
  void miscount(std::uint64_t chunk_bytes) { miscounted_.push_back(chunk_bytes / 16 - 2); }
  // Makes malloc count that many bytes too few in mapped chunks.
  void drift(std::uint64_t bytes) { drift_ = bytes; }

  // Adds an arena of two heaps, each with one chunk in use. The newer heap names the heap at
  // `before`, by default the first one, as the older one.
  void add_arena(std::optional<RemoteAddr> before = std::nullopt);
  static constexpr RemoteAddr kFirstHeap{0x7d0000000000};
  static constexpr RemoteAddr kSecondHeap{0x7d0004000000};

  // Adds a second copy of the C library, whose heap has `system_mem` bytes.
  void add_second_library(std::uint64_t system_mem);

  void poke(RemoteAddr at, std::uint64_t word);
  [[nodiscard]] std::uint64_t peek(RemoteAddr at);
  // A global variable of the program, below malloc's data.
  [[nodiscard]] RemoteAddr global() const { return kData; }

  // Ends the heap with a top chunk, and reads it.
  Result<glibc::Heap> read(std::span<const Range> foreign = {});
  [[nodiscard]] const Capture& capture() const { return *capture_; }
  // The process's memory, and the range of its C library's data.
  [[nodiscard]] const MemoryReader& memory() const { return memory_; }
  [[nodiscard]] static Range data() { return {kData, 0x4000}; }
  [[nodiscard]] std::uint64_t system_mem() const { return next_ - kHeap; }

 private:
  static constexpr RemoteAddr kData{0x7f0000000000};
  static constexpr RemoteAddr kArena{0x7f0000002000};
  static constexpr RemoteAddr kParameters{0x7f0000001000};
  static constexpr RemoteAddr kHeap{0x555555000000};
  static constexpr std::uint64_t kHeapBytes = 0x40000;
  static constexpr RemoteAddr kMapped{0x7e0000000000};
  static constexpr std::uint64_t kMappedBytes = 0x100000;
  static constexpr RemoteAddr kThread{0x7f0000003f00};
  static constexpr RemoteAddr kOtherArena = kFirstHeap + 0x40;
  static constexpr std::uint64_t kOtherBytes = 0x10000;  // of each heap of the other arena
  static constexpr RemoteAddr kSecond{0x7f0000100000};
  static constexpr std::uint64_t kSecondBytes = 0x2000;

  RemoteAddr append(std::uint64_t chunk_bytes);
  void link(RemoteAddr at, std::uint64_t to);
  void write_bins();
  void write_empty_bins(RemoteAddr bins);
  void write_parameters();
  void write_cache();
  void put_count(unsigned bin, std::uint64_t count);

  MallocRelease release_;
  FakeMemory memory_;
  RemoteAddr next_ = kHeap;
  RemoteAddr next_mapped_ = kMapped;
  bool is_previous_free_ = false;
  std::vector<RemoteAddr> free_;  // chunks
  std::vector<std::vector<RemoteAddr>> cached_;
  RemoteAddr cache_;
  std::uint64_t mapped_ = 0;
  std::uint64_t drift_ = 0;
  std::vector<std::uint64_t> miscounted_;  // bins
  bool has_second_ = false;
  bool has_other_arena_ = false;
  std::unique_ptr<Capture> capture_;
};

}  // namespace heapattach
