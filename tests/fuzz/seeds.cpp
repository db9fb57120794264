#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "symbols/dwarf/dwarf_types.h"
#include "symbols/elf/elf_file.h"
#include "symbols/types/model_bytes.h"
#include "symbols/unwind/stack_bytes.h"
#include "tests/fuzz/split_input.h"
#include "tests/support/context_message.h"
#include "tests/support/core_builder.h"

// fuzz_seeds INPUTS OUTPUT: makes the folders OUTPUT/<reader> that the fuzzers start from. The
// seeds are the ELF files of the folder INPUTS, which the tests compile, and the inputs written
// below.
namespace {

using namespace heapattach;
namespace files = std::filesystem;

constexpr std::uintmax_t kLargestSeed = 64U << 10U;

constexpr std::string_view kTypeInfo[] = {
    R"json({"types":[{"name":"Acme::Session","id":7,"min_subtype_id":7,"supertype_id":1,
"has_inner_pointers":true,"size":8,"align":8,"instance_size":32,"instance_align":8,
"instance_vars":[{"name":"@user","type_name":"String","offset":8,"size":8},
{"name":"@tags","type_name":"Array(String)","offset":16,"size":8}]},
{"name":"Tuple(Int32, String)","id":9,"min_subtype_id":9,"supertype_id":3,
"has_inner_pointers":true,"size":16,"align":8}]})json",
    R"json({"types":[{"name":"StaticArray(Int32, 24)","id":3,"size":96,"instance_vars":[]}]})json",
    "CRYSTAL_DUMP_TYPE_ID\n{0 - 0}: Nil\n{1 - 4}: Object\n  {1 - 3}: Reference\n"
    "    {1 - 1}: String\n    {2 - 2}: Array\n      {2 - 2}: Array(Int32)\n\n",
};

constexpr std::string_view kProc[] = {
    "55d0c8a00000-55d0c8a21000 r-xp 00002000 fd:01 1835030    /usr/bin/a b\\012c (deleted)\n"
    "Rss:                   4 kB\nVmFlags: rd ex mr mw me sd\n"
    "7f0000002000-7f0000004000 rw-p 00000000 00:00 0 \nRss:  0 kB\nVmFlags: rd wr um sd\n",
    "4711 (a) S (b) R 1 4711 4711 0 -1 4194304 107 0 0 0 0 0 0 0 20 0 3 0 100 0 0",
    "Name:\tapp\nState:\tS (sleeping)\nTgid:\t7\nPid:\t7\nPPid:\t1\nTracerPid:\t0\n",
    "60 26 0:51 / /mnt\\040x rw,nosuid shared:9 master:2 - fuse.x x rw\n",
    "slabinfo - version: 2.1\nuserfaultfd_ctx_cache      0     21    192   21    1 :\n",
};

constexpr std::string_view kTrace =
    R"json({"record":"trace","version":1,"pid":7,"every":524288,"gc_bytes_at_start":1}
{"record":"type","id":0,"name":"Session"}
{"record":"frame","id":0,"function":"f","file":"f.c","line":3,"address":"0x10","of":"own"}
{"record":"stack","id":0,"frames":[0],"truncated":true}
{"record":"thread","id":0,"tid":7,"name":"a"}
{"record":"fiber","id":0,"address":"0x20"}
{"record":"alloc","time_ns":1,"thread":0,"fiber":0,"address":"0x30","bytes":48,"type":0,"stack":0}
{"record":"realloc","time_ns":2,"address":"0x40","bytes":50,"old_address":"0x30","collection":1}
{"record":"free","time_ns":3,"address":"0x40","collection":2}
{"record":"end","complete":true,"allocs":2,"frees":1,"drops":0}
)json";
constexpr std::string_view kRuby[] = {
    R"json({"type":"ROOT", "root":"vm", "references":["0x10", "0x20"]}
{"address":"0x1000", "type":"SHAPE", "id":2, "parent_id":1, "shape_type":"IVAR","edge_name":"@a", "memsize":32}
{"address":"0x1008", "type":"SHAPE", "id":1, "shape_type":"ROOT", "memsize":32}
{"address":"0x10", "type":"CLASS", "class":"0x10", "superclass":"0x18", "name":"A", "references":["0x18"], "memsize":9}
{"address":"0x18", "type":"CLASS", "singleton":true, "superclass":"0x10", "memsize":9}
{"address":"0x20", "type":"OBJECT", "shape_id":2, "class":"0x18", "references":["0x10"], "file":"a.rb", "line":3, "memsize":40, "flags":{"old":true}}
{"address":"0x28", "type":"ARRAY", "class":"0x10", "length":2, "references":["0x20", "0x20"], "memsize":40}
{"address":"0x30", "type":"IMEMO", "imemo_type":"iseq", "memsize":40}
{"address":"0x38", "type":"STRING", "class":"0x10", "value":"\u00e9\n", "memsize":40}
)json",
    R"json([{"id":"_ROOTS_","stack":[8,16]}
