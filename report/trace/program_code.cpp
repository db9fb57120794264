#include "report/trace/program_code.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "attach/base/word.h"
#include "report/trace/arch/branches.h"
#include "symbols/boehm/arch/code_uses.h"

namespace heapattach::trace {

ProgramCode::ProgramCode(const Module& program,
                         const MemoryReader& memory,
                         const Disassembler& disassembler,
                         std::vector<Range> functions)
    : program_(program),
      memory_(memory),
      disassembler_(disassembler),
      functions_(std::move(functions)) {}

const Range* ProgramCode::function_at(RemoteAddr at) const {
  const auto after = std::ranges::upper_bound(functions_, at, {}, &Range::start);
  if (after == functions_.begin() || !std::prev(after)->contains(at)) return nullptr;
  return &*std::prev(after);
}

std::span<const std::byte> ProgramCode::code_of(const Range& function) const {
  const auto code = program_.file_bytes(function.start);
  return code.size() < function.bytes ? std::span<const std::byte>() : code.first(function.bytes);
}

void ProgramCode::each_named(const Range& function,
                             const std::function<void(RemoteAddr)>& visit) const {
  const auto code = code_of(function);
  for (std::size_t done = 0; done < code.size();) {
    const cs_insn* const one = disassembler_.decode(code.subspan(done), function.start + done);
    if (one == nullptr) return;
    boehm::each_target(*one, visit);
    done += one->size;
  }
}

// Any part of the code may be an address, so what seems to be one is looked for again in the
// function's instructions.
ProgramCode::Users ProgramCode::users_where(const IsWanted& is_wanted) const {
  std::set<RemoteAddr> suspected;
  const auto segments = program_.segments();
  if (segments.empty()) return {};
  const Range extent{segments.front().range.start,
                     segments.back().range.end() - segments.front().range.start};
  for (const Segment& segment : segments) {
    if (!segment.executable) continue;
    const RemoteAddr start = segment.range.start;
    boehm::each_use({program_.file_bytes(start), start, extent, program_.bias() == 0},
                    [&](RemoteAddr at, RemoteAddr target) {
                      const Range* const function = is_wanted(target) ? function_at(at) : nullptr;
                      if (function != nullptr) suspected.insert(function->start);
                    });
  }
  Users users;
  for (const RemoteAddr at : suspected) {
    each_named(*function_at(at), [&](RemoteAddr named) {
      if (is_wanted(named)) users[named].insert(at);
    });
  }
  return users;
}

std::set<RemoteAddr> ProgramCode::users_of(const Range& data) const {
  std::set<RemoteAddr> all;
  const auto users = users_where([&](RemoteAddr at) { return data.contains(at); });
  for (const auto& [address, functions] : users) all.insert(functions.begin(), functions.end());
  return all;
}

ProgramCode::Users ProgramCode::users_of(const std::set<RemoteAddr>& addresses) const {
  return users_where([&](RemoteAddr at) { return addresses.contains(at); });
}

std::set<RemoteAddr> ProgramCode::branches_of(const Range& function) const {
  std::set<RemoteAddr> found;
  for (const RemoteAddr to :
       trace::branches_of(disassembler_, code_of(function), function.start, false)) {
    const Range* const goal = function_at(to);
    if (goal != nullptr && goal->start == to && to != function.start) found.insert(to);
  }
  return found;
}

std::set<RemoteAddr> ProgramCode::in_data(const std::set<RemoteAddr>& addresses) const {
  std::set<RemoteAddr> found;
  for (const Segment& segment : program_.segments()) {
    if (segment.executable) continue;
    std::vector<std::byte> bytes(program_.file_bytes(segment.range.start).size());
    if (!memory_.read(segment.range.start, bytes)) continue;
    for (std::size_t i = 0; i + kWordBytes <= bytes.size(); i += kWordBytes) {
      RemoteAddr word;
      std::memcpy(&word.value, bytes.data() + i, kWordBytes);
      if (addresses.contains(word)) found.insert(word);
    }
  }
  return found;
}

}  // namespace heapattach::trace
