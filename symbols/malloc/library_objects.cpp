#include "symbols/malloc/library_objects.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>

#include "attach/arch/thread_data.h"
#include "symbols/elf/machine.h"

// Offsets are those of the ABI of x86-64 and of other 64-bit machines: FILE and its list are part
// of it (struct_FILE.h), and so are link_map (link.h), addrinfo (netdb.h) and the first words at a
// thread pointer (glibc's tls.h). The emergency pool (eh_alloc.cc) and the vectors of thread-local
// data (dl-tls.c) are not, but have been the same in all releases since g++ 5 and glibc 2.26; they
// must fit their allocations.

namespace heapattach::glibc {

namespace {

using heap::ObjectRef;

constexpr std::uint64_t kWord = 8;
constexpr std::size_t kMostLinks = 100'000;  // of a list that may never end

class Finder {
 public:
  Finder(const heap::Heap& heap, const heap::Copied& copied)
      : heap_(heap), copied_(copied), seen_(heap) {}

  std::vector<heap::OwnObject> find() {
    find_emergency_pools();
    find_files();
    find_thread_data();
    find_loaded_libraries();
    find_environment();
    find_addresses();
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t at) const {
    std::uint64_t value = 0;
    const auto bytes = std::as_writable_bytes(std::span(&value, 1));
    if (!copied_.capture.read(RemoteAddr{at}, bytes) &&
        !copied_.outside.read(RemoteAddr{at}, bytes)) {
      return std::nullopt;
    }
    return value;
  }
  [[nodiscard]] std::uint64_t word_or_zero(std::uint64_t at) const { return word(at).value_or(0); }
  [[nodiscard]] std::uint64_t symbol(std::string_view name) const {
    const auto found = copied_.modules.find_symbol(name);
    return found ? found->address.value : 0;
  }

  // The allocation that starts at `at`.
  [[nodiscard]] std::optional<ObjectRef> chunk_at(std::uint64_t at) const {
    const auto ref = heap_.object_at(at);
    return ref && heap_.is_chunk(ref->block) ? ref : std::nullopt;
  }
  [[nodiscard]] std::uint64_t bytes_of(ObjectRef ref) const {
    return heap_.blocks()[ref.block].object_bytes;
  }
  void add(ObjectRef ref, std::string_view what, std::string_view holder) {
    if (seen_.insert(heap_.number(ref))) found_.push_back({ref, what, holder});
  }

  // Finds a static structure of libstdc++: a mutex, the first free entry, the memory, its size.
  void find_emergency_pools() {
    for (const Module& module : copied_.modules.all()) {
      if (!module.find_symbol("__cxa_allocate_exception")) continue;
      for (const Segment& segment : module.segments()) {
        if (segment.writable) find_emergency_pool(segment.range);
      }
    }
  }

  void find_emergency_pool(const Range& data) {
    std::vector<std::byte> bytes(std::min<std::uint64_t>(data.bytes, 1 << 20));
    if (!copied_.capture.read(data.start, bytes)) return;
    const auto at = [&](std::size_t offset) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + offset, sizeof value);
      return value;
    };
    for (std::size_t i = kWord; i + 2 * kWord <= bytes.size(); i += kWord) {
      const std::uint64_t memory = at(i);
      const auto ref = memory == 0 ? std::nullopt : chunk_at(memory);
      if (ref && is_emergency_pool(*ref, memory, at(i - kWord), at(i + kWord))) {
        add(*ref, "emergency pool", "libstdc++");
      }
    }
  }

