#pragma once

// The protocol between a target and its test: the target prints "ready" once its state is built,
// and answers each line of input with one line of "key=number" words (live_target.h).

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <unistd.h>

// The number of calls in this file that returned EINTR although no signal was handled.
inline int interrupted_talk = 0;

__attribute__((format(printf, 1, 2))) inline void say(const char* format, ...) {
  va_list words;
  va_start(words, format);
  std::vprintf(format, words);
  va_end(words);
  std::putchar('\n');
  std::fflush(stdout);
}

// Waits for the next question. Returns false when the test is gone. Uses plain read(), to see
// interruptions.
inline bool next_question(char* line, std::size_t size) {
  std::size_t length = 0;
  for (;;) {
    char letter = 0;
    const ssize_t got = ::read(STDIN_FILENO, &letter, 1);
    if (got < 0 && errno == EINTR) {
      ++interrupted_talk;
      continue;
    }
    if (got <= 0) return false;
    if (letter == '\n') break;
    if (length + 1 < size) line[length++] = letter;
  }
  line[length] = '\0';
  return true;
}

inline bool is(const char* line, const char* question) {
  return std::strcmp(line, question) == 0;
}
