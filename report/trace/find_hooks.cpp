// The collector's allocating functions call each other, and an allocation must count once. So the
// innermost ones that have the size and kind as arguments are hooked:
//
//     GC_malloc, GC_malloc_atomic, GC_strdup, …  →  GC_malloc_kind  →  GC_malloc_kind_global
//     GC_malloc_uncollectable, …  →  GC_generic_malloc_uncollectable
//     GC_malloc_ignore_off_page, …  →  GC_generic_malloc_ignore_off_page
//
// All of these call GC_generic_malloc for large sizes (the last for small ones). Programs call it
// too, for kinds of their own, so only its calls from outside the collector count. Which functions
// exist, and which function calls which, depends on the release and on how it was built: without
// thread-local allocation, GC_malloc goes to GC_malloc_kind_global. So each public function that
// calls none of the hooked ones, directly or not, is hooked itself.

#include "report/trace/find_hooks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "inject/trace/arch/layout.h"
#include "inject/trace/arch/vdso_clock.h"
#include "report/trace/arch/branches.h"
#include "symbols/boehm/accessors.h"
#include "symbols/boehm/thread_forms.h"
#include "symbols/code/disassembler.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::trace {

namespace {

constexpr const char* kAdvice = "--count and --watch, which do not change the code of the process";
constexpr std::uint64_t kMostFunction = 16384;
constexpr std::uint64_t kMostCollector = std::uint64_t{4} << 20;
constexpr int kDeepest = 4;

// The innermost functions, which take a size and a kind, or a descriptor.
constexpr std::array<std::string_view, 4> kInnermost = {
    "GC_generic_malloc_uncollectable", "GC_generic_malloc_ignore_off_page", "GC_gcj_malloc",
    "GC_gcj_malloc_ignore_off_page"};
constexpr std::array<std::string_view, 7> kPublic = {"GC_malloc",
                                                     "GC_malloc_atomic",
                                                     "GC_malloc_uncollectable",
                                                     "GC_malloc_atomic_uncollectable",
                                                     "GC_malloc_ignore_off_page",
                                                     "GC_malloc_atomic_ignore_off_page",
                                                     "GC_memalign"};

class HookFinder {
 public:
  HookFinder(const Modules& modules,
             const Module& module,
             const MemoryReader& memory,
             const Disassembler& disassembler,
             const Deadline& deadline)
      : modules_(modules),
        module_(module),
        memory_(memory),
        disassembler_(disassembler),
        deadline_(deadline) {
    for (const Symbol& symbol : module.symbols_with_prefix("GC_")) {
      if (!symbol.is_function || symbol.bytes == 0) continue;
      functions_.emplace(symbol.name, symbol);
      begin_ = std::min(begin_, symbol.address);
      end_ = std::max(end_, symbol.address + symbol.bytes);
    }
  }

  Result<FoundHooks> find(const boehm::Collector& collector) {
    learn_stubs();
    const std::string_view usual = choose_usual();
    if (usual.empty()) {
      return Error{ErrorKind::Impossible,
                   fmt::format("{} has no symbols for the functions that allocate", module_.name())}
          .advise(
              "--exe FILE, a copy of the same build that is not stripped, or --debug-dir DIR, with "
              "its debug file; without these, --count and --watch, which need no symbols");
    }
    add(usual);
    if (usual == "GC_malloc") add("GC_malloc_atomic");
    for (const std::string_view name : kInnermost) {
      if (functions_.contains(name)) add(name);
    }
    add_generic();
    for (const std::string_view name : kPublic) add_if_missed(name);
    // GC_realloc's first argument is the object to replace; its second is the size.
    if (functions_.contains("GC_realloc") && leads_to("GC_realloc", hooked_) != Leads::There) {
      note("allocations of GC_realloc are not traced");
    }
    find_leading();
    if (functions_.contains("GC_free")) found_.hooks.release = entry_of("GC_free");
    HA_TRY(check_oom_function());
    find_events(collector);
    find_total();
    return std::move(found_);
  }

