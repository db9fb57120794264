#include "symbols/unwind/proc_lines.h"

#include <dwarf.h>

#include "symbols/dwarf/dwarf_unit.h"
#include "symbols/unwind/stack_record.h"

namespace heapattach::unwind {

namespace {

constexpr std::size_t kMostRowsOfLine = 20;
constexpr std::size_t kMostProcs = 1'000'000;

template <class Visit>
void each_unit(Dwarf* dwarf, const Visit& visit) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) visit(die);
}

}  // namespace

DeclaredAt declared_at(Dwarf_Die function) {
  const char* const file = dwarf_decl_file(&function);
  int line = 0;
  if (file == nullptr || dwarf_decl_line(&function, &line) != 0 || line < 0) return {};
  return {file, static_cast<std::uint32_t>(line)};
}

ProcLines::ProcLines(Dwarf* dwarf) {
  if (dwarf == nullptr) return;
  each_unit(dwarf, [this](const Dwarf_Die& unit) { add_procs(unit); });
  if (files_.empty()) return;
  each_unit(dwarf, [this](const Dwarf_Die& unit) { add_rows(unit); });
}

void ProcLines::add_procs(const Dwarf_Die& unit) {
  std::size_t procs = 0;
  types::each_child(unit, [&](Dwarf_Die child) {
    if (types::tag_of(child) != DW_TAG_subprogram) return true;
    const char* const name = dwarf_diename(&child);
    if (name == nullptr || name != kProcName) return true;
    const DeclaredAt declared = declared_at(child);
    if (declared.line != 0) files_[declared.file][declared.line];
    return ++procs < kMostProcs;
  });
}

void ProcLines::add_rows(Dwarf_Die unit) {
  Dwarf_Lines* rows = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrclines(&unit, &rows, &count) != 0) return;
  const char* last_file = nullptr;  // rows of a file have the same pointer, and follow each other
  ByLine* lines = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    Dwarf_Line* const row = dwarf_onesrcline(rows, i);
    const char* const file = dwarf_linesrc(row, nullptr, nullptr);
    if (file == nullptr) continue;
    if (file != last_file) {
      const auto found = files_.find(std::string_view(file));
      lines = found == files_.end() ? nullptr : &found->second;
      last_file = file;
    }
    int line = 0;
    Dwarf_Addr address = 0;
    if (lines == nullptr || dwarf_lineno(row, &line) != 0 || line <= 0) continue;
    const auto wanted = lines->find(static_cast<std::uint32_t>(line));
    if (wanted == lines->end() || wanted->second.size() >= kMostRowsOfLine) continue;
    if (dwarf_lineaddr(row, &address) == 0) wanted->second.push_back(address);
  }
}

const std::vector<Dwarf_Addr>& ProcLines::at(const DeclaredAt& proc) const {
  static const std::vector<Dwarf_Addr> kNothing;
  const auto file = files_.find(proc.file);
  if (file == files_.end()) return kNothing;
  const auto line = file->second.find(proc.line);
  return line == file->second.end() ? kNothing : line->second;
}

}  // namespace heapattach::unwind