  // A free entry is its size and the next one.
  [[nodiscard]] bool is_emergency_pool(ObjectRef ref,
                                       std::uint64_t memory,
                                       std::uint64_t free,
                                       std::uint64_t bytes) const {
    constexpr std::uint64_t kLeast = 1024;
    constexpr std::uint64_t kMostRounded = 2 * kWord;
    if (bytes < kLeast || bytes > bytes_of(ref) || bytes_of(ref) - bytes > kMostRounded) {
      return false;
    }
    const auto is_inside = [&](std::uint64_t address) {
      return address >= memory && address - memory + 2 * kWord <= bytes;
    };
    if (!is_inside(free)) return false;  // also of a pool in which nothing is free
    const std::uint64_t entry_bytes = word_or_zero(free);
    const std::uint64_t next = word_or_zero(free + kWord);
    return entry_bytes >= 2 * kWord && entry_bytes <= bytes - (free - memory) &&
           (next == 0 || is_inside(next));
  }

  void find_files() {
    constexpr std::uint64_t kChain = 0x68;
    const std::uint64_t list = symbol("_IO_list_all");
    if (list == 0) return;
    const std::array<std::pair<std::uint64_t, std::string_view>, 3> standard = {
        {{symbol("_IO_2_1_stdin_"), "stdin"},
         {symbol("_IO_2_1_stdout_"), "stdout"},
         {symbol("_IO_2_1_stderr_"), "stderr"}}};
    std::uint64_t file = word_or_zero(list);
    for (std::size_t count = 0; file != 0 && count < kMostLinks; ++count) {
      std::string_view name = "FILE";
      for (const auto& [address, known] : standard) {
        if (address == file) name = known;
      }
      if (!look_at_file(file, name)) return;
      file = word_or_zero(file + kChain);
    }
  }

  bool look_at_file(std::uint64_t file, std::string_view name) {
    constexpr std::uint64_t kMagicMask = 0xffff0000;
    constexpr std::uint64_t kMagic = 0xfbad0000;
    constexpr std::uint64_t kUserBuffer = 1;
    constexpr std::uint64_t kBuffer = 0x38;
    constexpr std::uint64_t kBufferEnd = 0x40;
    const std::uint64_t flags = word_or_zero(file);
    if ((flags & kMagicMask) != kMagic) return false;
    if (const auto ref = chunk_at(file)) add(*ref, "FILE", {});
    const std::uint64_t buffer = word_or_zero(file + kBuffer);
    const std::uint64_t end = word_or_zero(file + kBufferEnd);
    const auto ref = chunk_at(buffer);
    const bool fits = ref && end > buffer && end - buffer <= bytes_of(*ref);
    if (fits && (flags & kUserBuffer) == 0) add(*ref, "buffer", name);
    return true;
  }

  // The memory at a thread pointer holds the pointer itself (on some processors), and the address
  // of a vector with an entry for each module. The vector's length is one entry before that
  // address.
  void find_thread_data() {
    constexpr std::uint64_t kEntry = 16;
    const ThreadData* const data_at = thread_data(machine_of(copied_.modules));
    if (data_at == nullptr) return;
    for (const FrozenThread& thread : copied_.threads) {
      if (!thread.registers) continue;
      const std::uint64_t self = thread.registers->thread_pointer.value;
      const bool is_self =
          !data_at->self_at || (word(self) == self && word(self + *data_at->self_at) == self);
      if (self == 0 || !is_self) continue;
      const std::uint64_t vector = word_or_zero(self + data_at->vector_at);
      const auto ref = vector < kEntry ? std::nullopt : chunk_at(vector - kEntry);
      const std::uint64_t length = word_or_zero(vector - kEntry);
      if (!ref || length > bytes_of(*ref) / kEntry || (length + 2) * kEntry > bytes_of(*ref)) {
        continue;
      }
      add(*ref, "dtv", "a thread");
      for (std::uint64_t i = 1; i <= length; ++i) {
        const std::uint64_t data = word_or_zero(vector + i * kEntry);
        const auto to_free = chunk_at(word_or_zero(vector + i * kEntry + kWord));
        if (to_free && heap_.resolve(data) == to_free) {
          add(*to_free, "thread-local data", "a thread");
        }
      }
    }
  }