 private:
  // The hooked function that GC_malloc calls, directly or not, or GC_malloc itself.
  std::string_view choose_usual() {
    if (!functions_.contains("GC_malloc")) return "";
    for (const std::string_view name : {"GC_malloc_kind", "GC_malloc_kind_global"}) {
      if (functions_.contains(name) && leads_to("GC_malloc", {name}) == Leads::There) return name;
    }
    return "GC_malloc";
  }

  [[nodiscard]] std::optional<Entry> entry_of(std::string_view name) const {
    const auto known = functions_.find(name);
    if (known == functions_.end()) return std::nullopt;
    const Symbol& symbol = known->second;
    const auto code = module_.file_bytes(symbol.address);
    const std::size_t bytes =
        std::min<std::size_t>({code.size(), static_cast<std::size_t>(symbol.bytes), kMostFunction});
    return Entry{.name = std::string(name),
                 .at = symbol.address,
                 .code = {code.begin(), code.begin() + static_cast<std::ptrdiff_t>(bytes)}};
  }

  void add(std::string_view name) {
    auto entry = entry_of(name);
    if (!entry) return;
    const auto is_same = [&](const Entry& known) { return known.at == entry->at; };
    if (std::ranges::any_of(found_.hooks.allocations, is_same)) return;
    hooked_.insert(name);
    entry->size_is_second = name == "GC_memalign";
    found_.hooks.allocations.push_back(*std::move(entry));
  }

  void add_generic() {
    if (!functions_.contains("GC_generic_malloc")) return;
    if (end_ - begin_ > kMostCollector) {
      note("GC_generic_malloc is not traced: it is unknown where the collector's code is");
      return;
    }
    add("GC_generic_malloc");
    found_.hooks.allocations.back().inner = {begin_, end_ - begin_};
    hooked_.erase("GC_generic_malloc");  // its calls from inside do not count
  }

  // If a hooked function ends in a jump to another one, both have the same caller, and an
  // allocation would count twice. GC_generic_malloc_ignore_off_page does so since 8.2 for small
  // sizes, and GC_generic_malloc_uncollectable for large ones.
  void find_leading() {
    std::set<std::uint64_t> hooked;
    for (const Entry& entry : found_.hooks.allocations) hooked.insert(entry.at.value);
    int leading = 0;
    std::set<std::uint64_t> led;
    for (Entry& entry : found_.hooks.allocations) {
      bool is_unknown = false;
      bool leads_on = false;
      for (const std::uint64_t at : calls_of(entry.at, is_unknown, true)) {
        if (!hooked.contains(at)) continue;
        leads_on = true;
        led.insert(at);
      }
      entry.leads_on = leads_on && !entry.size_is_second && leading < kLeadingHooks;
      if (entry.leads_on) ++leading;
      if (leads_on && !entry.leads_on) {
        note(fmt::format("allocations of {} may count twice", entry.name));
      }
    }
    for (Entry& entry : found_.hooks.allocations) entry.is_led = led.contains(entry.at.value);
  }

  void add_if_missed(std::string_view name) {
    if (!functions_.contains(name) || hooked_.contains(name)) return;
    switch (leads_to(name, hooked_)) {
      case Leads::There: return;
      case Leads::Nowhere: add(name); return;
      case Leads::Unknown:
        note(
            fmt::format("it is unknown whether {} is traced: the dynamic linker has not resolved "
                        "its calls yet",
                        name));
    }
  }

  enum class Leads { Nowhere, There, Unknown };
  Leads leads_to(std::string_view from, const std::set<std::string_view>& goals) {
    std::set<std::uint64_t> seen;
    bool is_unknown = false;
    std::vector<std::uint64_t> next = {functions_.at(from).address.value};
    std::set<std::uint64_t> wanted;
    for (const std::string_view goal : goals) wanted.insert(functions_.at(goal).address.value);
    for (int depth = 0; depth < kDeepest && !next.empty(); ++depth) {
      std::vector<std::uint64_t> after;
      for (const std::uint64_t function : next) {
        if (!seen.insert(function).second) continue;
        for (const std::uint64_t called : calls_of(RemoteAddr{function}, is_unknown)) {
          if (wanted.contains(called)) return Leads::There;
          after.push_back(called);
        }
      }
      next = std::move(after);
    }
    return is_unknown ? Leads::Unknown : Leads::Nowhere;
  }

