#pragma once

#include <cstdint>
#include <string_view>

namespace heapattach::ruby {

// Where Ruby's structures have the members that are read from outside, in bytes. Ruby has no
// accessors for them that are exported and could be learned from, and its debug information is
// rarely installed: so there is a table per release, and a process counts only if its structures
// fit the table (machine.h).

// What differs between releases in values.
struct ValueForm {
  // Since 3.2 a slot may be larger, and has what was a buffer: the length of a String in a slot is
  // before its bytes, not in the flags; a Hash's table is in its slot; and the capacity of an
  // object's variables is in its shape (shapes.h).
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
    std::uint16_t definition, owner, original_id;  // the last: in the definition
  } method;                                        // rb_method_entry_t
  // Of a class or module; 0: they are in its table of variables, with names of their own.
  struct {
    std::uint16_t name, attached;
  } of_class;
  struct {
    std::uint16_t flags, sorted, pages, sorted_length, range;
  } objspace;  // rb_objspace_t
  struct {
    std::uint16_t slot_size, slots, free_slots, flags, start, marks, bytes;
  } page;  // struct heap_page
  // The shape of an object; all 0: the release has none.
  struct {
    std::uint16_t capacity, type, slot_size, parent, bytes;
  } shape;                   // rb_shape_t
  std::uint64_t page_bytes;  // of the memory that a page describes, and its alignment
  std::uint16_t line_bytes;  // of struct iseq_insn_info_entry
  std::uint32_t last_operator, initialize;  // tLAST_OP_ID, and tInitialize: a name that all have
  ValueForm values;
  bool has_references;  // references.h knows what objects reference
};

// None: the release is not known. `version` is "3.1.2".
[[nodiscard]] const Layout* layout_of(std::string_view version);

// The releases with a layout, for messages: "3.1 and 3.3".
inline constexpr std::string_view kKnownReleases = "3.1 and 3.3";

}  // namespace heapattach::ruby
