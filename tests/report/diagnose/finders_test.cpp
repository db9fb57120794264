// Tests the finders one by one: what each reports, and a healthy case that it must not report.

#include "report/diagnose/finders.h"

#include <doctest/doctest.h>

#include "symbols/boehm/source.h"

namespace heapattach::diagnose {

namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

std::vector<Finding> found_by(Finder find, const Evidence& evidence) {
  std::vector<Finding> found;
  find(evidence, found);
  return found;
}

std::string sentence_by(Finder find, const Evidence& evidence) {
  const auto found = found_by(find, evidence);
  return found.empty() ? "" : found.front().sentence;
}

Evidence live() {
  Evidence evidence;
  evidence.pid = 4711;
  evidence.source = "4711";
  evidence.is_live = true;
  return evidence;
}

Evidence with_leak(std::uint64_t leaks, std::uint64_t bytes) {
  Evidence evidence = live();
  evidence.leaks =
      LeaksSeen{.rows = {{.type = "(48 bytes)", .leaks = leaks, .objects = leaks, .bytes = bytes}},
                .leaks = leaks,
                .objects = leaks,
                .bytes = bytes};
  return evidence;
}

Evidence with_busy_thread() {
  Evidence evidence = live();
  stacks::StackReport report;
  report.threads.resize(1);
  report.threads[0].tid = 4711;
  report.threads[0].is_busy = true;
  report.threads[0].function = "spin (spin.c:9)";
  evidence.stacks = report;
  return evidence;
}

snapshot::HeapAccount malloc_heap(std::uint64_t heap, std::uint64_t free_in_bins) {
  snapshot::HeapAccount account;
  account.kind = &heap_kind("malloc");
  account.heap = heap;
  account.free = free_in_bins;
  account.live = heap - free_in_bins;
  account.facts = {{"arenas", "", 1}, {"fragmented_bytes", "", free_in_bins}};
  return account;
}

Evidence with_memory(snapshot::MemoryUse use, std::uint64_t bytes, std::uint64_t heap) {
  Evidence evidence = live();
  evidence.heaps = {malloc_heap(heap, 0)};
  snapshot::MemoryAccount memory;
  memory.by_use[static_cast<std::size_t>(snapshot::MemoryUse::Malloc)].resident_bytes = heap;
  memory.by_use[static_cast<std::size_t>(use)].resident_bytes += bytes;
  memory.total.resident_bytes = heap + bytes;
  evidence.memory = memory;
  return evidence;
}

}  // namespace

TEST_CASE("a deadlock is a fault, with those that are part of it") {
  Evidence evidence = live();
  CHECK(found_by(find_deadlock, evidence).empty());
  evidence.stacks = stacks::StackReport{};
  CHECK(found_by(find_deadlock, evidence).empty());
  evidence.stacks->threads.resize(2);
  evidence.stacks->threads[0].tid = 10;
  evidence.stacks->threads[0].function = "transfer (bank.c:40)";
  evidence.stacks->threads[0].wait.call = "futex(…)";
  evidence.stacks->threads[0].finding = 1;
  evidence.stacks->findings =
      stacks::statements_of({"busy: thread 11", "deadlock: thread 10 waits for itself"});
  const auto found = found_by(find_deadlock, evidence);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::Fault);
  CHECK(found[0].sentence == "deadlock: thread 10 waits for itself");
  CHECK(found[0].evidence ==
        std::vector<std::string>{"thread 10 in transfer (bank.c:40): futex(…)"});
  CHECK(found[0].next == "stacks 4711");
}

TEST_CASE("a deadlock's evidence does not repeat its sentence") {
  Evidence evidence = live();
  evidence.stacks = stacks::StackReport{};
  evidence.stacks->threads.resize(2);
  for (auto& thread : evidence.stacks->threads) {
    thread.tid = 10;
    thread.function = "transfer (bank.c:40)";
    thread.wait.call = "futex(…)";
    thread.finding = 0;
  }
  evidence.stacks->findings =
      stacks::statements_of({"deadlock: thread 10 in transfer (bank.c:40) waits for accounts"});
  const auto found = found_by(find_deadlock, evidence);
  REQUIRE(found.size() == 1);
  CHECK(found[0].evidence.empty());
}

