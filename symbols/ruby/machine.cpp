#include "symbols/ruby/machine.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "symbols/ruby/object_space.h"
#include "symbols/ruby/shapes.h"

namespace heapattach::ruby {

namespace {

// Ruby's variables for core classes, and the classes' names.
constexpr std::array<std::pair<const char*, const char*>, 6> kCoreClasses{
    {{"rb_cObject", "Object"},
     {"rb_cString", "String"},
     {"rb_cArray", "Array"},
     {"rb_cModule", "Module"},
     {"rb_mKernel", "Kernel"},
     {"rb_cThread", "Thread"}}};

constexpr int kMostAncestors = 4096;
constexpr std::uint64_t kNamesTogether = 512;  // ID_ENTRY_UNIT
constexpr std::uint64_t kMostNames = std::uint64_t{1} << 28;
constexpr std::uint64_t kMostSegmentBytes = std::uint64_t{64} << 20;

// Offset of a class's own structure, and in that of its table of variables.
constexpr std::uint64_t kExtension = 24;
constexpr std::uint64_t kVariables = 8;

std::vector<Values::Entry> variables_of(const Values& values, Value of_class) {
  const auto extension = values.word(of_class + kExtension);
  if (!extension || !is_reference(*extension)) return {};
  const auto table = values.word(*extension + kVariables);
  return table ? values.entries(*table) : std::vector<Values::Entry>();
}

std::optional<std::string> name_in(const Values& values, Value names, std::uint64_t serial) {
  const auto group = values.element(names, serial / kNamesTogether);
  if (!group) return std::nullopt;
  const auto text = values.element(*group, serial % kNamesTogether * 2);
  return text ? values.text(*text) : std::nullopt;
}

// The serial number in a name's ID, above the four bits that say what the name is for.
std::uint64_t serial_of(const Layout& layout, Id id) {
  return id > layout.last_operator ? id >> 4 : id;
}

class Finder {
 public:
  Finder(const Modules& modules,
         const MemoryReader& memory,
         const Layout& layout,
         std::string release)
      : modules_(modules), values_(memory, layout.values) {
    machine_.layout = &layout;
    machine_.release = std::move(release);
  }

