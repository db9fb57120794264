#include "symbols/unwind/module_debug.h"

#include <algorithm>
#include <cstdlib>

#include <dwarf.h>
#include <gelf.h>

#include "symbols/cxx/function_name.h"
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
  const char* last_file = nullptr;  // consecutive rows of a file have the same pointer
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

void ModuleDebug::FreeFrame::operator()(Dwarf_Frame* frame) const noexcept {
  std::free(frame);  // NOLINT(cppcoreguidelines-no-malloc): libdw.h says so
}
void ModuleDebug::EndElf::operator()(Elf* elf) const noexcept {
  elf_end(elf);
}
void ModuleDebug::EndCfi::operator()(Dwarf_CFI* cfi) const noexcept {
  dwarf_cfi_end(cfi);
}

ModuleDebug::ModuleDebug(const Module& module) : module_(&module) {
  elf_version(EV_CURRENT);
  if (module.file().get() < 0) return;
  elf_.reset(elf_begin(module.file().get(), ELF_C_READ, nullptr));
  if (elf_ != nullptr) exception_tables_.reset(dwarf_getcfi_elf(elf_.get()));
}

Dwarf* ModuleDebug::dwarf() {
  if (!information_) {
    information_.emplace(module_->debug_file().get(), module_->companions());
  }
  return information_->main();
}

std::optional<Dwarf_Die> ModuleDebug::whole_unit(const Dwarf_Die& root) {
  if (dwarf() == nullptr) return std::nullopt;
  return types::DebugInformation::is_skeleton(root) ? information_->split_off(root)
                                                    : std::optional(root);
}

ModuleDebug::FramePtr ModuleDebug::frame_at(Dwarf_Addr pc) {
  Dwarf_Frame* frame = nullptr;
  if (exception_tables_ != nullptr &&
      dwarf_cfi_addrframe(exception_tables_.get(), pc, &frame) == 0) {
    return FramePtr(frame);
  }
  // Few modules have these tables, and the query is cheap once the file is open.
  Dwarf_CFI* const debug_frames = dwarf() == nullptr ? nullptr : dwarf_getcfi(dwarf());
  if (debug_frames != nullptr && dwarf_cfi_addrframe(debug_frames, pc, &frame) == 0) {
    return FramePtr(frame);
  }
  return {};
}

const CodeUnits& ModuleDebug::units() {
  if (!units_) units_.emplace(dwarf());
  return *units_;
}

const ProcLines& ModuleDebug::proc_lines() {
  if (!proc_lines_) proc_lines_.emplace(dwarf());
  return *proc_lines_;
}

std::string ModuleDebug::name_without_symbol(RemoteAddr pc) {
  if (!stubs_) stubs_.emplace(*module_, elf_.get());
  if (const std::string name = stubs_->at(pc); !name.empty()) return function_name(name) + "@plt";
  if (!mini_symbols_) mini_symbols_.emplace(elf_.get());
  return function_name(mini_symbols_->at(pc.value - bias()));
}

ModuleDebugs::ModuleDebugs(const Modules& modules) {
  for (const Module& module : modules.all()) {
    for (const Segment& segment : module.segments()) {
      if (segment.executable) code_.push_back({segment.range, &module});
    }
  }
  std::sort(code_.begin(), code_.end(),
            [](const Code& a, const Code& b) { return a.range.start < b.range.start; });
}

const Module* ModuleDebugs::module_of(RemoteAddr pc) const {
  const auto behind = std::partition_point(
      code_.begin(), code_.end(), [pc](const Code& code) { return code.range.start <= pc; });
  if (behind == code_.begin() || !std::prev(behind)->range.contains(pc)) return nullptr;
  return std::prev(behind)->module;
}

bool ModuleDebugs::is_code(RemoteAddr at) const {
  return module_of(at) != nullptr;
}

ModuleDebug* ModuleDebugs::find(RemoteAddr pc) {
  const Module* module = module_of(pc);
  if (module == nullptr) return nullptr;
  auto& made = made_[module];
  if (made == nullptr) made = std::make_unique<ModuleDebug>(*module);
  return made.get();
}

}  // namespace heapattach::unwind
