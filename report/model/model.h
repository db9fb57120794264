#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "attach/base/attribute.h"
#include "attach/base/flat_array.h"
#include "report/model/heaps.h"
#include "report/model/root_kinds.h"
#include "report/model/values.h"
#include "report/model/waits.h"

namespace heapattach::unwind {
enum class FoundBy : std::uint8_t;   // symbols/unwind/stack_record.h
enum class StackEnd : std::uint8_t;  // in the same header
}  // namespace heapattach::unwind

// The model that connects all sources with all reports: flat arrays of plain values, with indices
// instead of pointers. The code that fills it maintains the invariants in the comments; nothing
// changes it afterwards.
namespace heapattach {
class MemoryReader;
}

namespace heapattach::snapshot {

using TypeIndex = std::uint32_t;
using ObjectIndex = std::uint32_t;

enum class ObjectKind : std::uint8_t { Normal, Atomic, Uncollectable, Custom };

// The evidence for an object's type.
enum class TypedBy : std::uint8_t {
  Nothing,
  Header,    // the object itself: a Crystal class's id
  Vtable,    // the object itself: a C++ class's vtable
  Referrer,  // a reference to it: a field, a variable
};

// A row of the counts: a class, or a placeholder for one. Several rows may share a name.
struct Type {
  std::string name;  // "(unknown)", "(type 174)" if nothing better is known
  std::optional<std::uint32_t> id;
  std::optional<std::uint64_t> instance_bytes;
  std::vector<std::string> known_from;  // empty for placeholders
  struct Field {
    std::string name;
    std::string type;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    bool is_lossy = false;  // as Type::is_lossy
    // The field may have a value that is not stored: without an edge, nothing is known about it.
    bool is_unread = false;
  };
  std::vector<Field> fields;
  TypedBy typed_by = TypedBy::Nothing;  // all but Nothing count towards typed_bytes
  std::string holder;  // for buffers, the name of the type to which they belong; otherwise empty
  // The struct that the objects probably are, if the row has only a size; otherwise empty.
  std::string guess{};

  // The name of a word of an instance, which becomes a key of `refs`.
  struct Path {
    std::uint64_t offset = 0;
    std::string text;  // "@point.@next"
  };
  // The elements of an array: "[3].key" for offset elements_at + 3 * element_bytes + its offset.
  struct Elements {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;  // the size of an element; 0: no elements
    std::string name;         // the text before the bracket: "items" of "items[3]"
    std::vector<Path> paths;  // within an element, by offset; empty text: the element itself
  };
  std::vector<Path> paths;  // for fixed offsets, in order
  Elements elements;
  std::vector<std::string> value_paths;  // the paths of the fields whose values are stored

  // The keys in a snapshot that was read from a file, where offsets are unknown; otherwise empty.
  // An Edge's word is then an index: first the plain keys, in order; then, for each number, the
  // keys that contain a number.
  struct Key {
    std::string before;
    std::string after;
    std::uint32_t unit = 0;  // the unit of the number: 1 in "[3].key", 8 in "+24"; 0: no number
  };
  std::vector<Key> keys;
  bool is_lossy = false;  // a text in the type's record was changed before it was read

  [[nodiscard]] bool is_known() const { return typed_by != TypedBy::Nothing; }
};

// An object, in sixteen bytes. Its edges, if any, start at Snapshot::first_edge of its index.
struct Object {
  std::uint64_t address : 48;
  std::uint64_t kind : 2;
  std::uint64_t is_reachable : 1;
  std::uint64_t is_lossy : 1;  // a text in the object's record was changed before it was read
  std::uint64_t heap : 4;      // index into Snapshot::heaps; 0 if that is empty
  std::uint64_t reserved : 8;
  TypeIndex type;
  std::uint32_t size_class;  // index into Snapshot::sizes

