#pragma once

#include <cstdint>
#include <string_view>

namespace heapattach::ruby {

// Offsets, in bytes, of the members of Ruby's structures that are read from outside. Ruby exports
// no accessors from which they could be learned, and its debug information is rarely installed. So
// there is a table per release, which is used only if the process's structures fit it (machine.h).

// Differences between releases in how values are stored.
struct ValueForm {
  // Since 3.2 a slot may be larger and contain what used to be a buffer. A String's length is then
  // before its bytes in the slot, not in the flags, a Hash's table is in its slot, and the capacity
  // for an object's variables is in its shape (shapes.h).
  bool is_wide = false;
  std::uint64_t array_length = 3;  // the flags with the length of an Array in a slot
  std::uint64_t struct_length = 3;
};

struct Layout {
  struct {
    std::uint16_t ractors, main_thread, objspace, waiting_descriptors;
  } vm;  // rb_vm_t
  struct {
    std::uint16_t node, threads, thread_count, lock_owner;
  } ractor;  // rb_ractor_t
  struct {
    std::uint16_t object, vm, context, native, tid, blocking, awaited_mutex, name;
  } thread;  // rb_thread_t; its list node comes first. If `native` is not 0, it references the
             // structure that has the tid
  struct {
    std::uint16_t stack, stack_words, frame, fiber, thread;
  } context;  // rb_execution_context_t
  struct {
    std::uint16_t object, context, previous, status, bytes;
  } fiber;  // rb_fiber_t
  struct {
    std::uint16_t pc, iseq, self, environment, bytes;
  } frame;  // rb_control_frame_t
  struct {
    std::uint16_t size, code, path, label, first_line, lines, line_count, line_index, bytes;
    bool first_line_is_value;  // a Fixnum
  } code;                      // struct rb_iseq_constant_body
  struct {
    std::uint16_t definition, owner, original_id;  // original_id is in the definition
  } method;                                        // rb_method_entry_t
  // The names in a class or module. If 0, they are in its table of variables, under names of their
  // own.
  struct {
    std::uint16_t name, attached;
  } of_class;
  struct {
    std::uint16_t flags, sorted, pages, sorted_length, range;
  } objspace;  // rb_objspace_t
  struct {
    std::uint16_t slot_size, slots, free_slots, flags, start, marks, bytes;
  } page;  // struct heap_page
  // The shape of an object; all 0 if the release has no shapes.
  struct {
    std::uint16_t capacity, type, slot_size, parent, bytes;
  } shape;                                  // rb_shape_t
  std::uint64_t page_bytes;                 // size and alignment of a page's memory
  std::uint16_t line_bytes;                 // size of struct iseq_insn_info_entry
  std::uint32_t last_operator, initialize;  // tLAST_OP_ID, and tInitialize, which all programs have
  ValueForm values;
  bool has_references;  // references.h can read what objects reference
};

// Null if the release is unknown. `version` is like "3.1.2".
[[nodiscard]] const Layout* layout_of(std::string_view version);

// The releases with a layout, for messages.
inline constexpr std::string_view kKnownReleases = "3.1 and 3.3";

}  // namespace heapattach::ruby
