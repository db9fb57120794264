// A function is the collector's if it uses the tables that only the collector has (GC_arrays,
// GC_obj_kinds), or if the collector's functions call it and no others do. That they do is decided
// by their instructions. That no others do: every part of other code that could be the distance to
// the function counts as a use, so too many uses only make less known. A variable is the
// collector's if its functions use it and, in the same sense, no other code does. The program's own
// variables are used by the program's own code, wherever the linker has put them.

#include "symbols/boehm/collector_code.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "attach/base/word.h"
#include "symbols/boehm/arch/code_uses.h"
#include "symbols/code/disassembler.h"
#include "symbols/elf/function_ranges.h"

namespace heapattach::boehm {
namespace {

constexpr std::size_t kFewest = 20;  // functions that use the tables
constexpr std::size_t kNone = ~std::size_t{0};

// In the code that pushes the stacks of all threads (pthread_stop_world.c, 7.2 to 8.3).
constexpr std::string_view kMessage = "Collecting from unknown thread";

class Finder {
 public:
  Finder(const Module& module, const Collector& collector, const Disassembler& disassembler)
      : module_(module),
        tables_(collector.excluded),
        disassembler_(disassembler),
        functions_(function_ranges(module)),
        is_its_(functions_.size(), false) {
    for (const Segment& segment : module.segments()) {
      if (extent_.bytes == 0) extent_.start = segment.range.start;
      extent_.bytes = segment.range.end() - extent_.start;  // they are in order
    }
  }

  std::optional<CollectorCode> find() {
    if (functions_.empty() || tables_.empty()) return {};
    if (find_users_of_tables() < kFewest) return {};
    add_helpers();
    CollectorCode code;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      if (is_its_[i]) code.functions.push_back(functions_[i]);
    }
    code.used = used_words();
    code.variables = without_shared(code.used);
    code.default_hook = default_hook();
    return code;
  }

 private:
  // Calls visit(at, target) for each part of the module's code that may be an operand with the
  // address `target`.
  template <class Visit>
  void for_each_use(const Visit& visit) const {
    for (const Segment& segment : module_.segments()) {
      if (!segment.executable) continue;
      const RemoteAddr start = segment.range.start;
      each_use({module_.file_bytes(start), start, extent_, has_short_addresses()}, visit);
    }
  }

  [[nodiscard]] bool has_short_addresses() const { return module_.bias() == 0; }

  [[nodiscard]] std::size_t function_at(RemoteAddr at) const {
    const auto after = std::partition_point(functions_.begin(), functions_.end(),
                                            [&](const Range& one) { return one.start <= at; });
    if (after == functions_.begin() || !std::prev(after)->contains(at)) return kNone;
    return static_cast<std::size_t>(after - functions_.begin()) - 1;
  }

  // Calls visit(instruction, target) for each address that the instructions of a function name.
  template <class Visit>
  void for_each_target(const Range& function, const Visit& visit) const {
    for (RemoteAddr at = function.start; at < function.end();) {
      const auto code = module_.file_bytes(at);
      const std::size_t left = std::min<std::size_t>(code.size(), function.end() - at);
      const cs_insn* const one = left == 0 ? nullptr : disassembler_.decode(code.first(left), at);
      if (one == nullptr) return;
      each_target(*one, [&](RemoteAddr target) { visit(*one, target); });
      at = at + one->size;
    }
  }

  [[nodiscard]] bool is_in_tables(RemoteAddr at) const {
    return std::any_of(tables_.begin(), tables_.end(),
                       [&](const Range& table) { return table.contains(at); });
  }

  [[nodiscard]] bool uses_tables(const Range& function) const {
    bool uses = false;
    for_each_target(
        function, [&](const cs_insn&, RemoteAddr target) { uses = uses || is_in_tables(target); });
    return uses;
  }

  std::size_t find_users_of_tables() {
    std::unordered_set<std::size_t> seen;
    std::size_t count = 0;
    for_each_use([&](RemoteAddr at, RemoteAddr target) {
      if (!is_in_tables(target)) return;
      const std::size_t function = function_at(at);
      if (function == kNone || !seen.insert(function).second) return;
      is_its_[function] = uses_tables(functions_[function]);
      if (is_its_[function]) ++count;
    });
    return count;
  }

  // Whether an instruction of `function` names the address.
  [[nodiscard]] bool names(const Range& function, RemoteAddr address) const {
    bool found = false;
    for_each_target(function,
                    [&](const cs_insn&, RemoteAddr target) { found = found || target == address; });
    return found;
  }