  // The functions that the one at `at` calls or jumps to; with `only_jumps`, those that it jumps
  // to.
  std::vector<std::uint64_t> calls_of(RemoteAddr at, bool& is_unknown, bool only_jumps = false) {
    std::vector<std::uint64_t> called;
    const auto symbol = module_.symbol_at(at);
    if (!symbol || !symbol->is_function || symbol->bytes > kMostFunction) return called;
    const auto code = module_.file_bytes(symbol->address);
    const std::size_t bytes = std::min<std::size_t>(code.size(), symbol->bytes);
    const auto goals = branches_of(disassembler_, code.first(bytes), symbol->address, only_jumps);
    for (const RemoteAddr target : goals) {
      if (target - symbol->address < bytes) continue;
      const auto bound = through_stub(target);
      is_unknown = is_unknown || !bound;
      if (bound) called.push_back(bound->value);
    }
    return called;
  }

  // Finds the destinations of stubs that the program has not used yet, by their relocations. A
  // destination may be a stub, too.
  void learn_stubs() {
    std::set<RemoteAddr> learned;
    for (int depth = 0; depth < kDeepest; ++depth) {
      for (const auto names : {std::span<const std::string_view>(kPublic),
                               std::span<const std::string_view>(kInnermost)}) {
        for (const std::string_view name : names) {
          if (functions_.contains(name)) static_cast<void>(leads_to(name, {}));
        }
      }
      std::vector<RemoteAddr> stubs;
      for (const RemoteAddr at : unbound_) {
        if (learned.insert(at).second) stubs.push_back(at);
      }
      if (stubs.empty() || !learn(stubs)) return;
    }
  }

  bool learn(const std::vector<RemoteAddr>& stubs) {
    const auto places = unwind::find_places(modules_, stubs, std::chrono::seconds(20), deadline_);
    if (!places) return false;
    for (const unwind::CodePlaces& at : *places) {
      if (at.places.size() != 1) continue;
      const std::string_view name = at.places.front().function;
      const auto function = functions_.find(name.substr(0, name.find('@')));
      if (function != functions_.end()) bound_.emplace(at.pc.value, function->second.address);
    }
    return true;
  }

  // The destination of a linker's stub, or the address itself; none if the stub is not bound yet.
  std::optional<RemoteAddr> through_stub(RemoteAddr at) {
    if (const auto symbol = module_.symbol_at(at); symbol && symbol->address == at) return at;
    const auto slot = word_of_stub(disassembler_, module_.file_bytes(at), at);
    if (!slot) return at;
    const auto goal = memory_.read_as<std::uint64_t>(*slot);
    if (!goal) return std::nullopt;
    // Until the first call, the slot points back into the stubs; until the loader has relocated it,
    // nowhere.
    const Module* const holder = modules_.find(RemoteAddr{*goal});
    const bool is_bound = holder != nullptr &&
                          (holder != &module_ || holder->symbol_at(RemoteAddr{*goal}).has_value());
    if (is_bound) return RemoteAddr{*goal};
    const auto by_name = bound_.find(at.value);
    if (by_name != bound_.end()) return by_name->second;
    unbound_.insert(at);
    return std::nullopt;
  }

  boehm::AccessorReader& reader() {
    if (!reader_) {
      source_ = boehm::code_of(module_, memory_);
      reader_.emplace(disassembler_, *source_);
    }
    return *reader_;
  }

