// A program that falsifies its collector's data, and then never allocates again. It finds
// everything from the addresses of its own objects: a header names its block, a bottom index
// references the header, and the top index references that index.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <gc.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "falsify.h"

enum {
  kPage = 4096,
  kInIndex = 1024,
  kInTop = 2048,
  kKey = 0x2010 / 8,
  kNext = 0x2018 / 8,
  kMost = 4096
};
enum { kName = 2, kFlagsAndKind = 3, kSize = 4, kDescriptor = 5 };

struct link {
  struct link* next;
  word value[3];
};
static struct link* first;

static word ranges[kMost][2];
static int range_count;

// Lists all writable memory except the stack.
static void list_ranges(void) {
  char line[512];
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL && range_count < kMost) {
    word* const range = ranges[range_count];
    char rights[5];
    if (sscanf(line, "%lx-%lx %4s", &range[0], &range[1], rights) != 3) continue;
    if (strncmp(rights, "rw", 2) != 0 || strstr(line, "[stack]") != NULL) continue;
    ++range_count;
  }
  fclose(maps);
}

// The address of the next word after `from` that has `value`.
static word* find(word value, word* from) {
  for (int i = 0; i < range_count; ++i) {
    word* const end = (word*)ranges[i][1];
    for (word* at = (word*)ranges[i][0]; at < end; ++at) {
      if (*at == value && at > from) return at;
    }
  }
  return NULL;
}

static int is_within(const word* at, size_t words) {
  for (int i = 0; i < range_count; ++i) {
    if ((word)at >= ranges[i][0] && (word)(at + words) <= ranges[i][1]) return 1;
  }
  return 0;
}

static word block;
static word* header;
static word* bottom;
static word* top;

// Whether this is the top index: most of its slots reference the same bottom index, the empty one.
static int is_top(const word* slots) {
  int same = 0;
  if (!is_within(slots, kInTop)) return 0;
  for (int i = 0; i < kInTop; ++i) same += slots[i] != 0 && slots[i] == slots[(i + 1) % kInTop];
  return same > kInTop / 2;
}

static int find_top(void) {
  for (word* at = find((word)bottom, NULL); at != NULL; at = find((word)bottom, at)) {
    top = at - (block >> 22) % kInTop;
    if (is_top(top)) return 1;
  }
  return 0;
}

static int find_bottom(void) {
  for (word* at = find((word)header, NULL); at != NULL; at = find((word)header, at)) {
    bottom = at - block / kPage % kInIndex;
    if (is_within(bottom, kNext + 1) && bottom[kKey] == block >> 22 && find_top()) return 1;
  }
  return 0;
}

// Finds the header. Words elsewhere may look like it, but no index references them.
static int find_header(void) {
  for (word* at = find(block, NULL); at != NULL; at = find(block, at)) {
    header = at - kName;
    if (!is_within(header, 16)) continue;
    const word size = header[kSize];
    const int is_header = size == sizeof(struct link) || size == sizeof(struct link) + 16;
    if (is_header && find_bottom()) return 1;
  }
  return 0;
}

static word* reserve(size_t bytes) {
  void* const at =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}

// Puts the new block into the index, in a bottom index of its own.
static word* enter(word at, word* new_header, word* new_bottom) {
  new_header[kName] = at;
  new_bottom[kKey] = at >> 22;
  new_bottom[kNext] = top[(at >> 22) % kInTop];
  new_bottom[at / kPage % kInIndex] = (word)new_header;
  top[(at >> 22) % kInTop] = (word)new_bottom;
  return new_header;
}

// Adds a block of this size with one object, in memory that is only reserved.
static int claim(size_t bytes) {
  word* const memory = reserve(bytes + (1 << 22));
  word* const made = reserve(1 << 20);
  if (memory == NULL || made == NULL) return 0;
  const word at = ((word)memory + (1 << 22) - 1) >> 22 << 22;
  memcpy(made, header, 328);
  made[kSize] = made[kDescriptor] = bytes;
  enter(at, made, made + 4096);
  first->value[0] = at;
  return 1;
}