TEST_CASE("a lock whose owner has ended is a fault") {
  Evidence evidence = live();
  evidence.stacks = stacks::StackReport{};
  evidence.stacks->threads.resize(1);
  evidence.stacks->threads[0].tid = 10;
  CHECK(found_by(find_lost_owner, evidence).empty());
  evidence.stacks->threads[0].gone_owner = 12;
  CHECK(sentence_by(find_lost_owner, evidence) ==
        "hung: thread 10 waits for a mutex, which thread 12 locked, and that thread has ended");
  SUBCASE("the threads that wait for one lock are one finding") {
    evidence.stacks->threads.resize(300, evidence.stacks->threads[0]);
    evidence.stacks->threads[299].function = "audit";
    const auto found = found_by(find_lost_owner, evidence);
    REQUIRE(found.size() == 1);
    CHECK(found[0].sentence ==
          "hung: 300 threads wait for a mutex, which thread 12 locked, and that thread has ended");
    CHECK(found[0].evidence == std::vector<std::string>{"299 threads", "thread 10 in audit"});
  }
  SUBCASE("the owner is a thread of the parent") {
    evidence.facts = ProcessFacts{};
    evidence.facts->parent = 11;
    evidence.facts->threads_of_parent = {11, 12};
    CHECK(sentence_by(find_lost_owner, evidence) ==
          "hung: thread 10 waits for a mutex, which thread 12 locked, a thread of the parent, "
          "process 11: the lock was held when the process was forked, and nobody in the child can "
          "unlock it");
  }
  SUBCASE("that everyone waits is not another finding") {
    evidence.stacks->caught_signals = 0;
    evidence.stacks->threads[0].needs_another_thread = true;
    CHECK(found_by(find_all_waiting, evidence).empty());
  }
}

TEST_CASE("threads that all wait for another thread are hung, unless a signal can wake them") {
  Evidence evidence = live();
  evidence.stacks = stacks::StackReport{};
  CHECK(found_by(find_all_waiting, evidence).empty());
  evidence.stacks->threads.resize(2);
  evidence.stacks->caught_signals = 0;
  evidence.stacks->threads[0].needs_another_thread = true;
  CHECK(found_by(find_all_waiting, evidence).empty());
  evidence.stacks->threads[1].needs_another_thread = true;
  CHECK(sentence_by(find_all_waiting, evidence) ==
        "hung: all 2 threads wait for another thread of the process, without a time limit, and "
        "nobody is left to wake them");
  evidence.stacks->caught_signals = 2;
  CHECK(found_by(find_all_waiting, evidence).empty());
}

TEST_CASE("a process that a signal has stopped is called stopped") {
  Evidence evidence = live();
  evidence.stacks = stacks::StackReport{};
  evidence.stacks->threads.resize(2);
  evidence.stacks->threads[0].state = 'T';
  CHECK(judge(evidence).kind == "healthy");
  evidence.stacks->threads[1].state = 'T';
  const Verdict verdict = judge(evidence);
  CHECK(verdict.kind == "stopped");
  CHECK_FALSE(verdict.is_fault);
}

TEST_CASE("a process in a frozen control group is called stopped") {
  Evidence evidence = live();
  evidence.facts.emplace().frozen_group = "/sys/fs/cgroup/shop";
  CHECK(sentence_by(find_stopped, evidence)
            .starts_with("stopped: the control group /sys/fs/cgroup/shop is frozen"));
  evidence.is_live = false;
  CHECK(found_by(find_stopped, evidence).empty());
}

