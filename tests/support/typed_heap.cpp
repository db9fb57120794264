#include "tests/support/typed_heap.h"

#include <stdexcept>

#include "report/collect/join.h"
#include "report/collect/join_values.h"
#include "report/model/json_keys.h"
#include "report/typing/naming.h"
#include "report/typing/typing.h"

namespace heapattach {

TypedHeap::TypedHeap(std::uint64_t pages) : fake(pages) {
  fake.add_memory(kData, 4096);
}

TypedHeap::~TypedHeap() = default;

void TypedHeap::add_class(std::uint32_t id,
                          const std::string& name,
                          std::uint64_t bytes,
                          bool is_atomic) {
  crystal::Type type;
  type.id = id;
  type.name = name;
  type.instance_bytes = bytes;
  type.is_atomic = is_atomic;
  type.known_from = {crystal::KnownFrom::AllocationSite};
  classes.add(type);
}

RemoteAddr TypedHeap::object(std::uint64_t bytes, std::uint8_t kind) {
  for (Room& room : rooms_) {
    if (room.bytes == bytes && room.kind == kind && room.next + bytes <= room.end) {
      room.next = room.next + bytes;
      objects_.push_back(room.next - bytes);
      return objects_.back();
    }
  }
  const RemoteAddr at = fake.add_block({.object_bytes = bytes, .kind = kind});
  if (bytes <= FakeGcHeap::kBlockBytes / 2) {
    rooms_.push_back({bytes, kind, at + bytes, at + FakeGcHeap::kBlockBytes});
  }
  objects_.push_back(at);
  return at;
}

RemoteAddr TypedHeap::instance(std::uint32_t id, std::uint64_t bytes, std::uint8_t kind) {
  const RemoteAddr at = object(bytes, kind);
  fake.put(at, std::uint64_t{id});
  return at;
}

void TypedHeap::global(const std::string& name,
                       types::TypeRef type,
                       std::uint64_t offset,
                       RemoteAddr word) {
  fake.put(kData + offset, word);
  types::Variable variable;
  variable.name = name;
  variable.type = type;
  variable.address = kData + offset;
  build.model.globals.push_back(variable);
}

void TypedHeap::join() {
  captured.emplace(fake, std::vector<Range>{{kData, 4096}});
  const heap::Heap& heap = captured->heap();
  heap::ObjectSet listed(heap);
  for (const RemoteAddr at : objects_) {
    const auto ref = heap.object_at(at.value);
    if (!ref) throw std::out_of_range("an object is not in the heap");
    listed.insert(heap.number(*ref));
  }
  const cxx::VtableNames vtables(symbols);
  const snapshot::Naming naming(classes, vtables, code);
  snapshot::TypeRows rows(naming, build.model);
  const snapshot::ObjectOrder order(heap, listed);
  const MemoryMap map = fake.map();
  if (namer) {
    rows.add_named(
        namer(runtimes::HeapView(heap, listed, map, captured->capture(), fake.memory())));
  }
  const snapshot::Typing typing(heap, order, captured->capture(), rows, build.model.globals);
  conflicts = typing.conflicts();
  snapshot = {};
  snapshot::join_objects({heap, order, rows, typing}, listed, snapshot);
  snapshot::join_edges({heap, order, rows, typing}, snapshot);
  if (values != 0) snapshot::join_values({heap, order, rows, typing}, values, snapshot);
}

std::size_t TypedHeap::index_of(RemoteAddr at) const {
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (snapshot.objects[i].address == at.value) return i;
  }
  throw std::out_of_range("no such object");
}

const snapshot::Type& TypedHeap::row_at(RemoteAddr at) const {
  return snapshot.types[snapshot.objects[index_of(at)].type];
}

std::string TypedHeap::type_at(RemoteAddr at) const {
  return row_at(at).name;
}

std::string TypedHeap::keys_at(RemoteAddr at) const {
  const std::size_t index = index_of(at);
  const JsonKeys keys(row_at(at));
  JsonKeys::Cursor cursor(keys);
  std::string text;
  for (auto e = snapshot.first_edge[index]; e < snapshot.first_edge[index + 1]; ++e) {
    std::vector<char> room(keys.longest() + 8);
    const char* end = cursor.put(room.data(), std::uint64_t{snapshot.edges[e].offset_words} * 8);
    text +=
        (text.empty() ? "" : " ") + std::string(static_cast<const char*>(room.data()) + 1, end - 2);
  }
  return text;
}

}  // namespace heapattach
