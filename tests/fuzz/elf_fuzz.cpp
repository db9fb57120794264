#include <cstddef>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

#include "attach/sandbox/sandbox.h"
#include "symbols/cxx/function_name.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/module.h"

// Reads the headers, symbols and loaded bytes of an ELF file, and demangles its symbols.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapattach;
  pretend_to_have_no_rights();
  Fd file(memfd_create("fuzz", MFD_CLOEXEC));
  if (pwrite(file.get(), data, size, 0) != static_cast<ssize_t>(size)) return 0;
  if (const auto elf = ElfFile::open(Fd(dup(file.get())))) {
    (void)elf->debug_link();
    (void)elf->has_section(".debug_info");
  }
  const auto module = Module::from_file(std::move(file), "/fuzz", 0x1000);
  if (!module) return 0;
  for (const Segment& segment : module->segments()) (void)module->file_bytes(segment.range.start);
  for (const Symbol& symbol : module->symbols()) (void)function_name(symbol.name);
  (void)module->find_symbol("main");
  (void)module->symbol_at(RemoteAddr{0x2000});
  return 0;
}
