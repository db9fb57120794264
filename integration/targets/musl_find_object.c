// Debian's unwinder asks glibc where a function's unwind tables are; musl has only dl_iterate_phdr.
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>

struct found {
  unsigned long long flags;
  void *start, *end, *map, *tables;
  unsigned long long reserved[7];
};
struct search {
  uintptr_t at;
  struct found* result;
};

static int look(struct dl_phdr_info* info, size_t bytes, void* data) {
  (void)bytes;
  struct search* search = data;
  int is_here = 0;
  void* tables = NULL;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && search->at - start < part->p_memsz) is_here = 1;
    if (part->p_type == PT_GNU_EH_FRAME) tables = (void*)start;
  }
  if (!is_here || tables == NULL) return 0;
  search->result->tables = tables;
  return 1;
}

int _dl_find_object(void* at, struct found* result) {
  struct search search = {(uintptr_t)at, result};
  return dl_iterate_phdr(look, &search) ? 0 : -1;
}