  [[nodiscard]] ObjectKind object_kind() const { return static_cast<ObjectKind>(kind); }
};
static_assert(sizeof(Object) == 16);

// Objects that differ only in their addresses and kinds.
struct Alike {
  Object object{};  // one of these objects, without its address
  std::uint64_t count = 0;
};

// A reference from a word of one object to the object into which the word points. The word's offset
// determines the key.
struct Edge {
  std::uint32_t offset_words;  // offset / 8 of the word in its object, unless its Type has keys
  ObjectIndex to;
};
static_assert(sizeof(Edge) == 8);

struct Root {
  RootKind kind = RootKind::Global;
  std::optional<pid_t> thread;         // the thread whose stack or register it is
  std::optional<std::uint64_t> fiber;  // the address of the fiber's object
  std::string symbol;                  // the name of a variable or register, if it has one
  std::string module;
  std::uint64_t address = 0;  // the address of the word; 0 for a register
  ObjectIndex to = 0;
  std::optional<std::uint32_t> frame{};  // the word's frame in the thread's or fiber's Stack
  std::string variable{};  // the frame's variable, if known; for a global, "db.pools[2].head"
  // If this is set, the variable belongs to this function in Place::inlined, not to the frame's own
  // function.
  std::optional<std::uint32_t> inlined{};
  // The word is on a thread's stack, but below the stack pointer, where only leaf functions have
  // data.
  bool is_below_stack_pointer = false;
  bool is_lossy = false;
};

// A function and a position in it, for people. Unknown parts are empty or 0.
struct CodeLine {
  std::string function;
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  bool is_lossy = false;
};

// A code location. Many frames share one.
struct Place {
  std::uint64_t pc = 0;  // an address in the instruction
  CodeLine at;           // the line in the frame's own function
  // The functions inlined there, the innermost first. Each is called at the line of the next one.
  std::vector<CodeLine> inlined;
  std::string module;        // empty: none
  std::uint64_t offset = 0;  // in the module's file; 0: unknown
  bool is_lossy = false;
};

struct Frame {
  std::uint32_t place = 0;  // an index into Snapshot::places
  unwind::FoundBy found_by{};
};

// The stack of a thread or fiber. Many fibers share one.
struct Stack {
  std::vector<Frame> frames;          // the innermost first
  std::uint64_t left_out = 0;         // frames left out in the middle of a very deep stack
  std::uint32_t left_out_behind = 0;  // the number of `frames` before that gap
  unwind::StackEnd end{};             // Outermost
};

struct Thread {
  pid_t tid = 0;
  std::string name;
  char state = '?';
  std::optional<std::uint32_t> stack{};  // an index into Snapshot::stacks; nothing: unknown
  bool is_lossy = false;
  ThreadWait wait{};
  std::string function{};                // the program's function around it: "work (work.c:12)"
  std::optional<std::size_t> fiber{};    // the fiber on it: an index into Snapshot::fibers
  bool is_idle = false;                  // that fiber waits, and the thread looks for another one
  std::optional<std::size_t> finding{};  // the finding about it: an index into Header::findings
};

struct Fiber {
  std::uint64_t address = 0;
  std::string name;
  std::optional<std::uint32_t> stack{};  // as for a thread; nothing if the fiber runs on a thread
  bool is_lossy = false;
  FiberWait wait{};                      // its kind is Unknown if there is no information
  std::string function{};                // as for a thread
  std::string context{};                 // its execution context; empty: unknown
  bool is_of_runtime = false;            // every Crystal program has this fiber
  std::optional<std::size_t> thread{};   // its present thread: an index into Snapshot::threads
  std::string of_thread{};               // the thread whose own fiber it is: "4711 SYSMON"
  std::optional<std::size_t> finding{};  // as for a thread
};

// The bytes of reachable objects, by the evidence for their types.
struct TypedBytes {
  std::uint64_t header = 0;
  std::uint64_t vtable = 0;
  std::uint64_t referrer = 0;
  std::uint64_t unknown = 0;
};

// Objects that were scanned as if every word were a pointer, because they have a mark procedure of
// the program's own or their descriptor could not be read. Objects referenced only by them may be
// dead for the collector.
struct MarkedConservatively {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};

struct Header {
  std::string tool;
  pid_t pid = 0;
  std::string host;
  std::string exe;
  std::string build_id;
  Attributes resource;   // what the process publishes about itself: "service.name", …
  std::string started;   // RFC 3339, UTC
  std::string captured;  // RFC 3339, UTC, milliseconds
  std::string source;    // "freeze", "read", "clone", "routine", "core"
  std::optional<double> pause_ms;
  std::optional<TypedBytes> typed;
  std::optional<MarkedConservatively> marked_conservatively;  // nothing: there are no such objects
  std::string runtime;   // "crystal", "c++", "c"; empty if unknown
  std::string redacted;  // "full" if names are placeholders; empty if they are the target's own
  // What the stacks show: certain faults, the worst first, and remarks, which may be about
  // something normal.
  std::vector<std::string> findings;
  std::vector<std::string> remarks;
  bool live_only = true;
  bool is_lossy = false;
};

struct Snapshot {
  Header header;
  std::vector<Heap> heaps;  // the first is the process's own; empty: nothing is known about it
  std::vector<Type> types;
  std::vector<Thread> threads;
  std::vector<Fiber> fibers;
  std::vector<Place> places;
  std::vector<Stack> stacks;
  std::vector<Root> roots;
  std::vector<std::uint64_t> sizes;     // size class -> bytes
  FlatArray<Object> objects;            // sorted by address
  std::vector<Alike> alike;             // filled instead of `objects` if only counts were requested
  FlatArray<std::uint64_t> first_edge;  // objects.size() + 1 entries, or empty: no edges kept
  FlatArray<Edge> edges;                // grouped by object, in offset order if offsets are known

  std::vector<ValuePiece> values;  // by object; empty: not stored
  // The bytes of the objects; null unless requested. Copies of a snapshot share it.
  std::shared_ptr<const MemoryReader> contents;

  bool complete = true;
  std::string reason;         // why it is partial
  std::uint64_t skipped = 0;  // blocks or objects that could not be read

  [[nodiscard]] std::uint64_t bytes_of(const Object& object) const {
    return sizes[object.size_class];
  }
  [[nodiscard]] const heap::Kind& kind_of(const Object& object) const {
    return object.heap < heaps.size() ? heaps[object.heap].kind() : heap_kind();
  }
  // The edges of the object with this index; empty if no edges are kept.
  [[nodiscard]] std::span<const Edge> edges_of(std::size_t object) const {
    if (first_edge.empty()) return {};
    return {edges.data() + first_edge[object], first_edge[object + 1] - first_edge[object]};
  }
  // Calls visit(object, count) for all objects, one by one or together with those that are alike.
  template <class Visit>
  void for_each_alike(const Visit& visit) const {
    for (const Alike& group : alike) visit(group.object, group.count);
    for (const Object& object : objects) visit(object, std::uint64_t{1});
  }
};

}  // namespace heapattach::snapshot
