// One JSON object on one line, version 1:
//
//   {"version":1,"pid":4711,"ok":true,"exe":"/srv/app","user":1000,"threads":12,
//    "thread_states":{"S":11,"R":1},"filtered_threads":0,"modules":33,"modules_with_symbols":31,
//    "collector":{"module":"libgc.so.1","version":"8.2.2","layout":"accessors","heap_bytes":N,
//    "free_bytes":N,"collections":17,"collecting":false},"runtime":"crystal","classes":174,
//    "types":812,"globals":95,"pause_ms":{"freeze":110,"clone":9},
//    "trace":{"ok":true,"entries":["GC_malloc_kind",…],"follows_ends":true,"notes":["…"]},
//    "obstacles":[{"way":"clone","reason":"…"}]}
//
// "free_bytes" is left out if only a copy of the heap shows it, as for Ruby's. Beside a collector,
// "malloc":true follows it if --heap both can read malloc's heap, too.
//
// A Ruby process has, from "collector" on,
//   "runtime":"ruby","ruby":{"version":"3.1.2","description":"ruby 3.1.2p20 (…)",
//    "module":"libruby-3.1.so.3.1.2","heap_bytes":N,"outside":true},"pause_ms":{…}
// where "outside" is whether its memory can be read from outside; if not, "reason" is why.
//
// `ok` is whether a snapshot in the chosen way (--snapshot) works. An obstacle to the way "any" is
// one to each. Without permission, or a heap, the keys from "modules" or "collector" on are left
// out, except the obstacles, which have the reason. "partial", after them, is why a snapshot would
// be partial, if that shows beforehand. `trace` is about --trace: if it is not ok, it has a
// `reason` and nothing else. If the collector counts what it allocates, it also has
// `bytes_per_second`, at present, and `cost`: the share of one processor that samples would take
// then.

#include <iterator>

#include <fmt/format.h>

#include "report/format/write/json_record.h"
#include "report/format/write/text_reports.h"
#include "report/text/json_text.h"

namespace heapattach {

namespace {

void append_heap(std::string& out, const snapshot::HeapFacts& heap) {
  out += ",\"collector\":{\"module\":";
  append_json_string(out, heap.module);
  out += ",\"version\":";
  append_json_string(out, heap.version);
  fmt::format_to(std::back_inserter(out), ",\"layout\":\"{}\",\"heap_bytes\":{}", heap.layout,
                 heap.heap_bytes);
  if (heap.free_bytes) {
    fmt::format_to(std::back_inserter(out), ",\"free_bytes\":{}", *heap.free_bytes);
  }
  if (heap.collections) {
    fmt::format_to(std::back_inserter(out), ",\"collections\":{}", *heap.collections);
  }
  std::string beside;
  for (const heap::Kind* kind : heap.beside) {
    beside += fmt::format(",\"{}\":true", kind->key);
  }
  fmt::format_to(
      std::back_inserter(out),
      ",\"collecting\":{}}}{},\"runtime\":\"{}\",\"classes\":{},\"types\":{},\"globals\":{},"
      "\"pause_ms\":{{\"freeze\":{},\"clone\":{}}}",
      heap.is_collecting, beside, heap.runtime, heap.classes, heap.types, heap.globals,
      heap.freeze.count(), heap.clone.count());
}

void append_ruby(std::string& out, const snapshot::RubyFacts& ruby) {
  out += ",\"runtime\":\"ruby\",\"ruby\":{\"version\":";
  append_json_string(out, ruby.version);
  out += ",\"description\":";
  append_json_string(out, ruby.description);
  out += ",\"module\":";
  append_json_string(out, ruby.module);
  if (ruby.heap_bytes) {
    fmt::format_to(std::back_inserter(out), ",\"heap_bytes\":{}", *ruby.heap_bytes);
  }
  fmt::format_to(std::back_inserter(out), ",\"outside\":{}", ruby.no_outside.empty());
  if (!ruby.no_outside.empty()) {
    out += ",\"reason\":";
    append_json_string(out, ruby.no_outside);
  }
  fmt::format_to(std::back_inserter(out), "}},\"pause_ms\":{{\"freeze\":{},\"clone\":{}}}",
                 ruby.freeze.count(), ruby.clone.count());
}

void append_texts(std::string& out, std::string_view key, const std::vector<std::string>& texts) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":[", key);
  for (const std::string& text : texts) {
    if (&text != &texts.front()) out += ',';
    append_json_string(out, text);
  }
  out += ']';
}

void append_trace(std::string& out, const snapshot::TraceProspect& trace) {
  fmt::format_to(std::back_inserter(out), ",\"trace\":{{\"ok\":{}", trace.refusal.empty());
  if (trace.refusal.empty()) {
    append_texts(out, "entries", trace.entries);
    fmt::format_to(std::back_inserter(out), ",\"follows_ends\":{}", trace.follows_ends);
    append_texts(out, "notes", trace.notes);
    if (trace.bytes_per_second) {
      fmt::format_to(std::back_inserter(out), ",\"bytes_per_second\":{:.0f},\"cost\":{:.6f}",
                     *trace.bytes_per_second, trace.cost);
    }
  } else {
    out += ",\"reason\":";
    append_json_string(out, trace.refusal);
  }
  out += '}';
}

}  // namespace

std::string format_check_json(const snapshot::Examination& found) {
  std::string out = fmt::format("{{\"version\":1,\"pid\":{},\"ok\":{},\"exe\":", found.pid,
                                !found.refusal.has_value());
  append_json_string(out, found.exe);
  if (!found.resource.empty()) {
    out += ",\"resource\":";
    append_attributes(out, found.resource);
  }
  if (!found.no_resource.empty()) {
    out += ",\"no_resource\":";
    append_json_string(out, found.no_resource);
  }
  fmt::format_to(std::back_inserter(out), ",\"user\":{},\"threads\":{},\"thread_states\":{{",
                 found.user, found.threads);
  for (const auto& row : found.states) {
    if (&row != &found.states.front()) out += ',';
    append_json_string(out, std::string(1, row.first));
    fmt::format_to(std::back_inserter(out), ":{}", row.second);
  }
  fmt::format_to(std::back_inserter(out), "}},\"filtered_threads\":{}", found.filtered);
  if (found.modules > 0) {
    fmt::format_to(std::back_inserter(out), ",\"modules\":{},\"modules_with_symbols\":{}",
                   found.modules, found.modules_with_symbols);
  }
  if (found.heap) append_heap(out, *found.heap);
  if (found.ruby) append_ruby(out, *found.ruby);
  if (found.trace) append_trace(out, *found.trace);
  out += ",\"obstacles\":[";
  for (const snapshot::Obstacle& obstacle : found.obstacles) {
    if (&obstacle != &found.obstacles.front()) out += ',';
    fmt::format_to(std::back_inserter(out), "{{\"way\":\"{}\",\"reason\":", obstacle.way);
    append_json_string(out, obstacle.reason);
    out += '}';
  }
  out += ']';
  if (!found.gap.empty()) {
    out += ",\"partial\":";
    append_json_string(out, found.gap);
  }
  out += "}\n";
  return out;
}

}  // namespace heapattach
