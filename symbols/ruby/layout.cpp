#include "symbols/ruby/layout.h"

namespace heapattach::ruby {

namespace {

// Ruby 3.1 on x86-64 Linux.
constexpr Layout kLayout31{
    .vm = {.ractors = 8, .main_thread = 40, .objspace = 1104, .waiting_descriptors = 304},
    .ractor = {.node = 568, .threads = 304, .thread_count = 320, .lock_owner = 336},
    .thread = {.object = 16,
               .vm = 32,
               .context = 40,
               .tid = 88,
               .blocking = 168,
               .awaited_mutex = 264,
               .name = 352},
    .context = {.stack = 0, .stack_words = 8, .frame = 16, .fiber = 40, .thread = 48},
    .fiber = {.object = 16, .context = 80, .previous = 512, .status = 528, .bytes = 600},
    .frame = {.pc = 0, .iseq = 16, .self = 24, .environment = 32, .bytes = 64},
    .code = {.size = 4,
             .code = 8,
             .path = 64,
             .label = 80,
             .first_line = 88,
             .lines = 120,
             .line_count = 136,
             .line_index = 144,
             .bytes = 152},
    .method = {.definition = 16, .owner = 32, .original_id = 32},
    .objspace = {.flags = 16, .sorted = 256, .pages = 264, .sorted_length = 280, .range = 288},
    .page = {.slot_size = 0,
             .slots = 2,
             .free_slots = 4,
             .flags = 12,
             .start = 32,
             .marks = 120,
             .bytes = 344},
    .page_bytes = 16384,
    .line_bytes = 12,
    .last_operator = 169,
    .first_name = 239,
};

}  // namespace

const Layout* layout_of(std::string_view version) {
  return version.starts_with("3.1.") ? &kLayout31 : nullptr;
}

}  // namespace heapattach::ruby