  // Adds functions that only the collector's functions call.
  void add_helpers() {
    std::unordered_map<std::uint64_t, std::size_t> starts;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      starts.emplace(functions_[i].start.value, i);
    }
    std::vector<std::vector<std::size_t>> callers(functions_.size());
    for_each_use([&](RemoteAddr at, RemoteAddr target) {
      const auto called = starts.find(target.value);
      if (called != starts.end()) callers[called->second].push_back(function_at(at));
    });
    const auto is_helper = [&](std::size_t function) {
      const auto& by = callers[function];
      const auto is_known = [&](std::size_t one) { return one != kNone && is_its_[one]; };
      const bool has_others = std::any_of(
          by.begin(), by.end(), [&](std::size_t one) { return one != function && !is_known(one); });
      return !has_others && std::any_of(by.begin(), by.end(), [&](std::size_t one) {
        return is_known(one) && names(functions_[one], functions_[function].start);
      });
    };
    for (bool has_more = true; has_more;) {
      has_more = false;
      for (std::size_t i = 0; i < functions_.size(); ++i) {
        if (is_its_[i] || !is_helper(i)) continue;
        is_its_[i] = has_more = true;
      }
    }
  }

  [[nodiscard]] bool is_variable(RemoteAddr at) const {
    const auto segments = module_.segments();
    return at.value % kWordBytes == 0 && !is_in_tables(at) &&
           std::any_of(segments.begin(), segments.end(), [&](const Segment& segment) {
             return segment.writable && segment.range.contains(at);
           });
  }

  [[nodiscard]] std::vector<RemoteAddr> used_words() const {
    std::vector<RemoteAddr> words;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      if (!is_its_[i]) continue;
      for_each_target(functions_[i], [&](const cs_insn&, RemoteAddr target) {
        if (is_variable(target)) words.push_back(target);
      });
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words;
  }

  [[nodiscard]] std::vector<RemoteAddr> without_shared(const std::vector<RemoteAddr>& used) const {
    std::unordered_set<std::uint64_t> own;
    for (const RemoteAddr at : used) own.insert(at.value);
    for_each_use([&](RemoteAddr at, RemoteAddr target) {
      if (target.value % kWordBytes != 0 || !own.contains(target.value)) return;
      const std::size_t function = function_at(at);
      if (function == kNone || !is_its_[function]) own.erase(target.value);
    });
    std::vector<RemoteAddr> words;
    for (const RemoteAddr at : used) {
      if (own.contains(at.value)) words.push_back(at);
    }
    return words;
  }

  [[nodiscard]] std::optional<RemoteAddr> message() const {
    const auto pattern = std::as_bytes(std::span(kMessage));
    for (const Segment& segment : module_.segments()) {
      if (segment.writable) continue;
      const auto bytes = module_.file_bytes(segment.range.start);
      const auto found = std::search(bytes.begin(), bytes.end(), pattern.begin(), pattern.end());
      if (found == bytes.end()) continue;
      return segment.range.start + static_cast<std::uint64_t>(found - bytes.begin());
    }
    return {};
  }

  // The functions with an instruction that names `target`.
  [[nodiscard]] std::vector<Range> users_of(RemoteAddr target) const {
    std::vector<Range> users;
    std::unordered_set<std::size_t> seen;
    for_each_use([&](RemoteAddr at, RemoteAddr used) {
      const std::size_t function = used == target ? function_at(at) : kNone;
      if (function == kNone || !seen.insert(function).second) return;
      if (names(functions_[function], target)) users.push_back(functions_[function]);
    });
    return users;
  }

  // The number of jumps and calls in a function.
  [[nodiscard]] std::size_t jumps_of(const Range& function) const {
    std::size_t jumps = 0;
    for_each_target(function, [&](const cs_insn& one, RemoteAddr) {
      if (jumps_or_calls(one)) ++jumps;
    });
    return jumps;
  }

  // The default does nothing but go on to the function with the message.
  [[nodiscard]] std::optional<RemoteAddr> default_hook() const {
    constexpr std::uint64_t kMostBytes = 32;
    const auto text = message();
    if (!text) return {};
    const std::vector<Range> pushes = users_of(*text);
    if (pushes.size() != 1) return {};
    std::vector<RemoteAddr> defaults;
    for (const Range& function : users_of(pushes[0].start)) {
      if (function.bytes <= kMostBytes && jumps_of(function) == 1) {
        defaults.push_back(function.start);
      }
    }
    return defaults.size() == 1 ? std::optional(defaults[0]) : std::nullopt;
  }

  const Module& module_;
  std::span<const Range> tables_;
  const Disassembler& disassembler_;
  std::vector<Range> functions_;
  std::vector<bool> is_its_;  // by function
  Range extent_;              // of the module
};

}  // namespace

std::optional<CollectorCode> find_collector_code(const Module& module, const Collector& collector) {
  if (!shows_uses(module.machine())) return {};
  const auto disassembler = Disassembler::open(module.machine());
  if (!disassembler) return {};
  return Finder(module, collector, *disassembler).find();
}

bool has_replaced_hook(const CollectorCode& code, const MemoryReader& memory) {
  if (!code.default_hook) return false;
  return std::none_of(code.used.begin(), code.used.end(), [&](RemoteAddr at) {
    const auto word = memory.read_as<std::uint64_t>(at);
    return !word || *word == code.default_hook->value;
  });
}

}  // namespace heapattach::boehm
