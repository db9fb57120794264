#pragma once

#include <cstdint>
#include <string_view>

namespace heapattach::ruby {

// Where Ruby's structures have the members that are read from outside, in bytes. Ruby has no
// accessors for them that are exported and could be learned from, and its debug information is
// rarely installed: so there is a table per release, and a process counts only if its structures
// fit the table (machine.h). Values (strings, arrays, classes) have the form of a build without
// RVARGC, the default until 3.1.
struct Layout {
  struct {
    std::uint16_t ractors, main_thread, objspace, waiting_descriptors;
  } vm;  // rb_vm_t
  struct {
    std::uint16_t node, threads, thread_count, lock_owner;
  } ractor;  // rb_ractor_t
  struct {
    std::uint16_t object, vm, context, tid, blocking, awaited_mutex, name;
  } thread;  // rb_thread_t; its list node comes first
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
  } code;  // struct rb_iseq_constant_body
  struct {
    std::uint16_t definition, owner, original_id;  // the last: in the definition
  } method;                                        // rb_method_entry_t
  struct {
    std::uint16_t flags, sorted, pages, sorted_length, range;
  } objspace;  // rb_objspace_t
  struct {
    std::uint16_t slot_size, slots, free_slots, flags, start, marks, bytes;
  } page;                    // struct heap_page
  std::uint64_t page_bytes;  // of the memory that a page describes, and its alignment
  std::uint16_t line_bytes;  // of struct iseq_insn_info_entry
  std::uint32_t last_operator, first_name;  // tLAST_OP_ID, and the serial of the first other name
};

// None: the release is not known. `version` is "3.1.2".
[[nodiscard]] const Layout* layout_of(std::string_view version);

// The releases with a layout, for messages: "3.1".
inline constexpr std::string_view kKnownReleases = "3.1";

}  // namespace heapattach::ruby
