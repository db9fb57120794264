#include "symbols/stack/module_debug.h"

#include <algorithm>
#include <cstdlib>

#include <gelf.h>

namespace heapattach::stack {

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
  // Cheap to ask for once the file is open; few modules have any.
  Dwarf_CFI* const debug_frames = dwarf() == nullptr ? nullptr : dwarf_getcfi(dwarf());
  if (debug_frames != nullptr && dwarf_cfi_addrframe(debug_frames, pc, &frame) == 0) {
    return FramePtr(frame);
  }
  return {};
}

const Module* ModuleDebugs::module_of(RemoteAddr pc) const {
  for (const Module& module : modules_.all()) {
    for (const Segment& segment : module.segments()) {
      if (segment.executable && segment.range.contains(pc)) return &module;
    }
  }
  return nullptr;
}

bool ModuleDebugs::is_code(RemoteAddr at) const {
  return module_of(at) != nullptr;
}

ModuleDebug* ModuleDebugs::find(RemoteAddr pc) {
  const Module* module = module_of(pc);
  if (module == nullptr) return nullptr;
  const auto known = std::find_if(made_.begin(), made_.end(),
                                  [&](const auto& made) { return &made->module() == module; });
  if (known != made_.end()) return known->get();
  return made_.emplace_back(std::make_unique<ModuleDebug>(*module)).get();
}

}  // namespace heapattach::stack
