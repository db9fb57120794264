#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "attach/memory/capture.h"
#include "symbols/ruby/shapes.h"

// Ruby's heap, copied while the process is held: for a process that cannot run any code. No
// collection comes before, so objects that nothing references are there too, unless the last
// collection found them and has only not cleared their page yet.
namespace heapattach::ruby {

// A page of the heap: slots of equal size, each an object or free.
struct HeapPage {
  RemoteAddr start;
  std::uint32_t slots = 0;
  std::uint32_t slot_bytes = 0;
  bool is_before_sweep = false;      // what has no mark is garbage
  std::vector<std::uint64_t> marks;  // by slot of the aligned page
};

// All pages, without what is in them.
struct PageList {
  std::vector<HeapPage> pages;         // by address
  std::vector<std::uint64_t> records;  // their struct heap_page
  bool is_sweeping = false;            // garbage may not be cleared yet
  bool is_collecting = false;          // in the midst of a collection
};

// Malformed if the heap is not in order, as it may be for a moment in a process that runs.
Result<PageList> list_pages(const Machine& machine,
                            const MemoryReader& memory,
                            const CopyLimits& limits);

// The objects that belong to fibers, in a heap that may be changing. Reads it piece by piece.
Result<std::vector<Value>> find_fibers(const Machine& machine,
                                       const MemoryReader& memory,
                                       const CopyLimits& limits);

// How many pages a heap has now, to prepare for; more may come.
Result<std::uint64_t> count_pages(const Machine& machine, const MemoryReader& memory);

class HeapCopy {
 public:
  // `arena` has room for `bytes_for` the pages.
  explicit HeapCopy(Arena arena) : capture_(std::move(arena)) {}
  static std::size_t bytes_for(const Machine& machine, std::uint64_t pages);

  // Copies all pages, and reads what is needed of the objects' classes. Call it once, while the
  // process is held. Malformed if the heap is not in order.
  Result<void> copy(const Machine& machine, const MemoryReader& memory, const CopyLimits& limits);

  // An object. `bytes` has its slot, and the buffers that a String, Array, Hash, Object, Struct or
  // large Integer alone owns; what libraries allocated for it is not known.
  struct Object {
    Value address = 0;
    Slot slot;
    std::uint64_t bytes = 0;
  };
  // Calls `take` for each, by address.
  template <class Take>
  void for_each(const Take& take) const {
    for (const HeapPage& page : pages_) {
      for (std::uint32_t i = 0; i < page.slots; ++i) {
        if (const auto object = object_at(page, i)) take(*object);
      }
    }
  }

  // Whether this is the address of one of them.
  [[nodiscard]] bool has_object(Value value) const;
  [[nodiscard]] std::size_t page_count() const { return pages_.size(); }
  // The names of the classes that objects have; none of a class: it has no name to be read.
  [[nodiscard]] std::optional<std::string> class_name(Value of_class) const;
  // "thread" for the type of a Data.
  [[nodiscard]] std::string data_name(std::uint64_t data_type) const;
  // It was in the midst of a collection.
  [[nodiscard]] bool is_collecting() const { return is_collecting_; }
  [[nodiscard]] std::uint64_t garbage() const { return garbage_; }  // left out, as said above
  // Objects with variables elsewhere, for which there is no size: their shape is not known, or they
  // have variables in a table.
  [[nodiscard]] std::uint64_t unsized_objects() const { return unsized_; }
  [[nodiscard]] std::uint64_t misfits() const { return misfits_; }  // slots that are no objects
  [[nodiscard]] std::uint64_t unread_bytes() const;

 private:
  Result<void> copy_bodies(const Machine& machine,
                           const MemoryReader& memory,
                           const std::vector<std::uint64_t>& records,
                           const CopyLimits& limits);
  Result<void> survey(const Machine& machine, const MemoryReader& memory, const CopyLimits& limits);
  void read_tables(const MemoryReader& memory,
                   const std::vector<std::uint64_t>& tables,
                   const CopyLimits& limits);

  // None: free, garbage, or no object.
  [[nodiscard]] std::optional<Object> object_at(const HeapPage& page, std::uint32_t index) const;
  [[nodiscard]] std::optional<Slot> slot_at(const HeapPage& page, std::uint32_t index) const;
  [[nodiscard]] bool is_garbage(const HeapPage& page, std::uint32_t index) const;
  [[nodiscard]] std::uint64_t buffer_bytes(Value address, const Slot& slot) const;
  // Where the table of a Hash is that has one.
  [[nodiscard]] std::uint64_t table_of(Value address, const Slot& slot) const;

  Capture capture_;
  const Layout* layout_ = nullptr;
  Shapes shapes_;
  std::vector<HeapPage> pages_;  // those of the list
  std::unordered_map<Value, std::optional<std::string>> class_names_;
  std::unordered_map<std::uint64_t, std::string> data_names_;
  std::unordered_map<std::uint64_t, std::uint64_t> table_bytes_;  // of st_tables
  bool is_sweeping_ = false;
  bool is_collecting_ = false;
  std::uint64_t garbage_ = 0;
  std::uint64_t misfits_ = 0;
  std::uint64_t unsized_ = 0;
};

}  // namespace heapattach::ruby