TEST_CASE("a busy thread is no fault: it may work") {
  const auto found = found_by(find_busy, with_busy_thread());
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::Unusual);
  CHECK(found[0].sentence ==
        "busy: thread 4711 never gave up its processor, in spin (spin.c:9); this is work, or a "
        "loop that does not end");
}

TEST_CASE("busy threads in one place are one finding") {
  Evidence evidence = with_busy_thread();
  evidence.stacks->threads.resize(20, evidence.stacks->threads[0]);
  evidence.stacks->threads[19].function = "other (spin.c:12)";
  const auto found = found_by(find_busy, evidence);
  REQUIRE(found.size() == 2);
  CHECK(found[0].sentence ==
        "busy: 19 threads never gave up their processors, in spin (spin.c:9); this is work, or "
        "loops that do not end");
  CHECK(found[0].evidence.at(0) == "for instance thread 4711:");
}

TEST_CASE("a busy thread is a fault if fibers could run, and no thread looks for one") {
  Evidence evidence = with_busy_thread();
  stacks::StackReport& report = *evidence.stacks;
  report.threads[0].fiber = 0;
  report.fibers.resize(2);
  report.fibers[0].name = "main";
  report.fibers[0].thread = 0;
  SUBCASE("one is ready") {
    report.fibers[1].wait.kind = stacks::WaitKind::Ready;
    CHECK(found_by(find_busy, evidence).at(0).severity == Severity::Fault);
    CHECK(found_by(find_busy, evidence).at(0).sentence ==
          "busy: fiber \"main\", on thread 4711 never gave up its processor, in spin (spin.c:9); 1 "
          "fiber could run meanwhile, but not on that thread");
  }
  SUBCASE("another thread looks for it") {
    report.fibers[1].wait.kind = stacks::WaitKind::Ready;
    report.threads.resize(2);
    report.threads[1].is_idle = true;
    CHECK(found_by(find_busy, evidence).at(0).severity == Severity::Unusual);
  }
  SUBCASE("all of them wait for something") {
    report.fibers[1].wait.kind = stacks::WaitKind::Receive;
    CHECK(found_by(find_busy, evidence).at(0).severity == Severity::Unusual);
  }
}

TEST_CASE("threads that merely wait for a lock are a remark") {
  Evidence evidence = live();
  evidence.stacks = stacks::StackReport{};
  evidence.stacks->remarks = {
      {stacks::StatementKind::Waiting, "3 threads wait for a lock that thread 9 holds"},
      {stacks::StatementKind::LostLock, "thread 8 waits for a mutex, which thread 7 locked"}};
  const auto found = found_by(find_held_up, evidence);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::Remark);
}

TEST_CASE("a leak repeats, or it is large; a handful is none") {
  CHECK(sentence_by(find_leaking, with_leak(3759, 3759 * 48)) ==
        "leaking: 3759 objects of 48 bytes, 176.2 KiB, to which no reference was found");
  CHECK(sentence_by(find_leaking, with_leak(1, 2 * kMiB)).starts_with("leaking: 1 object of 48"));
  CHECK(found_by(find_leaking, with_leak(99, 99 * 4096)).empty());
  CHECK(found_by(find_leaking, with_leak(200, 200 * 16)).empty());
  CHECK(found_by(find_leaking, live()).empty());
  CHECK(found_by(find_leaking, with_leak(3759, 3759 * 48)).at(0).next == "leaks --confirm 2s 4711");
  Evidence saved = with_leak(3759, 3759 * 48);
  CHECK(found_by(find_leaking, saved).at(0).severity == Severity::Fault);
  saved.is_live = false;
  CHECK(found_by(find_leaking, saved).at(0).severity == Severity::Unusual);
}