  // Whether anything in the process can throw exceptions: a library for that, or a part of one that
  // is linked into a program.
  [[nodiscard]] bool has_exceptions() const {
    constexpr std::array<std::string_view, 4> kLibraries = {"libstdc++.", "libc++", "libgcc_s.",
                                                            "libunwind."};
    for (const Module& module : modules_.all()) {
      const auto is_named = [&](std::string_view name) { return module.name().starts_with(name); };
      if (std::ranges::any_of(kLibraries, is_named)) return true;
    }
    return modules_.find_symbol("_Unwind_RaiseException").has_value();
  }

  // The function that the program has set for running out of memory may throw an exception, which
  // could not pass the frame of a sampled allocation. A longjmp could (w3m, guile and ecl have no
  // exceptions).
  Result<void> check_oom_function() {
    if (!has_exceptions()) return {};
    const auto setter = functions_.find("GC_set_oom_fn");
    if (setter == functions_.end()) return {};
    const auto variable = reader().read_setter(setter->second.address);
    if (!variable) return {};
    const auto value = memory_.read_as<std::uint64_t>(*variable);
    if (!value || *value == 0 || module_.contains(RemoteAddr{*value})) return {};
    return Error{ErrorKind::Impossible,
                 "the program has set an out-of-memory function (GC_set_oom_fn); if it throws an "
                 "exception, that cannot pass the recorder's code, which has no unwind tables"}
        .advise(kAdvice);
  }

  void find_events(const boehm::Collector& collector) {
    const auto setter = functions_.find("GC_set_on_collection_event");
    const auto marked = functions_.find("GC_is_marked");
    const auto base = functions_.find("GC_base");
    if (setter != functions_.end()) {
      if (const auto variable = reader().read_setter(setter->second.address)) {
        found_.hooks.event_variable = *variable;
      }
    }
    if (marked != functions_.end()) found_.hooks.is_marked = marked->second.address;
    if (base != functions_.end()) found_.hooks.object_base = base->second.address;
    found_.hooks.collections = collector.collections.value_or(RemoteAddr{});
    found_.hooks.stack_bottom = collector.stack_bottom.value_or(RemoteAddr{});
    for (const boehm::RecordForm& form : boehm::record_forms()) {
      found_.hooks.thread_records.push_back({.id = form.id,
                                             .flags = form.flags,
                                             .known_flags = form.known_flags,
                                             .part = form.context.value_or(0),
                                             .stack_end = form.stack_end});
    }
    if (const auto clock = modules_.find_symbol(kVdsoClock)) found_.hooks.clock = clock->address;
    if (!found_.hooks.follows_ends()) {
      note(
          "this collector does not announce its collections in a known way: what is in use is "
          "unknown");
    }
  }

  void find_total() {
    const auto total = functions_.find("GC_get_total_bytes");
    if (total == functions_.end()) return;
    found_.total = reader().read_sum(total->second.address).value_or(std::vector<RemoteAddr>());
  }

  void note(std::string text) { found_.notes.push_back(std::move(text)); }

  const Modules& modules_;
  const Module& module_;
  const MemoryReader& memory_;
  const Disassembler& disassembler_;
  const Deadline& deadline_;
  std::map<std::string_view, Symbol> functions_;
  RemoteAddr begin_{~std::uint64_t{0}};
  RemoteAddr end_;
  std::set<std::string_view> hooked_;
  std::set<RemoteAddr> unbound_;  // stubs that are not bound yet
  std::map<std::uint64_t, RemoteAddr> bound_;
  std::optional<boehm::CodeSource> source_;
  std::optional<boehm::AccessorReader> reader_;
  FoundHooks found_;
};

}  // namespace

Result<FoundHooks> find_hooks(const Modules& modules,
                              const boehm::Collector& collector,
                              const MemoryReader& memory,
                              const Deadline& deadline) {
  const auto all = modules.all();
  const auto module = std::ranges::find_if(
      all, [&](const Module& candidate) { return candidate.name() == collector.module; });
  if (module == all.end()) return Error{ErrorKind::Impossible, "the collector's module is gone"};
  const Disassembler disassembler = HA_TRY(Disassembler::open(module->machine()));
  return HookFinder(modules, *module, memory, disassembler, deadline).find(collector);
}

}  // namespace heapattach::trace
