#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace heapattach::ruby {

// Offsets, in bytes, of the members of Ruby's structures that are read from outside. Ruby exports
// no accessors from which they could be learned, and its debug information is rarely installed. So
// they are found in each process by what references what (fit_heap.h, fit_threads.h). The search
// begins with the tables of two releases.

// Differences between releases in how values are stored.
struct ValueForm {
  // Since 3.2 a slot may be larger and contain what used to be a buffer. A String's length is then
  // before its bytes in the slot, not in the flags, and the capacity for an object's variables is
  // in its shape (shapes.h).
  bool is_wide = false;
  bool hash_in_slot = false;       // since 3.3: a Hash's table is in its slot
  std::uint64_t array_length = 3;  // the flags with the length of an Array in a slot
  std::uint64_t struct_length = 3;
  unsigned shared = 2;  // the user flag of an Array or String whose contents are another's
  bool has_fields =
      false;  // since 4.0: the variables of most objects are in an object of their own
};

// The shape of an object: the names of its variables, each derived from the shape that it had
// before. Offsets in bytes, and the sizes of numbers.
struct ShapeForm {
  std::uint16_t capacity = 0, capacity_bytes = 0, type = 0, parent = 0, index = 0, index_bytes = 0,
                bytes = 0;
  std::uint32_t number = ~std::uint32_t{0};  // the bits of a shape's number; others are flags
  std::uint32_t complex_flag = 0;            // the flag of a number: the variables are in a table
  std::uint8_t complex_type = 0xff;          // or the type for that
};

struct Layout {
  struct {
    std::uint16_t ractors = 0, main_thread = 0, objspace = 0, waiting_descriptors = 0;
  } vm;  // rb_vm_t
  struct {
    std::uint16_t node = 0, threads = 0, thread_count = 0, lock_owner = 0;
  } ractor;  // rb_ractor_t
  struct {
    std::uint16_t object = 0, vm = 0, context = 0, native = 0, tid = 0, blocking = 0,
                  awaited_mutex = 0, name = 0;
  } thread;  // rb_thread_t; its list node comes first. If `native` is not 0, it references the
             // structure that has the tid
  struct {
    std::uint16_t stack = 0, stack_words = 0, frame = 0, fiber = 0, thread = 0;
  } context;  // rb_execution_context_t
  struct {
    std::uint16_t object = 0, context = 0, previous = 0, status = 0, bytes = 0;
  } fiber;  // rb_fiber_t
  struct {
    std::uint16_t pc = 0, iseq = 0, self = 0, environment = 0, bytes = 0;
  } frame;  // rb_control_frame_t
  struct {
    std::uint16_t size = 0, code = 0, path = 0, label = 0, first_line = 0, lines = 0,
                  line_count = 0, line_index = 0, bytes = 0;
    bool first_line_is_value = false;  // a Fixnum
    bool has_label_of_parent = false;  // since 3.4: code of an eval, a rescue or an ensure
  } code;                              // struct rb_iseq_constant_body
  struct {
    std::uint16_t definition = 0, owner = 0, original_id = 0;  // original_id is in the definition
  } method;                                                    // rb_method_entry_t
  // Offsets in a class or module. If those of its names are 0, the names are variables of the
  // class: in a table or, if `variables` is not 0, in the buffer that is referenced there, in the
  // order of the class's shape.
  struct {
    std::uint16_t name = 0, attached = 0;
    std::uint16_t variables = 0;
    std::uint16_t superclass = 16;
    std::uint8_t singleton = 0;  // the user flag of a singleton class
  } of_class;
  // rb_objspace_t. `flags` and `sorted_length` are 0 if they are not known. If `list_has_count`,
  // the list of pages begins with its length and capacity.
  struct {
    std::uint16_t flags = 0, sorted = 0, pages = 0, sorted_length = 0, range = 0;
    bool list_has_count = false;
  } objspace;
  struct {
    std::uint16_t slot_size = 0, slots = 0, flags = 0, start = 0, marks = 0, bytes = 0;
  } page;                           // struct heap_page
  ShapeForm shape;                  // rb_shape_t; all 0 if there are no shapes
  std::uint64_t page_bytes = 0;     // size and alignment of a page's memory
  std::uint16_t line_bytes = 0;     // size of struct iseq_insn_info_entry
  std::uint32_t last_operator = 0;  // tLAST_OP_ID
  std::uint32_t initialize = 0;     // tInitialize, which all programs have
  ValueForm values;
};

// The table in which the search for a release's offsets begins; null for releases before 3.0.
// `version` is like "3.1.2".
[[nodiscard]] const Layout* layout_of(std::string_view version);
// The layout of this release, and then all others, which an unknown release may resemble more.
[[nodiscard]] std::vector<const Layout*> layouts_for(std::string_view version);

// The forms of shapes: of 3.2, of 3.3 and 3.4, of 4.0, and later.
inline constexpr std::array<ShapeForm, 4> kShapeForms{{
    {.capacity = 20,
     .capacity_bytes = 4,
     .type = 24,
     .parent = 28,
     .index = 16,
     .index_bytes = 4,
     .bytes = 32,
     .complex_type = 6},
    {.capacity = 20,
     .capacity_bytes = 4,
     .type = 24,
     .parent = 28,
     .index = 16,
     .index_bytes = 4,
     .bytes = 40,
     .complex_type = 4},
    {.capacity = 30,
     .capacity_bytes = 2,
     .type = 32,
     .parent = 24,
     .index = 28,
     .index_bytes = 2,
     .bytes = 40,
     .number = 0x7ffff,
     .complex_flag = 1U << 24},
    {.capacity = 25,
     .capacity_bytes = 1,
     .type = 26,
     .parent = 20,
     .index = 24,
     .index_bytes = 1,
     .bytes = 32,
     .number = 0x7ffff,
     .complex_flag = 1U << 26},
}};

// For messages.
inline constexpr std::string_view kReadableReleases = "3.0 or later";

}  // namespace heapattach::ruby
