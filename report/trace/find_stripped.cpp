#include "report/trace/find_stripped.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "report/trace/program_code.h"
#include "report/trace/prove_malloc.h"
#include "report/trace/stripped_glibc.h"
#include "symbols/boehm/arch/code_uses.h"
#include "symbols/elf/function_ranges.h"
#include "symbols/heap/by_hand.h"
#include "symbols/malloc/arenas.h"

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

// A busy program changes the bins by which main_arena is recognised, so this may need several
// looks.
std::optional<Range> find_main_arena(const snapshot::Opened& target) {
  constexpr int kMostLooks = 50;
  constexpr std::chrono::milliseconds kBetweenLooks{5};
  const std::vector<Range> data = heap::data_of(target.modules);
  for (int looks = 0; looks < kMostLooks; ++looks) {
    const glibc::Words words(target.memory);
    const auto arenas = glibc::find_arenas(words, data);
    if (arenas) return Range{arenas->all.front().at, arenas->layout.bytes()};
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return std::nullopt;
}

// What the functions of a guess are if it is right; for those that align, that is unknown.
std::vector<ProvedFunction> unproved(const Guess& guess) {
  std::vector<ProvedFunction> functions{{guess.allocates, MallocForm::Size},
                                        {guess.frees, MallocForm::Free}};
  if (guess.zeroes) functions.push_back({*guess.zeroes, MallocForm::Count});
  if (guess.resizes) functions.push_back({*guess.resizes, MallocForm::Resize});
  return functions;
}

// The entries come in the order of the forms, as the hooks expect them.
Result<std::vector<MallocEntry>> entries_of(const ProgramCode& code,
                                            std::span<const ProvedFunction> functions) {
  std::vector<MallocEntry> entries;
  RemoteAddr begin{~std::uint64_t{0}};
  RemoteAddr end;
  for (const Known& known : kKnown) {
    std::size_t count = 0;
    for (const ProvedFunction& one : functions) {
      if (one.form != known.form) continue;
      if (count == known.names.size() || known.names.at(count).empty()) {
        return not_found("too many functions look like " + std::string(known.names[0]));
      }
      const Range* const function = code.function_at(one.at);
      const auto bytes = code.code_of(*function);
      entries.push_back({{.name = std::string(known.names.at(count++)),
                          .at = one.at,
                          .code = {bytes.begin(), bytes.end()},
                          .leads_on = known.leads_on,
                          .is_led = known.is_led},
                         known.form});
      begin = std::min(begin, one.at);
      end = std::max(end, function->end());
    }
  }
  for (MallocEntry& one : entries) one.entry.inner = {begin, end - begin};
  return entries;
}

}  // namespace

Result<std::vector<MallocEntry>> find_stripped(snapshot::Opened& target,
                                               const Request& request,
                                               bool may_copy) {
  const Module* const program = target.modules.main_program();
  if (program == nullptr || !target.process || !boehm::shows_uses(program->machine())) {
    return not_found("its code cannot be read");
  }
  const auto arena = find_main_arena(target);
  if (!arena || !program->contains(arena->start)) {
    return not_found("its malloc is not glibc's");
  }
  const Disassembler disassembler = HA_TRY(Disassembler::open(program->machine()));
  const ProgramCode code(*program, target.memory, disassembler, function_ranges(*program));
  const auto guesses = HA_TRY(guess_glibc(code, *arena));
  if (!may_copy) return entries_of(code, unproved(guesses.front()));
  const auto proved = HA_TRY(prove_malloc(*target.process, request, guesses, is_chunk));
  request.note("malloc's functions were found by what calls what, and proved in a copy");
  return entries_of(code, proved);
}

}  // namespace heapattach::trace
