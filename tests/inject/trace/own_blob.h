#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "inject/trace/blob.h"
#include "inject/trace/ring.h"

// The hooked functions. allocate returns a new address each time, release counts, lead jumps to
// allocate unless the object is large, and plain is not reached from another one. choose is not
// hooked: it jumps to lead or to plain, which then see the caller of choose.
extern "C" {
void* ha_test_allocate(std::size_t bytes, int kind);
void ha_test_release(void* object);
void* ha_test_lead(std::size_t bytes, int kind);
void* ha_test_plain(std::size_t bytes, int kind);
void* ha_test_choose(std::size_t bytes, int kind, int leads);
extern std::uint64_t ha_test_released;
}

namespace heapattach::trace {

inline constexpr std::uint64_t kTestRingBytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kTestStackBytes = 4096;

// The answers that the test's collector gives.
struct TestCollector {
  bool is_without_memory = false;
  int event_given = -1;  // the event that the program's handler got
  std::uint32_t collections = 0;
  std::uint64_t only_marked = 0;
  std::uint64_t stack_bottom = 0;
};
extern TestCollector test_collector;

[[nodiscard]] std::uint64_t own_thread_pointer();

template <class T>
std::uint64_t number(T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// The blob in the test's own process, installed as the installer does it from outside.
class OwnBlob {
 public:
  explicit OwnBlob(std::uint64_t every, std::uint64_t ring_bytes = kTestRingBytes);
  ~OwnBlob();
  OwnBlob(const OwnBlob&) = delete;
  OwnBlob& operator=(const OwnBlob&) = delete;

  [[nodiscard]] BlobControl& control() const {
    return *reinterpret_cast<BlobControl*>(base_ + kBlobCodeBytes);
  }
  [[nodiscard]] Ring& ring() { return *ring_; }
  void collect(int event = kMarkEnd) const;
  // Tells the blob that all memory from `begin` to `end` is mapped.
  void tell_span(std::uint64_t begin, std::uint64_t end) const;
  // Whether the blob has asked about the memory that ends there.
  [[nodiscard]] bool has_asked(std::uint64_t end) const;
  // A record with its stack.
  struct Record {
    RingRecord record;
    std::vector<std::byte> stack;
  };
  std::vector<Record> read();

 private:
  void fill(std::uint64_t ring_bytes, std::uint64_t every);
  std::uint64_t ring_address(std::uint64_t ring_bytes);
  void move(std::size_t hook, std::uint64_t entry, std::uint64_t end);
  void hook(std::size_t hook, std::uint64_t entry);
  static void put(std::uint64_t at, const std::vector<std::byte>& bytes);

  Fd file_;
  std::optional<Ring> ring_;
  std::byte* base_ = nullptr;
  BlobHead head_{};
  std::array<std::size_t, kHooks> kept_{};  // bytes before the jump at each entry
  std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> originals_;
};

}  // namespace heapattach::trace