,{"id":8,"bt":"T_CLASS","name":"A","methods":{"a":16},"ivs":{"@a":16},"super":null}
,{"id":16,"bt":"T_ARRAY","class":8,"val":["text",8,7,null]}
,{"id":24,"bt":"T_DATA","type_name":"iseq","size":60,"iseq":{"id":8}}
]
)json",
};
constexpr std::string_view kSnapshot =
    R"json({"record":"snapshot","version":1,"pid":7,"collector":{"name":"bdwgc","heap_bytes":4096}}
{"record":"type","name":"A","known_from":["header"],"fields":[{"name":"@b","offset":8,"bytes":8}]}
{"record":"type","name":"(buffer of A)","holder":"Array(A)"}
{"record":"thread","tid":7,"name":"t\u00e9","state":"S","frames":[{"pc":"0x41","function":"f","file":"f.c","line":3,"module":"m","inlined":[{"function":"g"}],"found_by":"scan"}],"left_out":9,"left_out_behind":1,"end":"corrupt"}
{"record":"fiber","address":"0x30","lossy":true,"frames":[{"pc":"0x42"}]}
{"record":"fiber","address":"0x31","same_frames_as":"0x30"}
{"record":"root","kind":"global","symbol":"C","to":"0x10"}
{"record":"root","kind":"stack","thread":7,"frame":0,"variable":"v","inlined":0,"address":"0x7f00","to":"0x20"}
{"record":"object","address":"0x10","type":"A","bytes":16,"refs":{"@b":"0x20","+8":"0x30"}}
{"record":"object","address":"0x20","type":"(buffer of A)","bytes":32,"refs":{"[0]":"0x10","[3].k":"0x10"}}
{"record":"object","address":"0x30","type":"String","bytes":16,"kind":"atomic","value":"x","cut":true}
{"record":"end","complete":true,"objects":3,"bytes":64,"roots":2,"skipped":0}
)json";

