#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "symbols/ruby/machine.h"
#include "tests/fakes/fake_memory.h"

namespace heapattach {

// A process of Ruby 3.1 or another release, written by hand: two threads that wait for each other's
// Mutex, one of them in a fiber, and a heap of one page. If the release has shapes, shape 5 has
// room for 15 variables, and shape 6 keeps variables in a table.
class FakeRuby {
 public:
  explicit FakeRuby(const std::string& version = "3.1.2");

  FakeMemory memory;
  ruby::Machine machine;
  std::uint64_t first_thread = 0;
  std::uint64_t second_thread = 0;
  std::uint64_t session_class = 0;
  std::uint64_t page_record = 0;
  std::uint64_t suspended_fiber = 0;  // an object, of the first thread
  std::uint64_t threads_head = 0;     // the ractor's list

  // The addresses of all words in the structures that are not 0.
  [[nodiscard]] std::vector<std::uint64_t> used_words() const;
  // The word at an address of the structures.
  [[nodiscard]] std::uint64_t word(std::uint64_t at) const;
  void put(std::uint64_t at, std::uint64_t value) { memory.put(RemoteAddr{at}, value); }

  // Take more memory, and make more objects.
  std::uint64_t take(std::uint64_t bytes);
  std::uint64_t slot(std::uint64_t flags, std::uint64_t of_class);
  std::uint64_t string(const std::string& text);
  std::uint64_t array(const std::vector<std::uint64_t>& elements);
  std::uint64_t class_named(const std::string& name);
  // Makes an st_table of these pairs. Since 4.1, it has no bins.
  std::uint64_t table(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& pairs,
                      bool has_bins = true);
  // Makes a code object.
  std::uint64_t code(const std::string& file, const std::string& function);

 private:
  std::uint64_t method(std::uint64_t owner, std::uint64_t id);
  // Makes a fiber of a thread, which is in Mutex#synchronize, called from `function` of app.rb.
  std::uint64_t fiber(std::uint64_t thread, const std::string& function);
  std::uint64_t thread(std::uint64_t ractor, int tid, std::uint64_t of_fiber);
  void make_names();
  void make_shapes();
  void make_threads();

  std::uint64_t slot_bytes_;
  std::uint64_t next_ = 0;
  std::uint64_t next_slot_ = 0;
  std::uint64_t method_ = 0;
};

}  // namespace heapattach
