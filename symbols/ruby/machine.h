#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbols/ruby/interpreter.h"
#include "symbols/ruby/layout.h"
#include "symbols/ruby/values.h"

namespace heapattach::ruby {

// The interpreter's virtual machine in memory, and what is needed to name classes and methods.
struct Machine {
  std::shared_ptr<const Layout> layout;  // never null once found
  std::string release;                   // "3.1.2"
  std::uint64_t vm = 0;
  std::uint64_t objspace = 0;
  std::uint64_t shapes = 0;  // the array of objects' shapes; 0 if it was not found
  Value names = 0;           // the array of all names, by the serial numbers of their IDs
  Id class_path = 0;         // __classpath__: the name of a class, in its table of variables; 0: it
                             // is in the class
  Id temporary_path = 0;     // __tmp_classpath__; 0: not known
  Id attached = 0;           // __attached__: what a singleton class is of; 0: not known
  std::string no_threads;    // why its threads cannot be read; empty: they can
};

// Finds the machine and its layout by exported variables and by facts about any Ruby: the core
// classes are on pages that reference their records, threads and their contexts reference each
// other, classes have the names that all programs know, and "initialize" is among the names. Fails
// with Unsupported, with what did not fit, if the heap cannot be read.
Result<Machine> find_machine(const Modules& modules,
                             const MemoryReader& memory,
                             const Interpreter& interpreter);

// Formats a message like "cannot read this Ruby release's heap (3.1.2): its …".
[[nodiscard]] std::string cannot_read(std::string_view what,
                                      std::string_view release,
                                      std::string_view why);

class Shapes;

// The names of classes and methods, each read once. Borrows both.
class NameReader {
 public:
  NameReader(const Machine& machine, const Values& values) : machine_(machine), values_(values) {}

  // A name such as "Blog::Session"; without a name, Ruby's "#<Class:0x00007f12a0345678>". Skips
  // singleton classes and included modules. Returns nothing if `of_class` is not a class.
  [[nodiscard]] std::optional<std::string> class_name(Value of_class);
  // The class or module that a method belongs to. For a singleton class, the class or module that
  // it is attached to.
  [[nodiscard]] std::optional<std::string> owner_name(Value of_class);
  // The variables of a class or module, by their IDs, in releases that name classes by them.
  [[nodiscard]] std::vector<Values::Entry> variables_of(Value of_class);
  [[nodiscard]] std::optional<std::string> name(Id id) const;
  [[nodiscard]] std::optional<std::string> name_of_serial(std::uint64_t serial) const;

 private:
  std::optional<std::string> find_class_name(Value of_class);

  const Machine& machine_;
  const Values& values_;
  std::unordered_map<Value, std::optional<std::string>> classes_;
  std::shared_ptr<Shapes> shapes_;  // null until a class's variables are read by its shape
};

}  // namespace heapattach::ruby