TEST_CASE("growth counts from a mebibyte and a tenth") {
  Evidence evidence = live();
  const auto grow = [&](std::uint64_t before, std::uint64_t after) {
    evidence.growth = GrowthSeen{.baseline = "a.jsonl",
                                 .captured = "2026-11-20T11:34:07.215Z",
                                 .before = {10, before},
                                 .after = {20, after},
                                 .types = {{"Session", 10, after - before, "global STORE → @h"}},
                                 .remarks = {}};
    return sentence_by(find_growing, evidence);
  };
  CHECK(grow(2 * kMiB, 4 * kMiB) ==
        "growing: the live objects have grown from 2.0 MiB to 4.0 MiB since "
        "2026-11-20T11:34:07.215Z: 10 new Session, held by global STORE → @h");
  CHECK(grow(100, kMiB).empty());
  CHECK(grow(100 * kMiB, 105 * kMiB).empty());
  CHECK(grow(4 * kMiB, 2 * kMiB).empty());
}

TEST_CASE("a heap is fragmented if half of it is free between allocations, and resident") {
  Evidence evidence = live();
  evidence.heaps = {malloc_heap(100 * kMiB, 80 * kMiB)};
  CHECK(sentence_by(find_fragmented, evidence) ==
        "fragmented: 80.0 MiB of the 100.0 MiB in malloc's heap are free, but share their pages "
        "with allocations; malloc_trim(0) would return none of them to the system");
  SUBCASE("malloc keeps whole pages") {
    evidence.heaps[0].facts.push_back({"free_page_bytes", "", 70 * kMiB});
    const auto found = found_by(find_fragmented, evidence);
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == "untrimmed");
    CHECK(found[0].severity == Severity::Unusual);
    CHECK(found[0].sentence ==
          "free but kept: 80.0 MiB of the 100.0 MiB in malloc's heap are free; malloc_trim(0) "
          "would return about 70.0 MiB of them to the system");
  }
  SUBCASE("musl's malloc has no arenas, and no malloc_trim()") {
    evidence.heaps[0].facts = {{"fragmented_bytes", "", 80 * kMiB}};
    const auto found = found_by(find_fragmented, evidence);
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == "fragmented");
    CHECK(found[0].sentence ==
          "fragmented: 80.0 MiB of the 100.0 MiB in malloc's heap are free, between allocations "
          "in use");
    CHECK(found[0].evidence == std::vector<std::string>{"in use: 20.0 MiB"});
  }
  SUBCASE("a file does not show what is resident") {
    evidence.is_live = false;
    CHECK(found_by(find_fragmented, evidence).empty());
  }
  SUBCASE("its pages were given back") {
    evidence.memory = snapshot::MemoryAccount{};
    evidence.memory->total.resident_bytes = 45 * kMiB;
    CHECK(found_by(find_fragmented, evidence).empty());
  }
  SUBCASE("it is small") {
    evidence.heaps = {malloc_heap(10 * kMiB, 8 * kMiB)};
    CHECK(found_by(find_fragmented, evidence).empty());
  }
  SUBCASE("most of it is in use") {
    evidence.heaps = {malloc_heap(100 * kMiB, 40 * kMiB)};
    CHECK(found_by(find_fragmented, evidence).empty());
  }
}

TEST_CASE("memory outside the heap is named by its kind and its largest file") {
  using snapshot::MemoryUse;
  Evidence evidence = with_memory(MemoryUse::Files, 300 * kMiB, 10 * kMiB);
  evidence.files = {{"/srv/data.mdb", 290 * kMiB}};
  CHECK(sentence_by(find_outside, evidence) ==
        "memory is outside the heap: 300.0 MiB of 310.0 MiB resident, 300.0 MiB of it in mapped "
        "files, most of /srv/data.mdb");
  CHECK(sentence_by(find_outside, with_memory(MemoryUse::Other, 300 * kMiB, 10 * kMiB))
            .ends_with("300.0 MiB of it in anonymous memory that no known heap has"));
  CHECK(found_by(find_outside, with_memory(MemoryUse::Files, 300 * kMiB, 200 * kMiB)).empty());
  CHECK(found_by(find_outside, with_memory(MemoryUse::Files, 20 * kMiB, kMiB)).empty());
}

