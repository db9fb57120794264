#include "report/format/read/join_dump.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "report/collect/join.h"
#include "report/collect/join_values.h"
#include "report/model/counts.h"
#include "report/typing/naming.h"
#include "report/typing/typing.h"
#include "symbols/boehm/heap.h"
#include "symbols/crystal/type_info.h"
#include "symbols/heap/heap.h"
#include "symbols/types/crystal_type_info.h"

namespace heapattach::read {

namespace {

Result<crystal::TypeTable> read_classes(const DumpOptions& options) {
  crystal::TypeTable classes;
  if (options.type_info.empty()) return classes;
  // A dump contains nothing of the program that would show which list belongs to it.
  std::vector<crystal::TypeList> lists =
      HA_TRY(crystal::read_type_info(options.type_info, options.deadline));
  for (crystal::Type& type : lists.back()) classes.add(std::move(type));
  return classes;
}

types::TypeModel model_of(const crystal::TypeTable& classes) {
  const auto& all = classes.types();
  const bool has_layouts =
      std::any_of(all.begin(), all.end(), [](const auto& type) { return !type.fields.empty(); });
  return has_layouts ? types::types_from_table(classes) : types::TypeModel();
}

void fill_header(const CollectorDump& dump, snapshot::Snapshot& snapshot) {
  snapshot.header.source = dump.has_contents ? "gcfull" : "gcgrph";
  snapshot.header.runtime = "crystal";
  if (!dump.is_cut) return;
  snapshot.complete = false;
  snapshot.reason = "the dump ends in the middle";
}

}  // namespace

Result<snapshot::Snapshot> join_dump(const CollectorDump& dump, const DumpOptions& options) {
  const crystal::TypeTable classes = HA_TRY(read_classes(options));
  const types::TypeModel model = model_of(classes);
  const cxx::VtableNames vtables{std::vector<Symbol>()};
  const snapshot::Naming naming(classes, vtables);
  snapshot::TypeRows rows(naming, model);

  const heap::Heap heap = boehm::make_heap(dump.index, dump.layout, *dump.contents);
  heap::ObjectSet listed(heap);
  for (const RemoteAddr at : dump.objects) {
    if (const auto ref = heap.object_at(at.value)) listed.insert(heap.number(*ref));
  }
  const snapshot::ObjectOrder order(heap, listed);
  const snapshot::Typing typing(heap, order, *dump.contents, rows, {});
  const snapshot::JoinSources sources{heap, order, rows, typing};
  snapshot::Snapshot snapshot;
  fill_header(dump, snapshot);
  snapshot::join_objects(sources, listed, snapshot);
  if (options.with_texts && dump.has_contents) {
    snapshot::join_texts(sources, std::string::npos, snapshot);
  }
  if (options.with_edges) {
    snapshot::join_edges(sources, snapshot);
    snapshot.header.typed = count_objects(snapshot).typed;
  }
  return snapshot;
}

}  // namespace heapattach::read
