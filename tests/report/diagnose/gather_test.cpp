#include "report/diagnose/gather.h"

#include <doctest/doctest.h>

#include "report/diagnose/verdict.h"
#include "tests/support/small_snapshot.h"

namespace heapattach::diagnose {

namespace {

// A thousand objects of malloc's heap that nothing references.
snapshot::Snapshot leaking() {
  SnapshotBuilder build;
  snapshot::Heap heap;
  heap.name = "malloc";
  heap.heap_bytes = 200'000;
  heap.free_bytes = 0;
  build.snapshot.heaps = {heap};
  build.snapshot.header.live_only = false;
  const auto type = build.type("Circle");
  build.object(0x1000, type, 48);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    build.object(0x1000 + i * 0x40, type, 48).is_reachable = 0;
  }
  snapshot::Root root;
  root.symbol = "CIRCLE";
  build.snapshot.roots = {root};
  return build.snapshot;
}

}  // namespace

TEST_CASE("the leaks of malloc's heap are evidence") {
  Evidence evidence;
  add_heap(leaking(), evidence);
  REQUIRE(evidence.leaks.has_value());
  CHECK(evidence.leaks->objects == 1000);
  CHECK(evidence.leaks->rows.at(0).type == "Circle");
  CHECK(evidence.heaps.at(0).unreachable == 48000);
  CHECK(evidence.not_examined.empty());
}

TEST_CASE("a heap of which nothing is reachable has leaked") {
  Evidence evidence;
  snapshot::Snapshot snapshot = leaking();
  snapshot.roots.clear();
  snapshot.objects[0].is_reachable = 0;
  add_heap(snapshot, evidence);
  REQUIRE(evidence.leaks.has_value());
  CHECK(evidence.leaks->objects == 1001);
}

TEST_CASE("leaks are not judged, with the reason, if that proves nothing") {
  Evidence evidence;
  snapshot::Snapshot snapshot = leaking();
  SUBCASE("addresses may be where nothing was searched") {
    snapshot.heaps[0].facts = {{heap::kUnsearchedShared, {}, 64 << 10},
                               {heap::kRequestQueues, {}, 2}};
    add_heap(snapshot, evidence);
    CHECK(evidence.not_examined.at(0) ==
          "leaks: references may be in what was not searched: 64.0 KiB of shared memory, requests "
          "of io_uring");
  }
  SUBCASE("the references were not taken") {
    snapshot.first_edge.clear();
    add_heap(snapshot, evidence);
    CHECK(evidence.not_examined.at(0) == "leaks: the snapshot was taken without references");
  }
  SUBCASE("a part of the heap is missing") {
    snapshot.complete = false;
    snapshot.reason = "cut";
    add_heap(snapshot, evidence);
    CHECK(evidence.is_partial);
    CHECK(evidence.not_examined.back() == "leaks: cut");
  }
  SUBCASE("the file has only what is reachable") {
    snapshot.header.live_only = true;
    add_heap(snapshot, evidence);
    CHECK(evidence.not_examined.size() == 1);
  }
  SUBCASE("the heap is a collector's") {
    snapshot.heaps[0].name = heap_kind().name;
    add_heap(snapshot, evidence);
    CHECK(evidence.not_examined.at(0) == "malloc's heap beside the collector's: --heap both");
  }
  CHECK_FALSE(evidence.leaks.has_value());
}

TEST_CASE("a diagnosis says that it does not know Guile's locks") {
  Evidence evidence;
  snapshot::Snapshot snapshot = leaking();
  snapshot.header.runtime = "guile";
  add_heap(snapshot, evidence);
  CHECK(evidence.not_examined == std::vector<std::string>{"locks of Guile"});
}