TEST_CASE("malloc's heap beside a collector's is a remark if most of the memory is there") {
  using snapshot::MemoryUse;
  Evidence evidence = with_memory(MemoryUse::Malloc, 30 * kMiB, 5 * kMiB);
  REQUIRE(evidence.heaps.size() == 1);
  evidence.heaps.front().kind = &boehm::kHeapKind;
  evidence.heaps.front().has_totals = true;
  const auto found = found_by(find_outside, evidence);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::Remark);
  CHECK(found[0].sentence ==
        "memory is outside the heap: 30.0 MiB of 35.0 MiB resident, 30.0 MiB of it in malloc's "
        "heap, which was not read");
  CHECK(found[0].next == "diagnose --heap both 4711");
  SUBCASE("not if it is small") {
    evidence = with_memory(MemoryUse::Malloc, 10 * kMiB, 5 * kMiB);
    evidence.heaps.front().kind = &boehm::kHeapKind;
    CHECK(found_by(find_outside, evidence).empty());
  }
  SUBCASE("not in a file") {
    evidence.is_live = false;
    CHECK(found_by(find_outside, evidence).empty());
  }
}

TEST_CASE("many files of one folder are named by it, and a small library is not") {
  using snapshot::MemoryUse;
  Evidence evidence = with_memory(MemoryUse::Files, 300 * kMiB, 10 * kMiB);
  evidence.files = {{"/lib/libc.so.6", 2 * kMiB}};
  CHECK(sentence_by(find_outside, evidence).ends_with("in mapped files"));
  evidence.folders = {{"/srv/data", 290 * kMiB, 400}, {"/lib", 2 * kMiB, 3}};
  CHECK(sentence_by(find_outside, evidence).ends_with("files, most of 400 files in /srv/data/"));
}

TEST_CASE("large variables, shared memory and memory of sbrk() have their own words") {
  using snapshot::MemoryUse;
  Evidence evidence = with_memory(MemoryUse::Other, 300 * kMiB, 10 * kMiB);
  evidence.variable_bytes = 290 * kMiB;
  CHECK(sentence_by(find_outside, evidence)
            .ends_with("290.0 MiB of it in variables of the program and its libraries (.bss)"));
  evidence = with_memory(MemoryUse::Files, 300 * kMiB, 10 * kMiB);
  evidence.shared_bytes = 280 * kMiB;
  evidence.shared = {{"/memfd:cache", 280 * kMiB}};
  CHECK(sentence_by(find_outside, evidence)
            .ends_with("280.0 MiB of it in shared memory, most of /memfd:cache"));
  evidence = with_memory(MemoryUse::Malloc, 300 * kMiB, 10 * kMiB);
  CHECK(sentence_by(find_outside, evidence)
            .ends_with("300.0 MiB of it below the program break (sbrk), and not malloc's"));
}

TEST_CASE("without a heap, anonymous memory is a remark, and mapped files are unusual") {
  using snapshot::MemoryUse;
  Evidence evidence = with_memory(MemoryUse::Other, 300 * kMiB, 0);
  evidence.heaps.clear();
  const auto found = found_by(find_outside, evidence);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::Remark);
  CHECK(found[0].sentence ==
        "most of the memory: 300.0 MiB of 300.0 MiB resident are in anonymous memory that no known "
        "heap has");
  CHECK(found[0].next == "summary 4711");
  evidence.objects = 10;  // objects of Ruby, which are in that memory
  CHECK(found_by(find_outside, evidence).empty());
  evidence = with_memory(MemoryUse::Files, 300 * kMiB, 0);
  evidence.heaps.clear();
  CHECK(found_by(find_outside, evidence).at(0).severity == Severity::Unusual);
}

