#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "attach/memory/capture.h"
#include "symbols/ruby/shapes.h"

// Ruby's heap, copied from a process that is held and runs no code. No collection runs before the
// copy, so it includes unreferenced objects. Those that the last collection found but has not
// cleared yet can be left out.
namespace heapattach::ruby {

// A page of the heap: slots of equal size, each an object or free.
struct HeapPage {
  RemoteAddr start;
  std::uint32_t slots = 0;
  std::uint32_t slot_bytes = 0;
  bool is_before_sweep = false;      // unmarked objects are garbage
  std::vector<std::uint64_t> marks;  // by slot, from the start of the aligned page
};

// All pages, without their contents.
struct PageList {
  std::vector<HeapPage> pages;         // by address
  std::vector<std::uint64_t> records;  // their struct heap_page
  bool is_sweeping = false;            // garbage may not be cleared yet
  bool is_collecting = false;          // a collection was running
};

// Fails with Malformed if the heap is inconsistent, as it may be for a moment in a running process.
Result<PageList> list_pages(const Machine& machine,
                            const MemoryReader& memory,
                            const CopyLimits& limits);

// Finds the objects that belong to fibers. Reads the heap, which may be changing, piece by piece.
Result<std::vector<Value>> find_fibers(const Machine& machine,
                                       const MemoryReader& memory,
                                       const CopyLimits& limits);

// Whether a collection is running, which changes at any moment; nothing if that cannot be read.
std::optional<bool> is_collecting(const Machine& machine, const MemoryReader& memory);

// The present number of pages of a heap. It may grow before the copy.
Result<std::uint64_t> count_pages(const Machine& machine, const MemoryReader& memory);

class HeapCopy {
 public:
  // How objects are treated that a collection has found but not cleared yet. Their buffers are
  // still allocated.
  enum class Uncleared : std::uint8_t { LeftOut, Listed };

  // `arena` has the room that bytes_for() requires.
  explicit HeapCopy(Arena arena, Uncleared uncleared = Uncleared::LeftOut)
      : capture_(std::move(arena)), uncleared_(uncleared) {}
  static std::size_t bytes_for(const Machine& machine, std::uint64_t pages);

  // Copies all pages, and reads the necessary parts of the objects' classes. Call it once, while
  // the process is held. Fails with Malformed if the heap is inconsistent.
  Result<void> copy(const Machine& machine, const MemoryReader& memory, const CopyLimits& limits);

  // An object. `bytes` includes its slot and the buffers that a String, Array, Hash, Object, Struct
  // or large Integer does not share, but no memory that libraries allocated for it.
  struct Object {
    Value address = 0;
    Slot slot;
    std::uint64_t bytes = 0;
  };
  // Calls `take` for each object, by address.
  template <class Take>
  void for_each(const Take& take) const {
    for (const HeapPage& page : pages_) {
      for (std::uint32_t i = 0; i < page.slots; ++i) {
        if (const auto object = object_at(page, i)) take(*object);
      }
    }
  }

  // The size of the slot at an address; 0 if there is none.
  [[nodiscard]] std::uint64_t slot_bytes_of(Value value) const;
  [[nodiscard]] const Shapes& shapes() const { return shapes_; }
  // Whether `value` is the address of an object.
  [[nodiscard]] bool has_object(Value value) const;
  [[nodiscard]] const std::vector<HeapPage>& pages() const { return pages_; }
  [[nodiscard]] std::size_t page_count() const { return pages_.size(); }
  // The places for objects: there are no more objects than these.
  [[nodiscard]] std::uint64_t slots() const {
    std::uint64_t sum = 0;
    for (const HeapPage& page : pages_) sum += page.slots;
    return sum;
  }
  // The name of an object's class; nothing if the class has no name that can be read.
  [[nodiscard]] std::optional<std::string> class_name(Value of_class) const;
  // ValueForm::has_fields of the release.
  [[nodiscard]] bool has_fields() const { return layout_->values.has_fields; }
  // The name of a Data's type, such as "thread"; empty if it has none.
  [[nodiscard]] std::string data_name(const Slot& slot) const;
  [[nodiscard]] bool is_singleton_class(const Slot& slot) const {
    return slot.is_singleton_class(layout_->of_class.singleton);
  }
  // Whether a collection was running.
  [[nodiscard]] bool is_collecting() const { return is_collecting_; }
  [[nodiscard]] std::uint64_t garbage() const {
    return garbage_;
  }  // bytes that were left out, as described above
  // The number of objects whose variables have no known size: their shape is unknown, or the
  // variables are in a table.
  [[nodiscard]] std::uint64_t unsized_objects() const { return unsized_; }
  [[nodiscard]] std::uint64_t misfits() const { return misfits_; }  // slots without a valid object
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

  // Returns nothing if the slot is free, garbage or invalid.
  [[nodiscard]] std::optional<Object> object_at(const HeapPage& page, std::uint32_t index) const;
  // The page with a slot at this address; null if there is none.
  [[nodiscard]] const HeapPage* page_of(Value value) const;
  // Whether an Object's variables are in a buffer.
  [[nodiscard]] bool has_buffer(const Slot& object) const;
  [[nodiscard]] std::optional<Slot> slot_at(const HeapPage& page, std::uint32_t index) const;
  [[nodiscard]] bool is_garbage(const HeapPage& page, std::uint32_t index) const;
  [[nodiscard]] std::uint64_t buffer_bytes(Value address, const Slot& slot) const;
  // The address of the table of a Hash that has one.
  [[nodiscard]] std::uint64_t table_of(Value address, const Slot& slot) const;

  Capture capture_;
  Uncleared uncleared_;
  const Layout* layout_ = nullptr;
  Shapes shapes_;
  std::vector<HeapPage> pages_;  // the pages of the list
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
