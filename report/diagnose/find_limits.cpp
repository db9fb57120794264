// Limits of which four fifths are used. A server needs room for a burst; the next call that fails
// at the limit is often one that nobody checks. Two limits are reported from nine tenths: the
// memory of a control group, because a group that is meant to be full of one program is no fault
// before that, and the first thread's stack, because it never shrinks.

#include <fmt/format.h>

#include "report/diagnose/finders.h"
#include "report/text/human_bytes.h"

namespace heapattach::diagnose {

namespace {

constexpr unsigned kNearPercent = 80;
constexpr unsigned kNearlyFullPercent = 90;

void add_limit(std::string sentence,
               std::vector<std::string> lines,
               std::string next,
               std::vector<Finding>& found) {
  found.push_back({.kind = "limit",
                   .severity = Severity::Fault,
                   .sentence = "near a limit: " + std::move(sentence),
                   .evidence = std::move(lines),
                   .next = std::move(next)});
}

std::vector<std::string> most_open(const ProcessFacts& facts) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> lines;
  for (const DescriptorKind& kind : facts.open) {
    if (lines.size() == kShown) break;
    lines.push_back(fmt::format("{} of {}", kind.count, kind.what));
  }
  return lines;
}

void add_memory_limit(const Evidence& evidence,
                      const std::optional<LimitedUse>& use,
                      std::string_view what,
                      std::vector<Finding>& found) {
  if (!use || !use->is_near(kNearPercent)) return;
  add_limit(fmt::format("{} of {} of {}; beyond that, allocations fail", human_bytes(use->used),
                        human_bytes(*use->limit), what),
            {}, next_on_memory(evidence), found);
}

// The size of the stack's mapping would not do: it never shrinks, and Ruby touches all of it.
void add_stack_limit(const Evidence& evidence, std::vector<Finding>& found) {
  if (!evidence.stacks) return;
  for (const stacks::ThreadSeen& thread : evidence.stacks->threads) {
    const LimitedUse use{thread.limited_stack_bytes, evidence.facts->stack_limit};
    if (!use.is_near(kNearPercent)) continue;
    add_limit(fmt::format("{} of {} of stack are in use by {} (RLIMIT_STACK); beyond that, the "
                          "kernel kills the process",
                          human_bytes(use.used), human_bytes(*use.limit), title_of(thread)),
              {}, "stacks " + evidence.source, found);
  }
}

void add_group_limit(const Evidence& evidence, std::vector<Finding>& found) {
  const std::optional<LimitedUse>& memory = evidence.facts->group_memory;
  if (!memory || !memory->is_near(kNearlyFullPercent)) return;
  std::vector<std::string> lines{fmt::format("this process has {} of it resident",
                                             human_bytes(evidence.facts->resident_bytes))};
  add_limit(fmt::format("its control group uses {} of {}, and at the limit the kernel kills",
                        human_bytes(memory->used), human_bytes(*memory->limit)),
            std::move(lines), next_on_memory(evidence), found);
}

}  // namespace

bool is_near_limit(const LimitedUse& use) {
  return use.is_near(kNearPercent);
}

void find_limits(const Evidence& evidence, std::vector<Finding>& found) {
  if (!evidence.facts) return;
  const ProcessFacts& facts = *evidence.facts;
  const auto is_near = [](const std::optional<LimitedUse>& use) {
    return use && is_near_limit(*use);
  };
  const std::string stacks = "stacks --brief " + evidence.source;
  if (is_near(facts.descriptors)) {
    add_limit(fmt::format("{} of {} descriptors are open (RLIMIT_NOFILE), {} of them {}",
                          facts.descriptors->used, *facts.descriptors->limit,
                          facts.open.empty() ? 0 : facts.open.front().count,
                          facts.open.empty() ? "unknown" : facts.open.front().what),
              most_open(facts), stacks, found);
  }
  if (is_near(facts.threads)) {
    add_limit(fmt::format("{} threads, and its user may have {} (RLIMIT_NPROC)",
                          facts.threads->used, *facts.threads->limit),
              {}, stacks, found);
  }
  if (is_near(facts.tasks)) {
    add_limit(fmt::format("its control group has {} of {} threads and processes (pids.max)",
                          facts.tasks->used, *facts.tasks->limit),
              {fmt::format("{} of these are threads of this process",
                           facts.threads ? facts.threads->used : 0)},
              stacks, found);
  }
  if (is_near(facts.mappings)) {
    std::vector<std::string> lines;
    if (evidence.memory && evidence.memory->fiber_stacks > 0) {
      lines.push_back(fmt::format("{} are stacks of fibers, which have two mappings each",
                                  evidence.memory->fiber_stacks));
    }
    add_limit(fmt::format("{} of {} memory mappings (vm.max_map_count)", facts.mappings->used,
                          *facts.mappings->limit),
              std::move(lines), next_on_memory(evidence), found);
  }
  add_memory_limit(evidence, facts.address_space, "address space are mapped (RLIMIT_AS)", found);
  add_memory_limit(evidence, facts.private_data, "private memory are mapped (RLIMIT_DATA)", found);
  add_stack_limit(evidence, found);
  add_group_limit(evidence, found);
}

}  // namespace heapattach::diagnose
