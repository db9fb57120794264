#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <elf.h>
#include <sys/procfs.h>

namespace heapattach {

// Writes a core file of a few bytes, as the kernel does: the header, the list of memory, the notes,
// and the stored part of the memory.
class CoreBuilder {
 public:
  CoreBuilder& process(int pid, std::string_view name) {
    elf_prpsinfo info{};
    info.pr_pid = pid;
    name.copy(info.pr_fname, sizeof info.pr_fname - 1);
    return note(NT_PRPSINFO, bytes_of(info));
  }
  CoreBuilder& thread(int tid, std::uint64_t stack_pointer, int signal = 0) {
    elf_prstatus status{};
    status.pr_pid = tid;
    status.pr_cursig = static_cast<short>(signal);
    status.pr_reg[15] = static_cast<unsigned long long>(-1);  // orig_rax: in no system call
    status.pr_reg[19] = stack_pointer;                        // rsp
    status.pr_reg[16] = 0x401000;                             // rip
    return note(NT_PRSTATUS, bytes_of(status));
  }
  // Sets the processor (e_machine) of all that follows.
  CoreBuilder& machine(std::uint16_t machine) {
    machine_ = machine;
    return *this;
  }
  // Adds a thread of aarch64. `registers` are x0 to x30, sp and pc.
  CoreBuilder& thread_of_aarch64(int tid, const std::array<std::uint64_t, 33>& registers) {
    constexpr std::size_t kRegistersAt = offsetof(elf_prstatus, pr_reg);
    elf_prstatus status{};
    status.pr_pid = tid;
    std::string body = bytes_of(status).substr(0, kRegistersAt) + bytes_of(registers);
    return note(NT_PRSTATUS, body + words({0, 0}));  // pstate and pr_fpvalid
  }
  CoreBuilder& program_headers_at(std::uint64_t address) {
    return note(NT_AUXV, words({AT_PHDR, address, AT_NULL, 0}));
  }
  CoreBuilder& page_bytes(std::uint64_t bytes) {
    return note(NT_AUXV, words({AT_PAGESZ, bytes, AT_NULL, 0}));
  }
  struct MappedFile {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t page = 0;  // of the file
    std::string path;
  };
  CoreBuilder& files(const std::vector<MappedFile>& files) {
    std::string body = words({files.size(), 4096});
    for (const MappedFile& file : files) body += words({file.start, file.end, file.page});
    for (const MappedFile& file : files) body += file.path + '\0';
    return note(NT_FILE, body);
  }
  CoreBuilder& note(std::uint32_t type, const std::string& body, std::string owner = "CORE") {
    owner += '\0';
    const Elf64_Nhdr header{static_cast<std::uint32_t>(owner.size()),
                            static_cast<std::uint32_t>(body.size()), type};
    owner.resize((owner.size() + 3) / 4 * 4);
    notes_ += bytes_of(header) + owner + body;
    notes_.resize((notes_.size() + 3) / 4 * 4);
    return *this;
  }
  // Adds memory of `bytes` bytes. The core file has only `stored`, the first of them.
  CoreBuilder& memory(std::uint64_t start,
                      std::uint64_t bytes,
                      const std::string& stored,
                      std::uint32_t flags = PF_R | PF_W) {
    Elf64_Phdr header{};
    header.p_type = PT_LOAD;
    header.p_flags = flags;
    header.p_vaddr = start;
    header.p_memsz = bytes;
    header.p_filesz = stored.size();
    memory_.push_back({header, stored});
    return *this;
  }

  [[nodiscard]] std::string text() const {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_CORE;
    header.e_machine = machine_;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    const std::size_t count = memory_.size() + 1;
    header.e_phnum = static_cast<std::uint16_t>(count >= PN_XNUM ? PN_XNUM : count);
    header.e_phoff = sizeof header;
    std::uint64_t at = sizeof header + count * sizeof(Elf64_Phdr);
    std::string section;
    if (count >= PN_XNUM) {  // then a section header has the count
      Elf64_Shdr first{};
      first.sh_info = static_cast<std::uint32_t>(count);
      header.e_shoff = at;
      section = bytes_of(first);
      at += section.size();
    }
    Elf64_Phdr notes{};
    notes.p_type = PT_NOTE;
    notes.p_offset = at;
    notes.p_filesz = notes_.size();
    at += notes_.size();
    std::string text = bytes_of(header) + bytes_of(notes);
    std::string contents;
    for (Memory piece : memory_) {
      piece.header.p_offset = at + contents.size();
      contents += piece.stored;
      text += bytes_of(piece.header);
    }
    return text + section + notes_ + contents;
  }

  template <class T>
  static std::string bytes_of(const T& value) {
    return {static_cast<const char*>(static_cast<const void*>(&value)), sizeof value};
  }
  static std::string words(std::initializer_list<std::uint64_t> all) {
    std::string text;
    for (const std::uint64_t word : all) text += bytes_of(word);
    return text;
  }

 private:
  struct Memory {
    Elf64_Phdr header;
    std::string stored;
  };
  std::uint16_t machine_ = EM_X86_64;
  std::string notes_;
  std::vector<Memory> memory_;
};

}  // namespace heapattach
