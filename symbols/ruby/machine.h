#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "symbols/ruby/interpreter.h"
#include "symbols/ruby/layout.h"
#include "symbols/ruby/values.h"

namespace heapattach::ruby {

// The interpreter's virtual machine in memory, with what the names of classes and methods need.
struct Machine {
  const Layout* layout = nullptr;  // never null once found
  std::string release;             // "3.1.2"
  std::uint64_t vm = 0;
  std::uint64_t objspace = 0;
  std::uint64_t shapes = 0;  // the tree of the shapes of objects; 0: there is none, or not found
  Value names = 0;           // the array of all names, by the serial numbers of their IDs
  Id class_path = 0;         // __classpath__: the name of a class, in its table of variables; 0: it
                             // is in the class
  Id temporary_path = 0;     // __tmp_classpath__; 0: not known
  Id attached = 0;           // __attached__: what a singleton class is of; 0: not known
};

// Finds it by exported variables, and checks the layout by what must be true of any Ruby: threads
// and their contexts reference each other, the heap has the core classes, these have their names,
// and "initialize" is the name of its ID. Unsupported: the release has no known layout, or the
// layout does not fit; the message has the release and says what did not fit.
Result<Machine> find_machine(const Modules& modules,
                             const MemoryReader& memory,
                             const Interpreter& interpreter);

// "cannot read this Ruby release's heap (3.1.2): its …"
[[nodiscard]] std::string cannot_read(std::string_view what,
                                      std::string_view release,
                                      std::string_view why);

// The names of classes and methods, each read once. Borrows both.
class NameReader {
 public:
  NameReader(const Machine& machine, const Values& values) : machine_(machine), values_(values) {}

  // "Blog::Session"; as Ruby prints it without a name: "#<Class:0x00007f12a0345678>". Singleton
  // classes and included modules are passed over. None: it is no class.
  [[nodiscard]] std::optional<std::string> class_name(Value of_class);
  // The class or module that a method belongs to. Of a singleton class: what that is of, if this
  // is a class or module.
  [[nodiscard]] std::optional<std::string> owner_name(Value of_class);
  [[nodiscard]] std::optional<std::string> name(Id id) const;
  [[nodiscard]] std::optional<std::string> name_of_serial(std::uint64_t serial) const;

 private:
  std::optional<std::string> find_class_name(Value of_class) const;

  const Machine& machine_;
  const Values& values_;
  std::unordered_map<Value, std::optional<std::string>> classes_;
};

}  // namespace heapattach::ruby
