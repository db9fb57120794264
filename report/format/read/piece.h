#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/format/read/name_tables.h"
#include "report/model/model.h"

namespace heapattach::read {

// An edge whose target object is not known yet.
struct RawEdge {
  std::uint64_t to = 0;   // an address
  std::uint32_t key = 0;  // of the type's KeyTable
  std::uint32_t number = 0;
};
static_assert(sizeof(RawEdge) == 16);

// A record, with its line number.
template <class Record>
struct OnLine {
  Record record;
  std::size_t line = 0;  // within its block, from 1
};

struct RawRoot {
  snapshot::Root root;
  std::uint64_t to = 0;
};

// The threads and fibers mentioned in the record of a thread or fiber, by tid and address.
struct ThreadMentions {
  std::optional<pid_t> owner;  // of the mutex that it waits for
  std::optional<std::uint64_t> fiber;
};
struct FiberMentions {
  std::optional<std::uint64_t> owner;  // of the mutex, as for a thread
  std::optional<pid_t> thread;
};

struct RawThread {
  snapshot::Thread thread;
  ThreadMentions mentions;
};

struct RawFiber {
  snapshot::Fiber fiber;
  std::optional<std::uint64_t> same_frames_as;  // the address of another
  FiberMentions mentions;
};

struct RawHeader {
  snapshot::Header header;
  std::vector<snapshot::Heap> heaps;
};

struct EndRecord {
  bool complete = false;
  std::string reason;
  std::optional<std::uint64_t> objects, bytes, roots;
  std::uint64_t skipped = 0;
};

struct Wrong {
  std::size_t line = 0;  // within the block
  std::string what;
};

// The records of one block. Types, sizes and keys are numbers in the tables of the worker that read
// it.
struct Piece {
  const NameTables* names = nullptr;
  std::size_t lines = 0;
  bool is_cut = false;  // its last line is incomplete, at the end of the file

  // While a piece is read, it is not known which heaps there are: Object::heap is 0 for the first
  // heap, otherwise 1 + the index in heap_kinds() of the first kind with its key.
  FlatArray<snapshot::Object> objects;
  std::vector<std::uint32_t> edge_ends;  // by object: the end of its edges
  FlatArray<RawEdge> edges;
  snapshot::ValuePiece values;  // empty if no object has any
  // If objects are not on consecutive lines: the number of each object, and its line.
  std::vector<std::pair<std::uint32_t, std::size_t>> object_lines;
  std::uint64_t bytes = 0;  // of the objects

  std::vector<OnLine<RawHeader>> headers;
  std::vector<OnLine<snapshot::Type>> types;
  std::vector<snapshot::Place> places;
  std::vector<snapshot::Stack> stacks;  // their places belong to this piece
  std::vector<RawThread> threads;       // their stacks belong to this piece
  std::vector<RawFiber> fibers;         // their stacks belong to this piece
  std::vector<OnLine<RawRoot>> roots;
  std::vector<OnLine<EndRecord>> ends;
  std::size_t first_record = 0;  // lines within the block; 0: it has no records
  std::size_t last_record = 0;
  std::size_t skipped_records = 0;  // of unknown kinds

  std::optional<Wrong> wrong;  // reading ended there

  [[nodiscard]] std::size_t line_of(std::uint32_t object) const;
};

}  // namespace heapattach::read
