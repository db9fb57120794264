// Linked into a static program, this fills the padding after the program's code at its start.

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <link.h>
#include <sys/mman.h>

namespace {

constexpr std::uintptr_t kPage = 4096;

int fill_padding(dl_phdr_info* module, std::size_t, void*) {
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uintptr_t start = module->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = start + segment.p_memsz;
    const std::uintptr_t page_end = (end + kPage - 1) & ~(kPage - 1);
    void* const first = reinterpret_cast<void*>(start & ~(kPage - 1));
    const std::size_t bytes = page_end - (start & ~(kPage - 1));
    if (mprotect(first, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) std::abort();
    std::memset(reinterpret_cast<void*>(end), 0xcc, page_end - end);
    if (mprotect(first, bytes, PROT_READ | PROT_EXEC) != 0) std::abort();
  }
  return 1;  // stops after the program, which comes first
}

__attribute__((constructor)) void fill() {
  dl_iterate_phdr(fill_padding, nullptr);
}

}  // namespace