  void find_loaded_libraries() {
    constexpr std::uint64_t kName = 8;
    constexpr std::uint64_t kNext = 24;
    constexpr std::uint64_t kPrevious = 32;
    const std::uint64_t debug = symbol("_r_debug");
    std::uint64_t before = 0;
    std::uint64_t map = debug == 0 ? 0 : word_or_zero(debug + kWord);
    for (std::size_t count = 0; map != 0 && count < kMostLinks; ++count) {
      if (word(map + kPrevious) != before) return;
      if (const auto ref = chunk_at(map)) add(*ref, "link_map", "the loader");
      if (const auto ref = chunk_at(word_or_zero(map + kName))) add(*ref, "path", "the loader");
      before = map;
      map = word_or_zero(map + kNext);
    }
  }

  void find_environment() {
    const std::uint64_t variable = symbol("environ");
    const auto list = variable == 0 ? std::nullopt : chunk_at(word_or_zero(variable));
    if (!list) return;
    add(*list, "list", "the environment");
    for (std::uint64_t i = 0; i + kWord <= bytes_of(*list); i += kWord) {
      const std::uint64_t text = heap_.word_at(*list, i).value_or(0);
      if (text == 0) return;
      if (const auto ref = chunk_at(text)) add(*ref, "variable", "the environment");
    }
  }

  // getaddrinfo() allocates each result together with the socket address that the result
  // references.
  void find_addresses() {
    for (std::uint32_t block = 0; block < heap_.blocks().size(); ++block) {
      const std::uint64_t bytes = heap_.blocks()[block].object_bytes;
      if (bytes < kAddress + sizeof(sockaddr_in) || bytes > kAddress + kMostAddressBytes) continue;
      const ObjectRef ref{block, 0};
      if (heap_.is_chunk(block) && is_address(ref)) add(ref, "struct addrinfo", {});
    }
  }

  [[nodiscard]] bool is_address(ObjectRef ref) const {
    constexpr std::size_t kPointer = 24;
    const auto contents = heap_.contents(ref);
    if (contents.size() < kAddress + sizeof(sockaddr_in)) return false;
    const auto number = [&](std::size_t offset, auto kind) {
      std::memcpy(&kind, contents.data() + offset, sizeof kind);
      return kind;
    };
    if (number(kPointer, std::uint64_t{}) != heap_.address(ref).value + kAddress) return false;
    const auto family = number(4, std::int32_t{});
    const auto address_bytes = number(16, std::uint32_t{});
    const bool is_known = (family == AF_INET && address_bytes == sizeof(sockaddr_in)) ||
                          (family == AF_INET6 && address_bytes == sizeof(sockaddr_in6));
    return is_known && kAddress + address_bytes <= contents.size() &&
           number(kAddress, std::uint16_t{}) == family;
  }

  static constexpr std::size_t kAddress = 48;  // of the socket address, after struct addrinfo
  static constexpr std::size_t kMostAddressBytes = sizeof(sockaddr_in6) + 2 * kWord;

  const heap::Heap& heap_;
  const heap::Copied& copied_;
  heap::ObjectSet seen_;
  std::vector<heap::OwnObject> found_;
};

}  // namespace

std::vector<heap::OwnObject> find_library_objects(const heap::Heap& heap,
                                                  const heap::Copied& copied) {
  return Finder(heap, copied).find();
}

bool is_library_object(std::string_view type_name) {
  constexpr std::array<std::string_view, 11> kNames = {"(emergency pool of libstdc++)",
                                                       "(buffer of stdin)",
                                                       "(buffer of stdout)",
                                                       "(buffer of stderr)",
                                                       "(buffer of FILE)",
                                                       "(dtv of a thread)",
                                                       "(thread-local data of a thread)",
                                                       "(link_map of the loader)",
                                                       "(path of the loader)",
                                                       "(list of the environment)",
                                                       "(variable of the environment)"};
  return std::find(kNames.begin(), kNames.end(), type_name) != kNames.end();
}

}  // namespace heapattach::glibc