// Adds bottom indices that overlap: each has 32 bytes of its own, and is read as 8 KiB.
static int overlap(size_t count) {
  enum { kStep = 4 };
  word* const made = reserve(count * kStep * 8 + (1 << 20));
  if (made == NULL || reserve((size_t)1 << 36) == NULL) return 0;
  word before[kInTop];
  memcpy(before, top, sizeof before);
  for (size_t i = 0; i < count; ++i) {
    const word slot = i % kInTop;
    word* const one = made + i * kStep;
    one[kKey] = (i / kInTop + 1) * kInTop + slot;
    one[kNext] = before[slot];
    before[slot] = (word)one;
  }
  memcpy(top, before, sizeof before);
  return 1;
}

// Adds bottom indices whose entries all reference one header.
static int repeat_header(size_t indices) {
  word* const made = reserve(indices * 16384);
  if (made == NULL || reserve((size_t)1 << 36) == NULL) return 0;
  for (size_t i = 0; i < indices; ++i) {
    word* const one = made + i * kInTop;
    const word key = 4096 + i;
    for (int entry = 0; entry < kInIndex; ++entry) one[entry] = (word)header;
    one[kKey] = key;
    one[kNext] = top[key % kInTop];
    top[key % kInTop] = (word)one;
  }
  return 1;
}

// Changes random words of the collector's data, of headers, indices and objects.
static int scatter(void) {
  const ElfW(Sym)* symbol = NULL;
  Dl_info info;
  word* const data = dlsym(RTLD_DEFAULT, "GC_arrays");
  size_t bytes = 0;
  if (data != NULL && dladdr1(data, &info, (void**)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL)
    bytes = symbol->st_size;
  for (word count = pick(40) + 1; count > 0; --count) {
    const word values[] = {
        0,          1,           pick(5000),         (word)1 << 60, (word)1 << 46, ~(word)0,
        ~(word)15,  block,       block + pick(4096), (word)header,  (word)bottom,  (word)top,
        (word)data, (word)first, (word)header + 4};
    word* at = NULL;
    switch (pick(6)) {
      case 0: at = bottom + pick(kInIndex + 4); break;
      case 1: at = header + pick(42); break;
      case 2: at = (word*)(block + pick(512) * 8); break;
      case 3: at = top + pick(kInTop); break;
      default: at = bytes < 8 ? top : data + pick(bytes / 8); break;
    }
    *at = values[pick(sizeof values / sizeof *values)];
  }
  return 1;
}

static int poison(const char* how) {
  if (strcmp(how, "sizes") == 0) {
    for (int i = 0; i < kInIndex; ++i) {
      if (bottom[i] >= kPage) ((word*)bottom[i])[kSize] = (word)1 << 60;
    }
    return 1;
  }
  if (strcmp(how, "odd sizes") == 0) return (header[kSize] = 24) != 0;
  if (strcmp(how, "no size") == 0) return (header[kSize] = 0) == 0;
  if (strcmp(how, "another name") == 0) return (header[kName] += kPage) != 0;
  if (strcmp(how, "one header") == 0) {
    for (int i = 0; i < kInIndex; ++i) bottom[i] = (word)header;
    return 1;
  }
  if (strcmp(how, "many of one header") == 0) return repeat_header(16384);
  if (strcmp(how, "chain in a circle") == 0) return (bottom[kNext] = (word)bottom) != 0;
  if (strcmp(how, "one index") == 0) {
    for (int i = 0; i < kInTop; ++i) top[i] = (word)bottom;
    return 1;
  }
  if (strcmp(how, "no blocks begin") == 0) {
    for (int i = 0; i < kInIndex; ++i) bottom[i] = 1;
    return 1;
  }
  if (strcmp(how, "free lists in a circle") == 0) {
    for (word at = block; at + 32 <= block + kPage; at += header[kSize]) *(word*)at = at;
    return 1;
  }
  if (strcmp(how, "a terabyte") == 0) return claim((size_t)1 << 40);
  if (strcmp(how, "64 terabytes") == 0) return claim((size_t)1 << 46);
  if (strcmp(how, "overlapping indices") == 0) return overlap(1 << 20);
  if (strcmp(how, "scattered") == 0) return scatter();
  return 0;
}

int main(int count, char** words) {
  GC_INIT();
  for (int i = 0; i < 5000; ++i) {
    struct link* const made = GC_MALLOC(sizeof *made);
    made->next = first;
    first = made;
  }
  GC_gcollect();
  set_seed(count, words);
  list_ranges();
  block = (word)first / kPage * kPage;
  wait_for_end(count > 1 && find_header() && poison(words[1]));
}
