// Makes the C and C++ libraries allocate objects for themselves, and prints the known addresses:
//
//     ready file=1234 buffer=1234 buffer_bytes=4096 address=1234 library=1234 list=1234 variable=0
//
// With "none", there are only objects that a C++ program cannot avoid, and objects that look like
// the others.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <unistd.h>

#include "talk.h"

namespace {

addrinfo* volatile address;
addrinfo* volatile copy;
void* volatile library;
void* volatile pool_like[3];
FILE* volatile file;
char* volatile own_buffer;

addrinfo* resolve() {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo("127.0.0.1", "80", &hints, &found) != 0) std::abort();
  return found;
}

void* wait(void* unused) {
  for (;;) pause();
  return unused;
}

// Makes copies of what a library allocates; these are the program's own objects.
void make_like() {
  addrinfo* const real = resolve();
  copy = static_cast<addrinfo*>(std::malloc(sizeof(addrinfo) + sizeof(sockaddr_in)));
  std::memcpy(copy, real, sizeof(addrinfo) + sizeof(sockaddr_in));  // points to the other's address
  freeaddrinfo(real);
  // Looks like the pool of libstdc++, but only this program's data reference it.
  auto* const memory = static_cast<std::size_t*>(std::malloc(70'000));
  memory[0] = 70'000;
  memory[1] = 0;
  pool_like[0] = memory;
  pool_like[1] = memory;
  pool_like[2] = reinterpret_cast<void*>(70'000);
  file = std::fopen("/proc/self/maps", "r");
  own_buffer = static_cast<char*>(std::malloc(3000));
  if (file == nullptr || std::setvbuf(file, own_buffer, _IOFBF, 3000) != 0) std::abort();
  if (std::fgetc(file) == EOF) std::abort();
}

unsigned long number(const volatile void* pointer) {
  return reinterpret_cast<unsigned long>(pointer);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::string(arguments[1]) == "none") {
    make_like();
    say("ready copy=%lu pool_like=%lu own_buffer=%lu", number(copy), number(pool_like[0]),
        number(own_buffer));
  } else {
    file = std::fopen("/proc/self/maps", "r");
    if (file == nullptr || std::fgetc(file) == EOF) std::abort();
    address = resolve();
    library = dlopen("libresolv.so.2", RTLD_NOW);
    setenv("HEAPATTACH_A_NAME", "a value", 1);
    pthread_t thread;
    if (library == nullptr || pthread_create(&thread, nullptr, wait, nullptr) != 0) std::abort();
    say("ready file=%lu buffer=%lu address=%lu library=%lu list=%lu variable=%lu", number(file),
        number(file->_IO_buf_base), number(address), number(library), number(environ),
        number(getenv("HEAPATTACH_A_NAME") - std::strlen("HEAPATTACH_A_NAME=")));
  }
  char line[64];
  while (next_question(line, sizeof line)) say("ok=1");
  return 0;
}
