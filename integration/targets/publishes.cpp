// Publishes OpenTelemetry's process context: "publishes memfd|anonymous NAME=VALUE…". With "memfd",
// it is in a file without a name; with "anonymous", in anonymous memory, for which some kernels
// have no names. "publish NAME=VALUE…" changes the context, and "begin" begins a change that never
// ends. Has 1,000 sessions.

#include <algorithm>
#include <cstdint>
#include <string>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "talk.h"

namespace {

constexpr std::size_t kBytes = 4096;
constexpr int kNameMemory = 0x53564d41;  // PR_SET_VMA

struct Header {
  char signature[8];
  std::uint32_t version;
  std::uint32_t payload_bytes;
  volatile std::uint64_t published_ns;
  const char* payload;
};

struct session {
  session* next;
  long id;
};

session* sessions;
Header* header;
std::string payload;

std::string with_length(char tag, const std::string& bytes) {
  std::string length;
  for (std::size_t left = bytes.size();; left >>= 7U) {
    length += static_cast<char>((left & 0x7fU) | (left >= 0x80 ? 0x80U : 0));
    if (left < 0x80) break;
  }
  return tag + length + bytes;
}

// The resource of words like "service.name=shop".
std::string resource_of(const std::string& words) {
  std::string resource;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string word = words.substr(at, end - at);
    const std::size_t sign = word.find('=');
    const std::string value = with_length('\x0a', word.substr(sign + 1));
    resource +=
        with_length('\x0a', with_length('\x0a', word.substr(0, sign)) + with_length('\x12', value));
    at = end + 1;
  }
  return with_length('\x0a', resource);
}

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Publishes as the specification requires, so that no reader takes a half-written context for
// whole.
void publish(const std::string& words) {
  header->published_ns = 0;
  __sync_synchronize();
  payload = resource_of(words);
  header->payload = payload.data();
  header->payload_bytes = static_cast<std::uint32_t>(payload.size());
  header->version = 2;
  __sync_synchronize();
  header->published_ns = now_ns();
  std::memcpy(header->signature, "OTEL_CTX", 8);
  prctl(kNameMemory, 0, header, kBytes, "OTEL_CTX");
}

Header* map_header(bool is_file) {
  const int file = is_file ? memfd_create("OTEL_CTX", MFD_CLOEXEC) : -1;
  if (is_file && ftruncate(file, kBytes) != 0) return nullptr;
  const int flags = is_file ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (is_file) close(file);
  madvise(memory, kBytes, MADV_DONTFORK);
  return memory == MAP_FAILED ? nullptr : static_cast<Header*>(memory);
}

}  // namespace

int main(int count, char** words) {
  std::string all;
  for (int i = 2; i < count; ++i) all += std::string(i > 2 ? " " : "") + words[i];
  header = count < 2 ? nullptr : map_header(is(words[1], "memfd"));
  if (header == nullptr) return 2;
  publish(all);
  for (long i = 0; i < 1000; ++i) sessions = new session{sessions, i};
  const bool has_names = prctl(kNameMemory, 0, header, kBytes, "OTEL_CTX") == 0;
  say("ready named=%d", has_names);
  char line[256];
  while (next_question(line, sizeof line)) {
    if (is(line, "begin")) header->published_ns = 0;
    if (std::strncmp(line, "publish ", 8) == 0) publish(line + 8);
    say("published=%d", header->published_ns != 0);
  }
  return 0;
}
