#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/format/write/text_reports.h"
#include "report/format/write/thread_words.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

void line(std::string& out, std::string_view subject, std::string_view text) {
  fmt::format_to(std::back_inserter(out), "{:<11} {}\n", subject, terminal_text(text));
}

// "shop; service.version 1.2, host.name a": its name, if there is one, and the rest.
std::string service_text(const Attributes& resource) {
  std::vector<std::string> rest;
  for (const Attribute& one : resource) {
    if (one.name != "service.name") rest.push_back(fmt::format("{} {}", one.name, one.value));
  }
  std::string text(value_of(resource, "service.name"));
  if (!text.empty() && !rest.empty()) text += "; ";
  return text + fmt::format("{}", fmt::join(rest, ", "));
}

std::string threads_text(const snapshot::Examination& found) {
  std::string text = fmt::format("{}", found.threads);
  for (const auto& row : found.states) {
    const bool is_first = &row == &found.states.front();
    text += fmt::format("{}{} {}", is_first ? ": " : ", ", row.second, words_for_state(row.first));
  }
  if (found.filtered > 0) text += fmt::format("; {} under a seccomp filter", found.filtered);
  return text;
}

// Adds the types, and the time for which the process would be stopped.
void add_types(std::string& out, const snapshot::HeapFacts& heap) {
  line(out, "types",
       fmt::format("{} program; {} classes that its objects name, {} types with fields, {} globals",
                   heap.runtime, heap.classes, heap.types, heap.globals));
  constexpr std::string_view kHold = "would stop it for about {} ms, longer on a busy machine";
  line(out, "freeze", fmt::format(kHold, heap.freeze.count()));
  line(out, "clone", fmt::format(kHold, heap.clone.count()));
}

// "bdwgc", or a runtime with a collector of its own: "Ruby".
std::string_view collector_name(const heap::Kind& kind) {
  return kind.owner.starts_with("the ") ? kind.name : kind.owner;
}

std::string collector_text(const snapshot::HeapFacts& heap) {
  return fmt::format("{}{}{} in {}, its layout known from: {}{}", collector_name(*heap.kind),
                     heap.version.empty() ? "" : " ", heap.version, heap.module, heap.layout,
                     heap.is_collecting ? "; a collection is running" : "");
}

std::string size_text(const snapshot::HeapFacts& heap) {
  if (heap.is_resident) {
    return fmt::format("{}{}{}; the process has {} in memory, all of which would be copied",
                       whose(*heap.kind), heap.module.empty() ? "" : " of ", heap.module,
                       human_bytes(heap.heap_bytes));
  }
  std::string text = human_bytes(heap.heap_bytes);
  if (heap.free_bytes) text += fmt::format(", {} of it free", human_bytes(*heap.free_bytes));
  if (heap.collections) text += fmt::format("; {} collections so far", *heap.collections);
  return text;
}

void add_heap(std::string& out, const snapshot::HeapFacts& heap) {
  line(out, "collector", heap.kind->is_collected ? collector_text(heap) : "none");
  line(out, "heap", size_text(heap));
  for (const heap::Kind* kind : heap.beside) {
    line(out, kind->name, "has a heap, too: --heap both reads both");
  }
  add_types(out, heap);
}

void add_ruby(std::string& out, const snapshot::RubyFacts& ruby) {
  line(out, "ruby", fmt::format("{} in {}: {}", ruby.version, ruby.module, ruby.description));
  if (ruby.heap_bytes) line(out, "heap", human_bytes(*ruby.heap_bytes) + " in Ruby's pages");
  constexpr std::string_view kHold = "would stop it for about {} ms, longer on a busy machine; {}";
  line(out, "clone",
       fmt::format(kHold, ruby.clone.count(),
                   "the copy then removes its garbage and lists its objects"));
  if (ruby.no_outside.empty()) {
    line(out, "freeze",
         fmt::format(kHold, ruby.freeze.count(),
                     "its heap is then read from outside, with garbage"));
    line(out, "stacks", "show Ruby's frames");
  } else {
    line(out, "no freeze", ruby.no_outside);
    line(out, "stacks", "do not show Ruby's frames");
  }
}

void add_trace(std::string& out, const snapshot::TraceProspect& trace) {
  if (!trace.refusal.empty()) return line(out, "no trace", trace.refusal);
  line(out, "trace",
       fmt::format("{} can be followed{}", fmt::join(trace.entries, ", "),
                   trace.follows_ends ? "" : "; what stays in use would not be known"));
  for (const std::string& note : trace.notes) line(out, "", note);
  if (!trace.bytes_per_second) return;
  const auto rate = static_cast<std::uint64_t>(*trace.bytes_per_second);
  line(out, "",
       fmt::format("it allocates {}/s now: a trace would take about {:.2f} % of one processor",
                   human_bytes(rate), 100 * trace.cost));
}

// "no snapshot can be taken", unless another way is open.
std::string_view refusal_text(const snapshot::Examination& found) {
  const auto is_blocked = [&](std::string_view way) {
    return std::any_of(found.obstacles.begin(), found.obstacles.end(),
                       [&](const auto& one) { return one.way == way || one.way == "any"; });
  };
  if (found.heap && !is_blocked("clone")) return "a snapshot can be taken with --snapshot clone";
  if (found.heap && !is_blocked("freeze")) return "a snapshot can be taken with --snapshot freeze";
  return "no snapshot can be taken";
}

}  // namespace

std::string format_check_table(const snapshot::Examination& found) {
  std::string out;
  line(out, "process", fmt::format("{} {}, user {}", found.pid, found.exe, found.user));
  if (!found.resource.empty()) line(out, "service", service_text(found.resource));
  if (!found.no_resource.empty()) line(out, "service", "unknown: " + found.no_resource);
  line(out, "threads", threads_text(found));
  if (found.modules > 0) {
    line(out, "symbols",
         fmt::format("{1} of {0} modules have some", found.modules, found.modules_with_symbols));
  }
  if (found.heap) add_heap(out, *found.heap);
  if (found.ruby) add_ruby(out, *found.ruby);
  if (found.trace) add_trace(out, *found.trace);
  for (const snapshot::Obstacle& obstacle : found.obstacles) {
    line(out, obstacle.way == "any" ? "obstacle" : "no " + obstacle.way, obstacle.reason);
  }
  if (!found.gap.empty()) line(out, "partial", found.gap);
  line(out, "verdict",
       found.refusal             ? refusal_text(found)
       : !found.gap.empty()      ? "a snapshot can be taken, but it would be partial"
       : found.obstacles.empty() ? "nothing prevents a snapshot"
                                 : "a snapshot can be taken");
  return out;
}

}  // namespace heapattach