TEST_CASE("malloc's further arenas and mapped allocations are its heap") {
  using snapshot::MemoryUse;
  Evidence evidence = with_memory(MemoryUse::Other, 300 * kMiB, 10 * kMiB);
  evidence.heaps = {malloc_heap(305 * kMiB, 0)};
  CHECK(found_by(find_outside, evidence).empty());
}

TEST_CASE("limits are near their end from four fifths") {
  Evidence evidence = live();
  CHECK(found_by(find_limits, evidence).empty());
  evidence.facts = ProcessFacts{};
  evidence.facts->descriptors = LimitedUse{900, 1024};
  evidence.facts->open = {{"/tmp/log", 880}, {"socket", 20}};
  CHECK(sentence_by(find_limits, evidence) ==
        "near a limit: 900 of 1024 descriptors are open (RLIMIT_NOFILE), 880 of them /tmp/log");
  evidence.facts->descriptors = LimitedUse{800, 1024};
  evidence.facts->mappings = LimitedUse{65000, 65530};
  CHECK(sentence_by(find_limits, evidence) ==
        "near a limit: 65000 of 65530 memory mappings (vm.max_map_count)");
  evidence.facts->mappings = LimitedUse{65000, {}};
  evidence.facts->group_memory = LimitedUse{850 * kMiB, 1000 * kMiB};
  CHECK(found_by(find_limits, evidence).empty());
  evidence.facts->group_memory = LimitedUse{950 * kMiB, 1000 * kMiB};
  CHECK(sentence_by(find_limits, evidence) ==
        "near a limit: its control group uses 950.0 MiB of 1000.0 MiB, and at the limit the kernel "
        "kills");
}

TEST_CASE("memory and the first stack have limits, too") {
  Evidence evidence = live();
  evidence.facts = ProcessFacts{};
  evidence.facts->address_space = LimitedUse{240 * kMiB, 256 * kMiB};
  CHECK(sentence_by(find_limits, evidence) ==
        "near a limit: 240.0 MiB of 256.0 MiB of address space are mapped (RLIMIT_AS); beyond "
        "that, allocations fail");
  evidence.facts->address_space = LimitedUse{240 * kMiB, {}};
  evidence.facts->stack_limit = 8 * kMiB;
  evidence.stacks = stacks::StackReport{};
  evidence.stacks->threads.resize(2);
  evidence.stacks->threads[0].tid = 4711;
  evidence.stacks->threads[0].limited_stack_bytes = 6 * kMiB;
  CHECK(found_by(find_limits, evidence).empty());
  evidence.stacks->threads[0].limited_stack_bytes = 7 * kMiB;
  const auto found = found_by(find_limits, evidence);
  REQUIRE(found.size() == 1);
  CHECK(found[0].sentence ==
        "near a limit: 7.0 MiB of 8.0 MiB of stack are in use by thread 4711 (RLIMIT_STACK); "
        "beyond that, the kernel kills the process");
  CHECK(found[0].next == "stacks 4711");
  evidence.facts->stack_limit.reset();
  CHECK(found_by(find_limits, evidence).empty());
}

TEST_CASE("much swapped memory is unusual") {
  Evidence evidence = live();
  evidence.facts = ProcessFacts{};
  evidence.facts->resident_bytes = 100 * kMiB;
  evidence.facts->swapped_bytes = 20 * kMiB;
  CHECK(found_by(find_swapped, evidence).empty());
  evidence.facts->swapped_bytes = 100 * kMiB;
  CHECK(sentence_by(find_swapped, evidence) ==
        "swapped out: 100.0 MiB of the 200.0 MiB of its memory are on disk");
}

