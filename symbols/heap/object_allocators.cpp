#include "symbols/heap/object_allocators.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include <fmt/format.h>

namespace heapattach::heap {

namespace {

constexpr std::array kAllocators{
    ObjectAllocator{"CPython",
                    {},
                    "PyObject_Malloc",
                    "CPython keeps small objects in arenas of its own, which are anonymous memory",
                    "PYTHONMALLOC=malloc, which puts them into malloc's heap, or tracemalloc"},
    ObjectAllocator{"V8",
                    "node",
                    {},
                    "V8 keeps JavaScript's objects in a heap of its own, which is anonymous memory",
                    "node --heapsnapshot-signal=SIGUSR2, and Chrome's DevTools"},
    ObjectAllocator{"V8",
                    {},
                    "_ZN2v87Isolate10InitializeEPS0_RKNS0_12CreateParamsE",
                    "V8 keeps JavaScript's objects in a heap of its own, which is anonymous memory",
                    "a heap snapshot for Chrome's DevTools"},
    ObjectAllocator{"the JVM",
                    "libjvm.so",
                    {},
                    "the JVM keeps Java's objects in a heap of its own, which is anonymous memory",
                    "jcmd PID GC.class_histogram, or jcmd PID GC.heap_dump FILE"},
    ObjectAllocator{
        "PHP",
        {},
        "_zend_mm_alloc",
        "PHP keeps its values in chunks of 2 MiB of its own, which are anonymous memory",
        "USE_ZEND_ALLOC=0, which puts them into malloc's heap"},
    ObjectAllocator{"memcached",
                    "memcached",
                    {},
                    "memcached divides large allocations of malloc into slabs, whose items are not "
                    "counted one by one",
                    "memcached's commands `stats slabs` and `stats items`"},
    ObjectAllocator{"Go",
                    {},
                    "runtime.mallocgc",
                    "Go keeps its objects in a heap of its own, which is anonymous memory",
                    "its own profiler, go tool pprof"},
    ObjectAllocator{".NET",
                    "libcoreclr.so",
                    {},
                    ".NET keeps its objects in a heap of its own, which is anonymous memory",
                    "dotnet-gcdump collect -p PID"},
    ObjectAllocator{"Mono",
                    "mono-sgen",
                    {},
                    "Mono with sgen keeps its objects in a heap of its own, which is anonymous "
                    "memory",
                    "mono-boehm, whose objects heapattach reads"},
    ObjectAllocator{"Mono",
                    "libmonosgen-2.0.so",
                    {},
                    "Mono with sgen keeps its objects in a heap of its own, which is anonymous "
                    "memory",
                    "Mono with the Boehm collector, whose objects heapattach reads"},
    ObjectAllocator{
        "Nim",
        {},
        "rawAlloc__system_",
        "Nim keeps its objects in an allocator of its own (as with --mm:orc), which is anonymous "
        "memory",
        "--mm:boehm, whose objects heapattach reads, or -d:useMalloc, which puts them into "
        "malloc's heap"},
    ObjectAllocator{"Erlang",
                    "beam",
                    {},
                    "Erlang keeps its terms in carriers of its own, which are anonymous memory",
                    "its own recon_alloc, or erlang:memory()"},
};

// Nim's programs without symbols.
constexpr ObjectAllocator kStrippedNim{
    "Nim",
    {},
    {},
    "the program's error messages are Nim's, and Nim keeps its objects in an allocator of its own "
    "(as "
    "with --mm:orc), which is anonymous memory",
    "--mm:boehm, whose objects heapattach reads, or -d:useMalloc, which puts them into malloc's "
    "heap"};
constexpr ObjectAllocator kPerhapsNim{
    "Nim",
    {},
    {},
    "the program is in Nim by its error messages, and unless it was compiled with -d:useMalloc, "
    "Nim "
    "keeps its objects in an allocator of its own, which is anonymous memory",
    "--mm:boehm, whose objects heapattach reads, or -d:useMalloc, which puts them into malloc's "
    "heap"};

// Whether the file's constants contain `text`.
bool contains(const Module& module, std::string_view text) {
  const auto wanted = std::as_bytes(std::span(text));
  const std::boyer_moore_horspool_searcher searcher(wanted.begin(), wanted.end());
  return std::any_of(module.segments().begin(), module.segments().end(),
                     [&](const Segment& segment) {
                       const auto bytes = module.file_bytes(segment.range.start);
                       return !segment.writable &&
                              std::search(bytes.begin(), bytes.end(), searcher) != bytes.end();
                     });
}

// Whether a dynamic program calls a library's function of that name: the names are listed together,
// each with a zero after it.
bool calls(const Module& module, std::string_view function) {
  return contains(module, fmt::format("{0}{1}{0}", '\0', function));
}

// Nim without symbols: its handler of signals has a message like no other program's. Only Nim's own
// allocator unmaps memory, but the program may contain code in C that calls malloc, or be static
// and contain everything.
const ObjectAllocator* find_stripped_nim(const Module& program) {
  if (!contains(program, "SIGSEGV: Illegal storage access. (Attempt to read from nil?)")) {
    return nullptr;
  }
  if (!calls(program, "__libc_start_main")) return &kPerhapsNim;
  if (!calls(program, "munmap")) return nullptr;
  const bool calls_malloc = calls(program, "malloc") || calls(program, "calloc");
  return calls_malloc ? &kPerhapsNim : &kStrippedNim;
}

bool has(const Module& module, const ObjectAllocator& allocator) {
  if (!module.name().starts_with(allocator.file)) return false;
  if (allocator.symbol.ends_with('_')) return !module.symbols_with_prefix(allocator.symbol).empty();
  return allocator.symbol.empty() || module.find_symbol(allocator.symbol).has_value();
}

}  // namespace

const ObjectAllocator* find_object_allocator(const Modules& modules) {
  for (const Module& module : modules.all()) {
    for (const ObjectAllocator& allocator : kAllocators) {
      if (has(module, allocator)) return &allocator;
    }
  }
  const Module* const program = modules.main_program();
  return program != nullptr ? find_stripped_nim(*program) : nullptr;
}

}  // namespace heapattach::heap
