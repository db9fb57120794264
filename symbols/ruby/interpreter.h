#pragma once

#include <optional>
#include <string>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"

namespace heapattach::ruby {

// The Ruby interpreter of a process (CRuby 2.7 or later), in a library or linked into the program.
struct Interpreter {
  std::string version;      // "3.1.2"
  std::string description;  // "ruby 3.1.2p20 (2022-04-12 revision 4491bb740a) [x86_64-linux-gnu]"
  std::string module;       // the module that contains it

  // Functions that are declared in ruby/ruby.h, ruby/thread.h and internal/thread.h.
  RemoteAddr eval_string;     // VALUE rb_eval_string(const char *)
  RemoteAddr call_with_lock;  // void *rb_thread_call_with_gvl(void *(*)(void *), void *)
  RemoteAddr has_lock;        // int ruby_thread_has_gvl_p(void)
  RemoteAddr is_ruby_thread;  // int ruby_native_thread_p(void)
  RemoteAddr is_collecting;   // int rb_during_gc(void)
};

// Returns nothing if a function is missing: the process does not run Ruby, or its Ruby exports
// less.
std::optional<Interpreter> find_interpreter(const Modules& modules, const MemoryReader& memory);

}  // namespace heapattach::ruby