TEST_CASE("mapped files are added up, alone and by folder") {
  snapshot::SeenMemory seen;
  const auto map = [&](std::string path, std::uint64_t bytes) {
    snapshot::SeenMapping& one = seen.mappings.emplace_back();
    one.mapping.mapping.path = std::move(path);
    one.mapping.resident_bytes = bytes;
  };
  map("/srv/data/a", 4096);
  map("/srv/data/a", 4096);
  map("/srv/data/b", 4096);
  map("/lib/libc.so.6", 9000);
  Evidence evidence;
  add_memory(seen, evidence);
  CHECK(evidence.files.at(0).path == "/lib/libc.so.6");
  CHECK(evidence.files.at(1).resident_bytes == 8192);
  CHECK(evidence.folders.at(0).path == "/srv/data");
  CHECK(evidence.folders.at(0).files == 2);
  CHECK(evidence.folders.at(0).resident_bytes == 12288);
}

TEST_CASE("variables and shared memory are no files") {
  snapshot::SeenMemory seen;
  const auto map = [&](Mapping mapping, std::uint64_t bytes) {
    mapping.readable = mapping.writable = true;
    seen.mappings.emplace_back().mapping.mapping = std::move(mapping);
    seen.mappings.back().mapping.resident_bytes = bytes;
  };
  Mapping program;
  program.range = {RemoteAddr{0x1000}, 0x1000};
  program.path = "/srv/app";
  program.is_private = true;
  Mapping variables = program;
  variables.path.clear();
  variables.range.start = RemoteAddr{0x2000};
  Mapping elsewhere = variables;
  elsewhere.range.start = RemoteAddr{0x9000};
  Mapping cache = program;
  cache.range.start = RemoteAddr{0x20000};
  cache.path = "/memfd:cache";
  cache.is_private = false;
  map(program, 4096);
  map(variables, 3 * 4096);
  map(elsewhere, 5 * 4096);
  map(cache, 7 * 4096);
  Evidence evidence;
  add_memory(seen, evidence);
  CHECK(evidence.variable_bytes == 3 * 4096);
  CHECK(evidence.shared_bytes == 7 * 4096);
  CHECK(evidence.shared.at(0).path == "/memfd:cache");
  CHECK(evidence.files.size() == 1);
}

TEST_CASE("a file with only reachable objects of malloc's lacks the others") {
  Evidence evidence;
  snapshot::Snapshot snapshot = leaking();
  snapshot.header.live_only = true;
  add_heap(snapshot, evidence);
  CHECK(evidence.lacks_unreachable);
  evidence = {};
  snapshot.heaps[0].name = "bdwgc";
  add_heap(snapshot, evidence);
  CHECK_FALSE(evidence.lacks_unreachable);
}

TEST_CASE("a snapshot alone proves deadlocks, and no leaks") {
  snapshot::Snapshot snapshot = leaking();
  CHECK_FALSE(judge(proven_by(snapshot)).is_fault);
  snapshot.threads.resize(2);
  snapshot.header.findings = {"deadlock: two threads"};
  CHECK(judge(proven_by(snapshot)).is_fault);
  CHECK(judge(proven_by(snapshot)).sentence == "deadlock: two threads");
}

TEST_CASE("a process near a limit is a fault that a snapshot just taken proves") {
  snapshot::Snapshot snapshot = leaking();
  snapshot.header.findings.clear();
  ProcessFacts facts;
  facts.descriptors = LimitedUse{250, 256};
  CHECK(judge(proven_by(snapshot, facts)).sentence.starts_with("near a limit: 250 of 256"));
  facts.descriptors = LimitedUse{20, 256};
  CHECK_FALSE(judge(proven_by(snapshot, facts)).is_fault);
}

TEST_CASE("what a snapshot without unreachable objects cannot judge, it only counts") {
  snapshot::Snapshot snapshot = leaking();
  snapshot.heaps[0].heap_bytes = 20U << 20U;
  snapshot.heaps[0].leaked_bytes = 3U << 20U;
  CHECK(possibly_leaked(snapshot) == 3U << 20U);
  snapshot.heaps[0].leaked_bytes = 1U << 20U;
  CHECK_FALSE(possibly_leaked(snapshot));  // a twentieth of the heap
  snapshot.heaps[0].heap_bytes = 1000;
  snapshot.heaps[0].leaked_bytes = 500;
  CHECK_FALSE(possibly_leaked(snapshot));
  snapshot.heaps[0].leaked_bytes.reset();
  CHECK_FALSE(possibly_leaked(snapshot));
}

}  // namespace heapattach::diagnose
