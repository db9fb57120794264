#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/model/model.h"
#include "symbols/crystal/type_table.h"
#include "symbols/elf/module.h"
#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"
#include "tests/fakes/captured_heap.h"
#include "tests/fakes/fake_gc_heap.h"
#include "tests/support/type_model_builder.h"

namespace heapattach {

// A heap laid out by hand, with hand-written types, joined to a snapshot.
//
//   TypedHeap typed;
//   typed.add_class(7, "Session", 24);                      // an id with a name
//   const RemoteAddr at = typed.object(32);                 // all objects are live
//   typed.join();
//   CHECK(typed.type_at(at) == "Session");
class TypedHeap {
 public:
  // The address of the globals.
  static constexpr RemoteAddr kData{0x5660'0000'0000};

  explicit TypedHeap(std::uint64_t pages = 64);
  ~TypedHeap();
  TypedHeap(const TypedHeap&) = delete;
  TypedHeap& operator=(const TypedHeap&) = delete;

  // Adds a class with an id. Its layout, if it has one, is in the model.
  void add_class(std::uint32_t id,
                 const std::string& name,
                 std::uint64_t bytes,
                 bool is_atomic = false);

  // Makes an object, in a new block if there is none for that kind and size.
  RemoteAddr object(std::uint64_t bytes, std::uint8_t kind = heap::kNormal);
  // Makes an object that begins with a type id.
  RemoteAddr instance(std::uint32_t id, std::uint64_t bytes, std::uint8_t kind = heap::kNormal);
  // Adds a variable at `offset` in the program's data, which holds `word`.
  void global(const std::string& name, types::TypeRef type, std::uint64_t offset, RemoteAddr word);

  void join();

  [[nodiscard]] std::size_t index_of(RemoteAddr at) const;

  [[nodiscard]] const snapshot::Type& row_at(RemoteAddr at) const;
  [[nodiscard]] std::string type_at(RemoteAddr at) const;
  // The keys of an object's edges: "@user @tags".
  [[nodiscard]] std::string keys_at(RemoteAddr at) const;

  FakeGcHeap fake;
  ModelBuilder build;
  crystal::TypeTable classes;
  std::vector<Symbol> symbols;
  std::vector<Range> code;  // of the program
  std::optional<CapturedHeap> captured;
  snapshot::Snapshot snapshot;
  std::uint64_t conflicts = 0;
  std::size_t values = 0;  // the most bytes of a text to keep; 0: keep no values
  // Names objects as a runtime's reader does; may be empty.
  std::function<runtimes::ObjectNames(const runtimes::HeapView&)> namer;

 private:
  struct Room {
    std::uint64_t bytes;
    std::uint8_t kind;
    RemoteAddr next;
    RemoteAddr end;
  };

  std::vector<Room> rooms_;
  std::vector<RemoteAddr> objects_;
};

}  // namespace heapattach
