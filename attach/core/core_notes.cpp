#include "attach/core/core_notes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include <elf.h>
#include <fmt/format.h>
#include <sys/procfs.h>

#include "attach/arch/addresses.h"
#include "attach/arch/core_registers.h"

namespace heapattach {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kMostAuxv = 1 << 16;
constexpr std::size_t kMostFaults = 20;

template <class T>
bool copy_out(Bytes bytes, std::size_t at, T& value) {
  if (at > bytes.size() || sizeof value > bytes.size() - at) return false;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return true;
}

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reads the notes of one segment into CoreNotes.
class Reader {
 public:
  explicit Reader(CoreNotes& notes) : notes_(notes) {}

  void read(Bytes bytes) {
    Elf64_Nhdr header;
    while (copy_out(bytes, 0, header)) {
      bytes = bytes.subspan(sizeof header);
      const std::uint64_t name_bytes = padded(header.n_namesz);
      if (name_bytes > bytes.size() || header.n_descsz > bytes.size() - name_bytes) {
        return fault("a note is longer than its segment");
      }
      const std::string_view name = as_text(bytes.first(header.n_namesz));
      const Bytes body = bytes.subspan(name_bytes, header.n_descsz);
      const std::string_view owner = name.substr(0, name.find('\0'));
      if (owner == "CORE") take(header.n_type, body);
      take_other_registers(owner, header.n_type, body);
      bytes = bytes.subspan(
          std::min<std::uint64_t>(name_bytes + padded(header.n_descsz), bytes.size()));
    }
  }

 private:
  static std::uint64_t padded(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

  void fault(std::string text) {
    if (notes_.faults.size() < kMostFaults) notes_.faults.push_back(std::move(text));
  }

  void take(std::uint32_t type, Bytes body) {
    switch (type) {
      case NT_PRSTATUS: return take_thread(body);
      case NT_PRPSINFO: return take_process(body);
      case NT_AUXV: return take_auxv(body);
      case NT_FILE: return take_files(body);
      default: return;
    }
  }

  void take_auxv(Bytes body) {
    if (!notes_.auxv.empty()) return;
    notes_.auxv = as_text(body.first(std::min(body.size(), kMostAuxv)));
  }

  void take_thread(Bytes body) {
    // The part before the registers is the same for all processors.
    constexpr std::size_t kRegistersAt = offsetof(elf_prstatus, pr_reg);
    const std::size_t bytes = core_register_bytes(notes_.machine);
    std::array<std::byte, sizeof(elf_prstatus)> head{};
    elf_prstatus status{};
    if (body.size() < kRegistersAt + bytes) return fault("a thread's registers are cut off");
    std::copy_n(body.begin(), kRegistersAt, head.begin());
    std::memcpy(&status, head.data(), sizeof status);
    const pid_t tid = status.pr_pid;
    if (tid <= 0) return fault(fmt::format("a thread has the invalid id {}", tid));
    // In files that the kernel writes, the first thread is the one that ended the process.
    if (notes_.threads.empty()) notes_.signal = status.pr_cursig;
    FrozenThread thread;
    thread.tid = tid;
    thread.registers = core_registers(notes_.machine, body.subspan(kRegistersAt, bytes));
    notes_.threads.push_back(std::move(thread));
  }

  // A thread's other registers follow it. Those of AVX come after the basic ones and include them.
  void take_other_registers(std::string_view owner, std::uint32_t type, Bytes body) {
    if (notes_.threads.empty()) return;
    FrozenThread& thread = notes_.threads.back();
    if (const auto pointer = core_thread_pointer(notes_.machine, owner, type, body)) {
      thread.registers->thread_pointer = *pointer;
    }
    auto words = core_vector_words(notes_.machine, owner, type, body);
    if (!words.empty()) thread.vector_registers = std::move(words);
  }

  void take_process(Bytes body) {
    elf_prpsinfo info{};
    if (!copy_out(body, 0, info)) return fault("its description of the process is cut off");
    if (notes_.pid != 0 || info.pr_pid <= 0) return;
    notes_.pid = info.pr_pid;
    // gcore writes one byte more of a name than the kernel does.
    notes_.name.assign(info.pr_fname, ::strnlen(info.pr_fname, sizeof info.pr_fname - 1));
  }

  // The number of parts and the page size; for each part its begin, its end and its file offset in
  // pages; then their names (fs/binfmt_elf.c, fill_files_note).
  void take_files(Bytes body) {
    std::uint64_t count = 0;
    std::uint64_t page = 0;
    if (!copy_out(body, 0, count) || !copy_out(body, 8, page)) return;
    constexpr std::uint64_t kHead = 16;
    constexpr std::uint64_t kPart = 24;
    if (count > (body.size() - kHead) / kPart || page == 0 || page > (1U << 30U)) {
      return fault("its list of mapped files is cut off");
    }
    notes_.has_files = true;
    std::string_view names = as_text(body.subspan(kHead + count * kPart));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t end = names.find('\0');
      if (end == std::string_view::npos) return fault("the names of its mapped files are cut off");
      std::uint64_t start = 0;
      std::uint64_t stop = 0;
      std::uint64_t pages = 0;
      const std::size_t at = kHead + i * kPart;
      static_cast<void>(copy_out(body, at, start) && copy_out(body, at + 8, stop) &&
                        copy_out(body, at + 16, pages));
      add_file(start, stop, pages, page, names.substr(0, end));
      names.remove_prefix(end + 1);
    }
  }

  void add_file(std::uint64_t start,
                std::uint64_t stop,
                std::uint64_t pages,
                std::uint64_t page,
                std::string_view name) {
    if (start >= stop || stop > kAddressEnd || pages > INT64_MAX / page) {
      return fault(
          fmt::format("its list of mapped files has {} at an invalid place, {:#x} to {:#x}", name,
                      start, stop));
    }
    notes_.files.push_back({{RemoteAddr{start}, stop - start}, pages * page, std::string(name)});
  }

  CoreNotes& notes_;
};

}  // namespace

void read_core_notes(std::span<const std::byte> bytes, CoreNotes& notes) {
  Reader(notes).read(bytes);
}

}  // namespace heapattach