TEST_CASE("one file with hundreds of descriptors is unusual; sockets are not") {
  Evidence evidence = live();
  evidence.facts = ProcessFacts{};
  evidence.facts->descriptors = LimitedUse{500, 100000};
  evidence.facts->open = {{"socket", 500}};
  CHECK(found_by(find_open_files, evidence).empty());
  evidence.facts->open = {{"socket", 500}, {"/tmp/log", 300}};
  CHECK(sentence_by(find_open_files, evidence) ==
        "descriptors: 300 of 500 open ones are of one file, /tmp/log");
  evidence.facts->open = {{"/tmp/log", 100}};
  CHECK(found_by(find_open_files, evidence).empty());
}

TEST_CASE("a descriptor limit names the file that is open so often, and no second finding does") {
  Evidence evidence = live();
  evidence.facts = ProcessFacts{};
  evidence.facts->descriptors = LimitedUse{290, 300};
  evidence.facts->open = {{"/tmp/log", 280}};
  CHECK(found_by(find_open_files, evidence).empty());
  CHECK(found_by(find_limits, evidence).size() == 1);
}

TEST_CASE("many threads in one function are a remark, and very many are unusual") {
  Evidence evidence = live();
  evidence.stacks = stacks::StackReport{};
  auto& threads = evidence.stacks->threads;
  threads.resize(99);
  for (auto& thread : threads) thread.function = "serve (serve.c:9)";
  CHECK(found_by(find_many_threads, evidence).empty());
  threads.push_back({});
  const auto found = found_by(find_many_threads, evidence);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::Remark);
  CHECK(found[0].sentence == "many threads: 99 of 100 threads are in serve (serve.c:9)");
  for (int i = 0; i < 40; ++i) threads[static_cast<std::size_t>(i)].function = "other (o.c:1)";
  CHECK(found_by(find_many_threads, evidence).empty());
  threads.resize(600);
  for (auto& thread : threads) thread.function = "serve (serve.c:9)";
  REQUIRE(found_by(find_many_threads, evidence).size() == 1);
  CHECK(found_by(find_many_threads, evidence)[0].severity == Severity::Unusual);
  for (auto& thread : threads) thread.gone_owner = 4712;  // another finding explains them
  CHECK(found_by(find_many_threads, evidence).empty());
}

TEST_CASE("what keeps half of the heap is a remark") {
  Evidence evidence = live();
  evidence.holder = HolderSeen{.sentence = "one Cache keeps 3145728 bytes, 75 % of all live bytes",
                               .path = "global CACHE",
                               .retained_bytes = 3 * kMiB,
                               .live_bytes = 4 * kMiB,
                               .contents = {"20 objects, 2.0 MiB: Session"}};
  const auto found = found_by(find_holder, evidence);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::Remark);
  CHECK(found[0].sentence ==
        "most of the heap: one Cache keeps 3145728 bytes, 75 % of all live bytes; held by global "
        "CACHE");
  evidence.holder->live_bytes = 8 * kMiB;
  CHECK(found_by(find_holder, evidence).empty());
}

TEST_CASE("strings with one text are a remark from a mebibyte and a tenth") {
  Evidence evidence = live();
  evidence.repeated = RepeatedSeen{.type = "String",
                                   .copies = 200'000,
                                   .text_bytes = 40,
                                   .wasted_bytes = 12 * kMiB,
                                   .all_wasted_bytes = 14 * kMiB,
                                   .live_bytes = 100 * kMiB};
  const auto found = found_by(find_repeated, evidence);
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::Remark);
  CHECK(found[0].sentence ==
        "repeated strings: 14.0 MiB of the 100.0 MiB of live objects are copies of the same texts");
  CHECK(found[0].evidence ==
        std::vector<std::string>{"200000 String have one text of 40 bytes, and waste 12.0 MiB"});
  CHECK(found[0].next == "strings 4711");
  evidence.repeated->live_bytes = 200 * kMiB;
  CHECK(found_by(find_repeated, evidence).empty());
  evidence.repeated->live_bytes = 100 * kMiB;
  evidence.repeated->copies = 100;
  CHECK(found_by(find_repeated, evidence).empty());
}

}  // namespace heapattach::diagnose
