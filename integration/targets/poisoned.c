// A program that falsifies its collector's data, and then never allocates again: "poisoned HOW
// [SEED]" prints "ready done=1", or done=0 if it did not find what to change, and waits for the
// end of its standard input. It finds everything from the addresses of its own objects: a header
// names its block, a bottom index references the header, and the top index references that index.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <gc.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint64_t word;
enum { kPage = 4096, kInIndex = 1024, kKey = 0x2010 / 8, kNext = 0x2018 / 8, kMost = 4096 };
enum { kName = 2, kFlagsAndKind = 3, kSize = 4, kDescriptor = 5 };

struct link {
  struct link* next;
  word value[3];
};
static struct link* first;

static word ranges[kMost][2];
static int range_count;

// All memory that can be written, but for the stack.
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

// The next place after `from` that has `value`.
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

static word* header_of(word block) {
  for (word* at = find(block, NULL); at != NULL; at = find(block, at)) {
    if (!is_within(at - kName, 16)) continue;
    const word size = at[kSize - kName];
    if (size == sizeof(struct link) || size == sizeof(struct link) + 16) return at - kName;
  }
  return NULL;
}

static word* index_of(word block, const word* header) {
  for (word* at = find((word)header, NULL); at != NULL; at = find((word)header, at)) {
    word* const index = at - block / kPage % kInIndex;
    if (is_within(index, kNext + 1) && index[kKey] == block >> 22) return index;
  }
  return NULL;
}

static word* top_of(word block, const word* index) {
  for (word* at = find((word)index, NULL); at != NULL; at = find((word)index, at)) {
    word* const top = at - (block >> 22) % 2048;
    // Most slots have the empty index.
    if (is_within(top, 2048) && top[0] != 0 && top[0] == top[1]) return top;
  }
  return NULL;
}

static word* reserve(size_t bytes) {
  void* const at =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}

static word seed;
static word pick(word below) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed % below;
}

static word block;
static word* header;
static word* bottom;
static word* top;

// Puts the new block into the index, in a bottom index of its own.
static word* enter(word at, word* new_header, word* new_bottom) {
  new_header[kName] = at;
  new_bottom[kKey] = at >> 22;
  new_bottom[kNext] = top[(at >> 22) % 2048];
  new_bottom[at / kPage % kInIndex] = (word)new_header;
  top[(at >> 22) % 2048] = (word)new_bottom;
  return new_header;
}

// A block of this size with one object, in memory that is only reserved.
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

// Indices that overlap: each needs 32 bytes, and is read as 8 KiB.
static int overlap(size_t count) {
  enum { kStep = 4 };
  word* const made = reserve(count * kStep * 8 + (1 << 20));
  if (made == NULL || reserve((size_t)1 << 36) == NULL) return 0;
  word before[2048];
  memcpy(before, top, sizeof before);
  for (size_t i = 0; i < count; ++i) {
    const word slot = i % 2048;
    word* const one = made + i * kStep;
    one[kKey] = (i / 2048 + 1) * 2048 + slot;
    one[kNext] = before[slot];
    before[slot] = (word)one;
  }
  memcpy(top, before, sizeof before);
  return 1;
}

// Indices full of one header.
static int repeat_header(size_t indices) {
  word* const made = reserve(indices * 16384);
  if (made == NULL || reserve((size_t)1 << 36) == NULL) return 0;
  for (size_t i = 0; i < indices; ++i) {
    word* const one = made + i * 2048;
    const word key = 4096 + i;
    for (int entry = 0; entry < kInIndex; ++entry) one[entry] = (word)header;
    one[kKey] = key;
    one[kNext] = top[key % 2048];
    top[key % 2048] = (word)one;
  }
  return 1;
}

// Some words of the collector's data, of headers, indices and objects.
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
      case 3: at = top + pick(2048); break;
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
    for (int i = 0; i < 2048; ++i) top[i] = (word)bottom;
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
  seed = count > 2 ? strtoull(words[2], NULL, 10) * 2654435761u + 1 : 1;
  list_ranges();
  block = (word)first / kPage * kPage;
  header = header_of(block);
  bottom = header == NULL ? NULL : index_of(block, header);
  top = bottom == NULL ? NULL : top_of(block, bottom);
  printf("ready done=%d\n", count > 1 && top != NULL && poison(words[1]));
  fflush(stdout);
  char end = 0;
  while (read(0, &end, 1) > 0) {
  }
  _exit(0);
}