  Result<Machine> find() && {
    if (!find_vm()) return wrong("its virtual machine was not found");
    HA_TRY(find_heap());
    if (!find_class_path()) return wrong("its classes have no names");
    if (!find_names()) return wrong("its table of names was not found");
    if (machine_.class_path != 0) {
      if (name(machine_.class_path) != "__classpath__") return wrong("its classes have no names");
      const auto next = machine_.class_path + 16;
      if (name(next) == "__tmp_classpath__") machine_.temporary_path = next;
    }
    if (const auto bad = wrong_class()) return wrong(*bad);
    if (machine_.layout->shape.bytes != 0) find_shapes();
    return machine_;
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> variable(std::string_view name) const {
    const auto symbol = modules_.find_symbol(name);
    return symbol ? values_.word(symbol->address.value) : std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> name(Id id) const {
    return name_in(values_, machine_.names, serial_of(*machine_.layout, id));
  }

  [[nodiscard]] Error wrong(std::string_view why) const {
    return {ErrorKind::Unsupported, cannot_read("heap", machine_.release, why)};
  }

  // Retries, because Ruby may be growing the page list at this moment.
  Result<void> find_heap() {
    std::vector<Value> classes;
    for (const auto& one : kCoreClasses) {
      const auto found = variable(one.first);
      if (!found || !is_reference(*found))
        return wrong(fmt::format("{} was not found", one.second));
      classes.push_back(*found);
    }
    constexpr int kMostTries = 5;
    for (int tries = 1;; ++tries) {
      const auto found =
          find_object_space(*machine_.layout, values_.memory(), machine_.vm, classes);
      if (!found && tries < kMostTries) continue;
      if (!found) return wrong(found.error().message());
      machine_.objspace = *found;
      return {};
    }
  }

  bool find_vm() {
    if (const auto vm = variable("ruby_current_vm_ptr")) return is_vm(*vm);
    // Since 3.3 the variable is not exported, so the interpreter's data is searched for it.
    return any_word(
        [&](const std::vector<std::uint64_t>& words, std::size_t i) { return is_vm(words[i]); });
  }

  bool is_vm(std::uint64_t vm) {
    const Layout& layout = *machine_.layout;
    if (!is_reference(vm)) return false;
    machine_.vm = vm;
    const auto thread = values_.word(vm + layout.vm.main_thread);
    if (!thread || !is_reference(*thread)) return false;
    const auto context = values_.word(*thread + layout.thread.context);
    if (!context || !is_reference(*context)) return false;
    return values_.word(*thread + layout.thread.vm) == vm &&
           values_.word(*context + layout.context.thread) == *thread;
  }

  // Finds the only variable of Object that is the text "Object", in releases that keep it there.
  bool find_class_path() {
    if (machine_.layout->of_class.name != 0) return true;
    const auto object = variable("rb_cObject");
    const auto slot = object ? values_.slot(*object) : std::nullopt;
    if (!slot || slot->kind() != Kind::Class) return false;
    for (const Values::Entry& entry : variables_of(values_, *object)) {
      if (values_.text(entry.value) == "Object") machine_.class_path = entry.key;
    }
    for (const Values::Entry& entry : variables_of(values_, slot->of_class())) {
      if (entry.value == *object) machine_.attached = entry.key;
    }
    return machine_.class_path != 0;
  }

  // Finds a variable that is not exported in the interpreter's data: {last_id, str_sym, ids, …}.
  bool find_names() {
    return any_word([&](const std::vector<std::uint64_t>& words, std::size_t i) {
      if (i + 2 >= words.size()) return false;
      machine_.names = words[i + 2];
      return are_names(static_cast<std::uint32_t>(words[i]), words[i + 1], words[i + 2]);
    });
  }

  // Finds the shapes' variable, which is not exported either. Without it, some sizes are unknown.
  void find_shapes() {
    any_word([&](const std::vector<std::uint64_t>& words, std::size_t i) {
      if (!Shapes::are_at(*machine_.layout, values_, words[i])) return false;
      machine_.shapes = words[i];
      return true;
    });
  }

  // Whether any word of the interpreter's variables passes the test.
  template <class Test>
  bool any_word(const Test& test) {
    const auto object = modules_.find_symbol("rb_cObject");
    const Module* module = object ? modules_.find(object->address) : nullptr;
    if (module == nullptr) return false;
    for (const Segment& segment : module->segments()) {
      if (!segment.writable || segment.range.bytes > kMostSegmentBytes) continue;
      const std::vector<std::uint64_t> words = values_.words_in(segment.range);
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (test(words, i)) return true;
      }
    }
    return false;
  }

  bool are_names(std::uint64_t last, std::uint64_t table, Value names) const {
    const std::uint64_t serial = machine_.layout->initialize;
    if (last < serial || last > kMostNames || !is_reference(table) || !is_reference(names)) {
      return false;
    }
    const auto groups = values_.elements(names);
    return groups && groups->count > last / kNamesTogether &&
           name_in(values_, names, serial) == "initialize";
  }

  // The first core class whose name is wrong; nothing if all are right.
  std::optional<std::string> wrong_class() const {
    NameReader names(machine_, values_);
    for (const auto& [symbol, name] : kCoreClasses) {
      const auto found = variable(symbol);
      if (!found || names.class_name(*found) != name) return fmt::format("{} was not found", name);
    }
    return std::nullopt;
  }

  const Modules& modules_;
  Values values_;
  Machine machine_;
};

}  // namespace

Result<Machine> find_machine(const Modules& modules,
                             const MemoryReader& memory,
                             const Interpreter& interpreter) {
  const Layout* const layout = layout_of(interpreter.version);
  if (layout == nullptr) {
    return Error{ErrorKind::Unsupported,
                 cannot_read("heap", interpreter.version,
                             fmt::format("heapattach supports Ruby {}", kKnownReleases))};
  }
  return Finder(modules, memory, *layout, interpreter.version).find();
}

std::string cannot_read(std::string_view what, std::string_view release, std::string_view why) {
  return fmt::format("cannot read this Ruby release's {} ({}): {}", what, release, why);
}

std::optional<std::string> NameReader::class_name(Value of_class) {
  const auto [at, is_new] = classes_.try_emplace(of_class);
  if (is_new) at->second = find_class_name(of_class);
  return at->second;
}

std::optional<std::string> NameReader::find_class_name(Value of_class) const {
  for (int i = 0; i < kMostAncestors; ++i) {
    const auto known = i == 0 ? classes_.end() : classes_.find(of_class);
    if (known != classes_.end()) return known->second;
    const auto slot = values_.slot(of_class);
    if (!slot) return std::nullopt;
    const Kind kind = slot->kind();
    if (kind != Kind::Class && kind != Kind::Module && kind != Kind::Iclass) return std::nullopt;
    if (kind == Kind::Iclass || slot->is_singleton_class()) {
      of_class = slot->words[2];
      continue;
    }
    if (const auto in_class = machine_.layout->of_class.name; in_class != 0) {
      auto name = values_.text(values_.word(of_class + in_class).value_or(0));
      if (name) return name;
    }
    std::optional<std::string> temporary;
    if (machine_.class_path != 0) {
      for (const Values::Entry& entry : variables_of(values_, of_class)) {
        if (entry.key == machine_.class_path) return values_.text(entry.value);
        if (entry.key == machine_.temporary_path) temporary = values_.text(entry.value);
      }
    }
    if (temporary) return temporary;
    return fmt::format("#<{}:0x{:016x}>", kind == Kind::Module ? "Module" : "Class", of_class);
  }
  return std::nullopt;
}

std::optional<std::string> NameReader::owner_name(Value of_class) {
  const auto slot = values_.slot(of_class);
  if (!slot || !slot->is_singleton_class()) return class_name(of_class);
  if (const auto in_class = machine_.layout->of_class.attached; in_class != 0) {
    return class_name(values_.word(of_class + in_class).value_or(0));
  }
  for (const Values::Entry& entry : variables_of(values_, of_class)) {
    if (entry.key == machine_.attached) return class_name(entry.value);
  }
  return std::nullopt;
}

std::optional<std::string> NameReader::name(Id id) const {
  return name_of_serial(serial_of(*machine_.layout, id));
}

std::optional<std::string> NameReader::name_of_serial(std::uint64_t serial) const {
  return name_in(values_, machine_.names, serial);
}

}  // namespace heapattach::ruby