void write(const files::path& path, std::span<const std::byte> bytes) {
  files::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// Writes code for the evaluator: a piece of the ELF file's own code.
void write_code(const ElfFile& elf, const files::path& path) {
  for (const LoadSegment& segment : elf.segments()) {
    if (!segment.executable) continue;
    std::vector<std::byte> code(std::min<std::uint64_t>(segment.file_bytes, 512));
    code.resize(elf.read_at(segment.file_offset, code));
    write(path, code);
  }
}

std::vector<std::byte> bytes_of(const files::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> read{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(read));
  return {bytes.begin(), bytes.end()};
}

void write_seeds_of(const files::path& program, const files::path& output) {
  auto file = Fd::open(program.string(), O_RDONLY);
  if (!file) return;
  types::TypeOptions options;
  options.use_sandbox = false;
  const types::TypeModel model = types::read_types_of(*file, 0, options);
  const auto elf = ElfFile::open(std::move(file).value());
  if (!elf) return;
  const std::string name = program.filename().string();
  write(output / "elf" / name, bytes_of(program));
  write(output / "code_names" / name, bytes_of(program));
  write_code(*elf, output / "evaluator" / name);
  if (model.empty()) return;
  write(output / "model_bytes" / name, types::to_bytes(model));
  files::create_directories(output / "dwarf");
  std::error_code error;
  files::copy_file(program, output / "dwarf" / name, files::copy_options::overwrite_existing,
                   error);
}

// Writes a program together with the separate file that has the rest of its debug information.
void write_spread_seeds_of(const files::path& program, const files::path& output) {
  for (const char* extension : {".dwo", ".dwp", ".supplement"}) {
    const files::path beside = program.string() + extension;
    if (!files::exists(beside)) continue;
    const bool is_split = beside.extension() != ".supplement";
    const auto whole = bytes_of(program);
    const auto rest = bytes_of(beside);
    const fuzz::SplitInput input{is_split ? Companion::Kind::Split : Companion::Kind::Supplement,
                                 rest, whole};
    const auto name = program.filename().string() + extension;
    write(output / "split" / name, fuzz::to_bytes(input));
  }
}

void write_text(const files::path& path, const std::string& text) {
  write(path, std::as_bytes(std::span(text)));
}

// Writes core files in the kernel's form, and in gcore's, which leaves out more.
void write_cores(const files::path& output) {
  CoreBuilder core;
  core.process(7, "app").thread(8, 0x7f0000000010, 11).thread(7, 0x7f0000000020);
  core.program_headers_at(0x400040);
  core.files({{0x400000, 0x401000, 0, "/srv/app"},
              {0x401000, 0x403000, 1, "/srv/app"},
              {0x500000, 0x501000, 0, "/srv/data"}});
  core.memory(0x400000, 0x1000, "\177ELF", PF_R);
  core.memory(0x7f0000000000, 64, std::string(64, 'm'));
  write_text(output / "core" / "gcore", core.text());
  core.memory(0x401000, 0x2000, "", PF_R | PF_X).memory(0x500000, 0x1000, "", PF_R);
  write_text(output / "core" / "kernel", core.text());
  const std::string text = core.text();
  write_text(output / "core" / "cut", text.substr(0, text.size() - 40));
}

// Writes dumps of two objects and a text, in both formats.
void write_dumps(const files::path& output) {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  constexpr std::uint64_t kAtomic = std::uint64_t{1} << 63;
  const std::string version("\x01\x00", 2);
  write_text(output / "dump" / "graph",
             "GCGRPH" + version +
                 CoreBuilder::words({0x7f0000001000, 32, 7, 8, 0x7f0000001020, kEnd,  //
                                     0x7f0000001020, 32, 7, kEnd,                     //
                                     0x7f0000002000, 48 | kAtomic, 1, kEnd}));
  write_text(output / "dump" / "full",
             "GCFULL" + version +
                 CoreBuilder::words({0x7f0000001000, 16, 7, 0x7f0000002000,  //
                                     0x7f0000002000, 32 | kAtomic, 1, 0x400000004, 5, 6, kEnd}));
}

// Writes a payload, and a header with its payload.
void write_process_contexts(const files::path& output) {
  using namespace context;
  const std::string resource =
      field(1, attribute("service.name", "shop")) +
      field(1, field(1, "tags") + field(2, field(5, field(1, number(3, 7)))));
  const std::string payload = field(1, resource) + field(2, attribute("thread.key", "x"));
  const std::uint64_t version_and_size = 2 | std::uint64_t{payload.size()} << 32U;
  write_text(output / "process_context" / "payload", payload);
  write_text(output / "process_context" / "header",
             "OTEL_CTX" + CoreBuilder::words({version_and_size, 1, 32}) + payload);
}

void write_other_seeds(const files::path& output) {
  write_cores(output);
  write_dumps(output);
  write_process_contexts(output);
  std::size_t number = 0;
  for (const std::string_view text : kTypeInfo) {
    write(output / "type_info" / fmt::format("{}", number++), std::as_bytes(std::span(text)));
  }
  for (const std::string_view text : kProc) {
    write(output / "proc" / fmt::format("{}", number++), std::as_bytes(std::span(text)));
  }
  for (const std::string_view text : kRuby) {
    write(output / "ruby" / fmt::format("{}", number++), std::as_bytes(std::span(text)));
  }
  write(output / "snapshot" / "whole", std::as_bytes(std::span(kSnapshot)));
  write(output / "trace" / "whole", std::as_bytes(std::span(kTrace)));
  unwind::FoundStack found;
  found.stack.thread = 7;
  found.stack.frames = {{{0x10}, {0x20}, {0x30}, unwind::FoundBy::Registers},
                        {{0x11}, {0x30}, {0}, unwind::FoundBy::Scan}};
  found.locals = {{{"session", "struct node *[4][2]", false, 0x28}, 1}, {{"", "int", true, 5}, 0}};
  write(output / "stack_bytes" / "two_frames", unwind::to_bytes(found));
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: fuzz_seeds INPUTS OUTPUT\n");
    return 2;
  }
  for (const auto& entry : files::recursive_directory_iterator(words[1])) {
    const bool fits = entry.is_regular_file() && entry.file_size() <= kLargestSeed;
    if (!fits) continue;
    write_seeds_of(entry.path(), words[2]);
    write_spread_seeds_of(entry.path(), words[2]);
  }
  write_other_seeds(words[2]);
  return 0;
}
