// Loads many libraries: "many_modules LIBRARY DIRECTORY COUNT" copies the library into the
// directory COUNT times, each time with a build id of its own, loads all the copies, and prints
//     ready loaded=N
// It keeps a list of 100 objects in the collector's heap.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <gc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char library[1 << 20];
static void** kept;

static int load_copy(long number, const char* directory, long bytes) {
  static const char kNote[16] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU";
  char path[4096];
  char* const note = memmem(library, (size_t)bytes, kNote, sizeof kNote);
  if (note != NULL) memcpy(note + sizeof kNote, &number, sizeof number);
  snprintf(path, sizeof path, "%s/module%ld.so", directory, number);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  if (file < 0 || write(file, library, (size_t)bytes) != bytes) return 0;
  close(file);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL;
}

int main(int count, char** words) {
  if (count < 4) return 1;
  GC_INIT();
  const int file = open(words[1], O_RDONLY);
  const long bytes = read(file, library, sizeof library);
  int loaded = 0;
  for (long i = 0; i < atol(words[3]); ++i) loaded += load_copy(i, words[2], bytes);
  kept = GC_MALLOC(100 * sizeof *kept);
  for (int i = 0; i < 100; ++i) kept[i] = GC_MALLOC(48);
  printf("ready loaded=%d\n", loaded);
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
