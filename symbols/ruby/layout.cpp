#include "symbols/ruby/layout.h"

#include <algorithm>

namespace heapattach::ruby {

namespace {

// Ruby 3.1 on x86-64 Linux.
constexpr Layout kLayout31{
    .vm = {.ractors = 8, .main_thread = 40, .objspace = 1104, .waiting_descriptors = 304},
    .ractor = {.node = 568, .threads = 304, .thread_count = 320, .lock_owner = 336},
    .thread = {.object = 16,
               .vm = 32,
               .context = 40,
               .native = 0,
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
             .bytes = 152,
             .first_line_is_value = true},
    .method = {.definition = 16, .owner = 32, .original_id = 32},
    .of_class = {.name = 0, .attached = 0},
    .objspace = {.flags = 16, .sorted = 256, .pages = 264, .sorted_length = 280, .range = 288},
    .page = {.slot_size = 0, .slots = 2, .flags = 12, .start = 32, .marks = 120, .bytes = 344},
    .shape = {},
    .page_bytes = 16384,
    .line_bytes = 12,
    .last_operator = 169,
    .initialize = 195,
    .values = {},
};

// Ruby 3.3 on x86-64 Linux.
constexpr Layout kLayout33{
    .vm = {.ractors = 8, .main_thread = 40, .objspace = 1304, .waiting_descriptors = 488},
    .ractor = {.node = 432, .threads = 256, .thread_count = 272, .lock_owner = 328},
    .thread = {.object = 16,
               .vm = 32,
               .context = 48,
               .native = 40,
               .tid = 24,
               .blocking = 248,
               .awaited_mutex = 344,
               .name = 432},
    .context = {.stack = 0, .stack_words = 8, .frame = 16, .fiber = 40, .thread = 48},
    .fiber = {.object = 16, .context = 80, .previous = 680, .status = 696, .bytes = 768},
    .frame = {.pc = 0, .iseq = 16, .self = 24, .environment = 32, .bytes = 56},
    .code = {.size = 4,
             .code = 8,
             .path = 64,
             .label = 80,
             .first_line = 88,
             .lines = 112,
             .line_count = 128,
             .line_index = 136,
             .bytes = 144,
             .first_line_is_value = false},
    .method = {.definition = 16, .owner = 32, .original_id = 32},
    .of_class = {.name = 152, .attached = 128},
    .objspace = {.flags = 16, .sorted = 1208, .pages = 1216, .sorted_length = 1232, .range = 1240},
    .page = {.slot_size = 0, .slots = 2, .flags = 12, .start = 32, .marks = 272, .bytes = 480},
    .shape = kShapeForms[1],
    .page_bytes = 65536,
    .line_bytes = 12,
    .last_operator = 169,
    .initialize = 196,
    .values = {.is_wide = true, .hash_in_slot = true, .array_length = 0x7f, .struct_length = 0x7f},
};

// Ruby 3.2 has the structures of 3.3 for most values, but the threads of 3.1, and the names of
// classes are variables.
constexpr Layout ruby32() {
  Layout layout = kLayout33;
  layout.ractor = kLayout31.ractor;
  layout.thread = kLayout31.thread;
  layout.thread.native = 40;
  layout.thread.context = 48;
  layout.thread.tid = 16;
  layout.values.hash_in_slot = false;
  layout.of_class = {.name = 0, .attached = 0, .variables = 32};
  layout.shape = kShapeForms[0];
  return layout;
}
constexpr Layout kLayout32 = ruby32();

constexpr Layout ruby34() {
  Layout layout = kLayout33;
  layout.values.shared = 0;
  layout.code.has_label_of_parent = true;
  return layout;
}
constexpr Layout kLayout34 = ruby34();

constexpr Layout ruby40() {
  Layout layout = kLayout34;
  layout.values.has_fields = true;
  return layout;
}
constexpr Layout kLayout40 = ruby40();

}  // namespace

const Layout* layout_of(std::string_view version) {
  if (version.size() < 3 || version[1] != '.') return nullptr;
  if (version.starts_with("3.0.") || version.starts_with("3.1.")) return &kLayout31;
  if (version.starts_with("3.2.")) return &kLayout32;
  if (version.starts_with("3.3.")) return &kLayout33;
  if (version.starts_with("3.4.")) return &kLayout34;
  return version.front() >= '3' ? &kLayout40 : nullptr;
}

std::vector<const Layout*> layouts_for(std::string_view version) {
  std::vector<const Layout*> layouts;
  if (const Layout* own = layout_of(version)) {
    layouts = {own, &kLayout40, &kLayout34, &kLayout33, &kLayout32, &kLayout31};
    layouts.erase(std::find(layouts.begin() + 1, layouts.end(), own));
  }
  return layouts;
}

}  // namespace heapattach::ruby
