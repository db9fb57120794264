#include "report/trace/find_stripped.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "report/trace/program_code.h"
#include "report/trace/prove_malloc.h"
#include "report/trace/stripped_glibc.h"
#include "report/trace/stripped_musl.h"
#include "symbols/boehm/arch/code_uses.h"
#include "symbols/elf/function_ranges.h"
#include "symbols/heap/by_hand.h"
#include "symbols/malloc/arenas.h"
#include "symbols/musl/context.h"

namespace heapattach::trace {

namespace {

struct Known {
  MallocForm form;
  std::array<std::string_view, 2> names;  // of the first function of this form, and the second
  bool leads_on = false;
  bool is_led = false;
};
constexpr std::array<Known, 7> kKnown{{
    {.form = MallocForm::Size, .names = {"malloc", ""}, .is_led = true},
    {.form = MallocForm::Count, .names = {"calloc", ""}},
    {.form = MallocForm::Resize, .names = {"realloc", ""}, .leads_on = true},
    {.form = MallocForm::Aligned, .names = {"memalign", "aligned_alloc"}, .leads_on = true},
    {.form = MallocForm::Storing, .names = {"posix_memalign", ""}},
    {.form = MallocForm::WholePages, .names = {"valloc", "pvalloc"}, .leads_on = true},
    {.form = MallocForm::Free, .names = {"free", ""}},
}};

Error not_found(std::string_view why) {
  return Error{ErrorKind::Impossible,
               "the program has no symbols for malloc's functions, and " + std::string(why)};
}

// What the functions of a guess are if it is right; for those that align, that is unknown.
std::vector<ProvedFunction> unproved(const Guess& guess) {
  std::vector<ProvedFunction> functions{{guess.allocates, MallocForm::Size},
                                        {guess.frees, MallocForm::Free}};
  if (guess.zeroes) functions.push_back({*guess.zeroes, MallocForm::Count});
  if (guess.resizes) functions.push_back({*guess.resizes, MallocForm::Resize});
  return functions;
}

using RangeOf = std::function<std::optional<Range>(RemoteAddr)>;

// The entries come in the order of the forms, as the hooks expect them. The code of each is `inner`
// for itself.
Result<std::vector<MallocEntry>> entries_of(const Module& program,
                                            const RangeOf& range_of,
                                            std::span<const ProvedFunction> functions) {
  std::vector<MallocEntry> entries;
  for (const Known& known : kKnown) {
    std::size_t count = 0;
    for (const ProvedFunction& one : functions) {
      if (one.form != known.form) continue;
      if (count == known.names.size() || known.names.at(count).empty()) {
        return not_found("too many functions look like " + std::string(known.names[0]));
      }
      const auto range = range_of(one.at);
      const auto code = program.file_bytes(one.at);
      if (!range || code.size() < range->bytes) return not_found("their code cannot be read");
      const auto bytes = code.first(range->bytes);
      entries.push_back({{.name = std::string(known.names.at(count++)),
                          .at = one.at,
                          .code = {bytes.begin(), bytes.end()},
                          .leads_on = known.leads_on,
                          .is_led = known.is_led,
                          .inner = *range},
                         known.form});
    }
  }
  return entries;
}

// What is known of a program's malloc before it is proved.
struct Guessed {
  std::vector<Guess> guesses;
  RangeOf range_of{};
  IsAllocation is_allocation{};
  bool is_one_piece = false;  // no other code lies between its functions
};

Result<Guessed> guess_glibc_in(const Module& program,
                               const MemoryReader& memory,
                               const Disassembler& disassembler,
                               const Range& arena) {
  const ProgramCode code(program, memory, disassembler, function_ranges(program));
  Guessed guessed{.guesses = HA_TRY(guess_glibc(code, arena))};
  guessed.is_allocation = is_chunk;
  guessed.is_one_piece = true;
  guessed.range_of = [functions = function_ranges(program)](RemoteAddr at) {
    const auto found = std::ranges::lower_bound(functions, at, {}, &Range::start);
    const bool is_one = found != functions.end() && found->start == at;
    return is_one ? std::optional(*found) : std::nullopt;
  };
  return guessed;
}

Result<Guessed> guess_musl_in(const Module& program,
                              const MemoryReader& memory,
                              const Disassembler& disassembler,
                              const musl::Context& context) {
  MuslGuesses found =
      HA_TRY(guess_musl(program, memory, disassembler, {context.at, musl::Context::kBytes}));
  Guessed guessed{.guesses = std::move(found.guesses)};
  guessed.range_of = [functions = std::move(found.functions)](RemoteAddr at) {
    const auto one = functions.find(at);
    return one == functions.end() ? std::nullopt : std::optional(one->second);
  };
  guessed.is_allocation = [context](const MemoryReader& of, RemoteAddr at, std::uint64_t bytes) {
    return is_slot(of, context, at, bytes);
  };
  return guessed;
}

// Finds malloc by its data. A busy program changes the bins by which main_arena is recognised, so
// this may need several looks.
Result<Guessed> guess_in(const snapshot::Opened& target, const Module& program) {
  constexpr int kMostLooks = 50;
  constexpr std::chrono::milliseconds kBetweenLooks{5};
  const Disassembler disassembler = HA_TRY(Disassembler::open(program.machine()));
  const std::vector<Range> data = heap::data_of(target.modules);
  for (int looks = 0; looks < kMostLooks; ++looks) {
    const glibc::Words words(target.memory);
    const auto contexts = musl::find_contexts(words, data);
    if (contexts.size() == 1 && program.contains(contexts[0].at)) {
      return guess_musl_in(program, target.memory, disassembler, contexts[0]);
    }
    const auto arenas = glibc::find_arenas(words, data);
    const RemoteAddr arena = arenas ? arenas->all.front().at : RemoteAddr{};
    if (arenas && program.contains(arena)) {
      return guess_glibc_in(program, target.memory, disassembler, {arena, arenas->layout.bytes()});
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return not_found("its malloc is not one of those that are found without symbols");
}

// All of glibc's malloc is one piece of code; in musl, other code may lie between the functions.
void join_inner(std::vector<MallocEntry>& entries) {
  Range all = entries.front().entry.inner;
  for (const MallocEntry& one : entries) {
    const RemoteAddr end = std::max(all.end(), one.entry.inner.end());
    all.start = std::min(all.start, one.entry.at);
    all.bytes = end - all.start;
  }
  for (MallocEntry& one : entries) one.entry.inner = all;
}

}  // namespace

Result<std::vector<MallocEntry>> find_stripped(snapshot::Opened& target,
                                               const Request& request,
                                               bool may_copy) {
  const Module* const program = target.modules.main_program();
  if (program == nullptr || !target.process || !boehm::shows_uses(program->machine())) {
    return not_found("its code cannot be read");
  }
  const Guessed guessed = HA_TRY(guess_in(target, *program));
  if (!may_copy) return entries_of(*program, guessed.range_of, unproved(guessed.guesses.front()));
  const auto proved =
      HA_TRY(prove_malloc(*target.process, request, guessed.guesses, guessed.is_allocation));
  request.note("malloc's functions were found by what calls what, and proved in a copy");
  auto entries = HA_TRY(entries_of(*program, guessed.range_of, proved));
  if (guessed.is_one_piece) join_inner(entries);
  return entries;
}

}  // namespace heapattach::trace
