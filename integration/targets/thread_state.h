#pragma once

#include <stdio.h>
#include <string.h>

// The state letter of a thread of this process, from /proc; '?' if there is none.
static inline char state_of_thread(int tid) {
  char path[64];
  char text[512] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  FILE* const file = fopen(path, "r");
  if (file == NULL) return '?';
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  const char* const end = strrchr(text, ')');
  return end == NULL ? '?' : end[2];
}
