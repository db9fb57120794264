#include "report/diagnose/verdict.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

namespace {

// In the order of their findings: the process is stopped or slow, it will soon be, it uses too much
// memory.
constexpr std::array<Finder, 16> kFinders{
    find_deadlock,     find_lost_owner, find_all_waiting, find_stopped,
    find_busy,         find_limits,     find_growing,     find_leaking,
    find_swapped,      find_fragmented, find_outside,     find_open_files,
    find_many_threads, find_held_up,    find_holder,      find_repeated};

std::vector<std::string> looked_at(const Evidence& evidence) {
  std::vector<std::string> words;
  if (evidence.stacks) {
    words.push_back(counted(evidence.stacks->threads.size(), "thread"));
    if (!evidence.stacks->fibers.empty()) {
      words.push_back(counted(evidence.stacks->fibers.size(), "fiber"));
    }
  }
  for (const snapshot::HeapAccount& heap : evidence.heaps) {
    words.push_back(heap.has_totals
                        ? fmt::format("{} of {} heap", human_bytes(heap.heap), whose(*heap.kind))
                        : fmt::format("{} of live objects", human_bytes(heap.live)));
  }
  if (evidence.heaps.empty() && evidence.objects > 0) {
    words.push_back(counted(evidence.objects, "object"));
  }
  if (evidence.leaks) words.emplace_back("leaks");
  if (evidence.growth) words.push_back("growth since " + evidence.growth->baseline);
  if (evidence.memory) {
    words.push_back(
        fmt::format("{} of resident memory", human_bytes(evidence.memory->total.resident_bytes)));
  }
  if (evidence.facts) words.emplace_back("limits");
  return words;
}

std::string healthy_sentence(const Evidence& evidence, const Verdict& verdict) {
  const auto& words = verdict.looked_at;
  if (words.empty()) return "nothing could be looked at";
  std::string text = "nothing wrong was found";
  if (words.size() == 1) text += " in " + words.front();
  if (words.size() > 1) {
    text +=
        fmt::format(" in {} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
  }
  if (evidence.lacks_unreachable) {
    text += "; leaks cannot be judged, because the file has only reachable objects";
  }
  return text;
}

std::string next_after_health(const Evidence& evidence) {
  if (!evidence.has_objects()) return "stacks " + evidence.source;
  return (evidence.is_live ? "watch 10s " : "suspects ") + evidence.source;
}

// A pipe, for instance, cannot be read twice.
void leave_out_commands(Verdict& verdict) {
  verdict.next.clear();
  for (Finding& finding : verdict.findings) finding.next.clear();
}

Verdict judged(const Evidence& evidence) {
  Verdict verdict;
  for (const Finder find : kFinders) find(evidence, verdict.findings);
  std::stable_sort(verdict.findings.begin(), verdict.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  verdict.looked_at = looked_at(evidence);
  const bool has_any = !verdict.findings.empty();
  if (has_any && verdict.findings.front().severity != Severity::Remark) {
    const Finding& worst = verdict.findings.front();
    verdict.kind = worst.kind;
    verdict.sentence = worst.sentence;
    verdict.is_fault = worst.severity == Severity::Fault;
    verdict.next = worst.next;
    return verdict;
  }
  verdict.kind = verdict.looked_at.empty() ? "unknown" : "healthy";
  verdict.sentence = healthy_sentence(evidence, verdict);
  if (has_any) {
    verdict.sentence += "; " + verdict.findings.front().sentence;
    verdict.next = verdict.findings.front().next;
  } else {
    verdict.next = next_after_health(evidence);
  }
  return verdict;
}

}  // namespace

std::string next_on_memory(const Evidence& evidence) {
  const bool can_be_shown = evidence.is_live || evidence.has_objects();
  return (can_be_shown ? "summary " : "stacks ") + evidence.source;
}

Verdict judge(const Evidence& evidence) {
  Verdict verdict = judged(evidence);
  if (evidence.source.empty()) leave_out_commands(verdict);
  return verdict;
}

}  // namespace heapattach::diagnose
