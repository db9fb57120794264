#include "symbols/ruby/machine.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "symbols/elf/machine.h"
#include "symbols/ruby/arch/collector_flags.h"
#include "symbols/ruby/fit_heap.h"
#include "symbols/ruby/fit_threads.h"
#include "symbols/ruby/heap_pages.h"
#include "symbols/ruby/shapes.h"

namespace heapattach::ruby {

namespace {

// Ruby's variables for core classes, and the classes' names.
constexpr std::array<std::pair<const char*, const char*>, 7> kCoreClasses{
    {{"rb_cObject", "Object"},
     {"rb_cString", "String"},
     {"rb_cArray", "Array"},
     {"rb_cModule", "Module"},
     {"rb_cClass", "Class"},
     {"rb_mKernel", "Kernel"},
     {"rb_cThread", "Thread"}}};

constexpr int kMostTries = 5;  // to read a list that Ruby may be changing
constexpr int kMostAncestors = 4096;
constexpr std::uint64_t kNamesTogether = 512;  // ID_ENTRY_UNIT
constexpr std::uint64_t kMostNames = std::uint64_t{1} << 28;
constexpr std::uint64_t kMostSegmentBytes = std::uint64_t{64} << 20;

// Offset of a class's own structure, and in that of its table of variables.
constexpr std::uint64_t kExtension = 24;
constexpr std::uint64_t kVariables = 8;

std::vector<Values::Entry> variables_in_table(const Values& values, Value of_class) {
  const auto extension = values.word(of_class + kExtension);
  if (!extension || !is_reference(*extension)) return {};
  const auto table = values.word(*extension + kVariables);
  return table ? values.entries(*table) : std::vector<Values::Entry>();
}

std::optional<std::string> name_in(const Values& values, Value names, std::uint64_t serial) {
  const auto group = values.element(names, serial / kNamesTogether);
  if (!group) return std::nullopt;
  const std::uint64_t index = serial % kNamesTogether;
  if (const auto text = values.element(*group, index * 2)) return values.text(*text);
  // Since 4.1 a group is a structure: a count, the room, and pairs of a Symbol and a String.
  constexpr std::uint64_t kHead = 16;
  constexpr std::uint64_t kPair = 16;
  const auto slot = values.slot(*group);
  if (!slot || slot->kind() != Kind::Data || !is_reference(slot->data(*group, values.form())))
    return std::nullopt;
  const std::uint64_t pair = slot->data(*group, values.form()) + kHead + index * kPair;
  for (const std::uint64_t at : {pair, pair + 8}) {
    auto text = values.text(values.word(at).value_or(0));
    if (text) return text;
  }
  return std::nullopt;
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
         const Interpreter& interpreter)
      : modules_(modules),
        values_(memory, layout.values),
        interpreter_(interpreter),
        layout_(std::make_shared<Layout>(layout)) {
    machine_.layout = layout_;
    machine_.release = interpreter.version;
  }

  Result<Machine> find() && {
    HA_TRY(find_heap());
    if (!find_names()) return wrong("its table of names was not found");
    if (machine_.layout->shape.bytes != 0) find_shapes();
    if (!find_class_path()) return wrong("its classes have no names");
    if (machine_.class_path != 0) {
      if (name(machine_.class_path) != "__classpath__") return wrong("its classes have no names");
      const auto next = machine_.class_path + 16;
      if (name(next) == "__tmp_classpath__") machine_.temporary_path = next;
    }
    if (const auto bad = wrong_class()) return wrong(*bad);
    machine_.no_threads = fit_threads(values_, machine_.vm, *layout_);
    if (machine_.no_threads.empty()) {
      machine_.no_threads = fit_code(values_, machine_.vm, some_code(), *layout_);
    }
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

  Result<void> find_heap() {
    for (const auto& one : kCoreClasses) {
      const auto found = variable(one.first);
      if (!found || !is_reference(*found))
        return wrong(fmt::format("{} was not found", one.second));
      classes_.push_back(*found);
    }
    if (!fit_pages(values_, classes_, *layout_))
      return wrong("the pages of its core classes do not fit");
    // Ruby may be growing the list of pages at this moment.
    std::optional<ListPlace> list;
    for (int tries = 0; tries < kMostTries && !list; ++tries) {
      list = find_page_list(values_, *layout_, classes_);
    }
    if (!list) return wrong("the list of its pages was not found");
    if (!find_vm()) return wrong("its virtual machine was not found");
    const CollectorFlags code = collector_flags();
    machine_.objspace = fit_object_space(values_, machine_.vm, *list, code.object_space, *layout_);
    if (machine_.objspace == 0) return wrong("its virtual machine has no object space");
    layout_->objspace.flags = code.flags;
    return {};
  }

  [[nodiscard]] CollectorFlags collector_flags() const {
    std::array<std::byte, kCollectorFlagsCode> code{};
    if (!values_.memory().read(interpreter_.is_collecting, code)) return {};
    return find_collector_flags(machine_of(modules_), code);
  }

  bool find_vm() {
    if (const auto vm = variable("ruby_current_vm_ptr")) return is_vm(*vm);
    // Since 3.3 the variable is not exported, so the interpreter's data is searched for it.
    return any_word(
        [&](const std::vector<std::uint64_t>& words, std::size_t i) { return is_vm(words[i]); });
  }

  bool is_vm(std::uint64_t vm) {
    if (!fit_machine(values_, vm, *layout_)) return false;
    machine_.vm = vm;
    return true;
  }

  // Some code objects. Ruby loads its own early, so they are near the core classes, wherever in the
  // list these are: later pages may have lower addresses.
  [[nodiscard]] std::vector<Value> some_code() const {
    constexpr std::size_t kEnough = 60;
    constexpr std::size_t kMostPages = 400;
    std::vector<Value> found;
    const std::vector<HeapPage> pages = pages_now();
    const auto before = std::partition_point(pages.begin(), pages.end(), [&](const HeapPage& page) {
      return page.start.value <= classes_.front();
    });
    const auto middle = static_cast<std::size_t>(before - pages.begin());
    for (std::size_t i = 0; i < kMostPages && found.size() < kEnough; ++i) {
      if (middle + i < pages.size()) add_code(pages[middle + i], found);
      if (i < middle) add_code(pages[middle - i - 1], found);
    }
    return found;
  }

  // All pages; none if Ruby changes the list during each of a few tries.
  [[nodiscard]] std::vector<HeapPage> pages_now() const {
    for (int tries = 0; tries < kMostTries; ++tries) {
      auto list = list_pages(machine_, values_.memory(), {});
      if (list) return std::move(list->pages);
    }
    return {};
  }

  void add_code(const HeapPage& page, std::vector<Value>& found) const {
    constexpr unsigned kCode = 7;
    const std::uint64_t bytes = std::uint64_t{page.slots} * page.slot_bytes;
    const auto words = values_.words_in({page.start, bytes});
    for (std::uint64_t at = 0; at < bytes && at / 8 + 2 < words.size(); at += page.slot_bytes) {
      const std::uint64_t flags = words[at / 8];
      const bool is_code = (flags & 0x1f) == static_cast<unsigned>(Kind::Imemo) &&
                           (flags >> 12 & 0xf) == kCode && is_reference(words[at / 8 + 2]);
      if (is_code) found.push_back(page.start.value + at);
    }
  }

  // Finds the only variable of Object that is the text "Object", in releases that keep it there.
  bool find_class_path() {
    if (!fit_classes(values_, named_classes(), *layout_)) return false;
    if (layout_->of_class.name != 0) return true;
    const auto object = variable("rb_cObject");
    const auto slot = object ? values_.slot(*object) : std::nullopt;
    if (!slot || slot->kind() != Kind::Class) return false;
    NameReader names(machine_, values_);
    for (const Values::Entry& entry : names.variables_of(*object)) {
      if (values_.text(entry.value) == "Object") machine_.class_path = entry.key;
    }
    for (const Values::Entry& entry : names.variables_of(slot->of_class())) {
      if (entry.value == *object) machine_.attached = entry.key;
    }
    return machine_.class_path != 0;
  }

  // The core classes, with the superclasses that they have in every program.
  [[nodiscard]] std::vector<NamedClass> named_classes() const {
    std::vector<NamedClass> named;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      named.push_back({classes_[i], kCoreClasses[i].second, 0});
    }
    const Value object = classes_.front();
    for (NamedClass& one : named) {
      if (one.name == "Module" || one.name == "Thread") one.superclass = object;
      if (one.name == "Class") one.superclass = variable("rb_cModule").value_or(0);
    }
    return named;
  }

  // Finds a variable that is not exported in the interpreter's data: {last_id, str_sym, ids, …}.
  bool find_names() {
    return any_word([&](const std::vector<std::uint64_t>& words, std::size_t i) {
      if (i + 2 >= words.size()) return false;
      machine_.names = words[i + 2];
      return are_names(static_cast<std::uint32_t>(words[i]), words[i + 1], words[i + 2]);
    });
  }

  // Finds the shapes, which the virtual machine references, or a variable that is not exported, or
  // a structure that one references. Without them, some sizes and names are unknown.
  void find_shapes() {
    const NameReader names(machine_, values_);
    const auto are_at = [&](std::uint64_t at) {
      constexpr std::uint64_t kAligned = 4096;
      if (!is_reference(at) || at % kAligned != 0) return false;
      for (const ShapeForm& form : kShapeForms) {
        if (!Shapes::are_at(form, values_, names, at)) continue;
        layout_->shape = form;
        machine_.shapes = at;
        return true;
      }
      return false;
    };
    constexpr std::uint64_t kVmBytes = 16384;
    for (const std::uint64_t word : values_.words_in({RemoteAddr{machine_.vm}, kVmBytes})) {
      if (are_at(word)) return;
    }
    any_word([&](const std::vector<std::uint64_t>& words, std::size_t i) {
      if (!is_reference(words[i])) return false;
      return are_at(words[i]) || are_at(values_.word(words[i]).value_or(0));
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
    constexpr std::uint64_t kLeast = 150;
    if (last < kLeast || last > kMostNames || !is_reference(table) || !is_reference(names)) {
      return false;
    }
    const auto groups = values_.elements(names);
    if (!groups || groups->count <= (last - 1) / kNamesTogether) return false;
    const std::uint64_t usual = machine_.layout->initialize;
    if (name_in(values_, names, usual) == "initialize") return true;
    // Each release has more names before "initialize".
    for (std::uint64_t serial = kLeast; serial < std::min(last, kNamesTogether); ++serial) {
      if (name_in(values_, names, serial) == "initialize") return true;
    }
    return false;
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
  const Interpreter& interpreter_;
  std::shared_ptr<Layout> layout_;  // the machine's
  std::vector<Value> classes_;      // as kCoreClasses
  Machine machine_;
};

}  // namespace

Result<Machine> find_machine(const Modules& modules,
                             const MemoryReader& memory,
                             const Interpreter& interpreter) {
  std::optional<Error> first;  // of the release's own layout
  for (const Layout* layout : layouts_for(interpreter.version)) {
    auto found = Finder(modules, memory, *layout, interpreter).find();
    if (found) return found;
    if (!first) first = std::move(found).error();
  }
  if (first) return *std::move(first);
  return Error{ErrorKind::Unsupported,
               cannot_read("heap", interpreter.version,
                           fmt::format("heapattach reads Ruby {}", kReadableReleases))};
}

std::string cannot_read(std::string_view what, std::string_view release, std::string_view why) {
  return fmt::format("cannot read this Ruby release's {} ({}): {}", what, release, why);
}

std::optional<std::string> NameReader::class_name(Value of_class) {
  const auto [at, is_new] = classes_.try_emplace(of_class);
  if (!is_new) return at->second;
  at->second = find_class_name(of_class);
  // A program may give all its classes one long name.
  constexpr std::size_t kLongest = 512;
  std::optional<std::string>& name = at->second;
  if (name && name->size() > kLongest) {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>((*name)[end]) & 0xc0) == 0x80) --end;
    name = name->substr(0, end) + "…";
  }
  return at->second;
}

std::vector<Values::Entry> NameReader::variables_of(Value of_class) {
  const auto at = machine_.layout->of_class.variables;
  if (at == 0) return variables_in_table(values_, of_class);
  if (!shapes_) shapes_ = std::make_shared<Shapes>(Shapes::read(machine_, values_.memory()));
  std::vector<Values::Entry> found;
  const auto slot = values_.slot(of_class);
  const auto* const names = slot ? shapes_->fields_of(*slot) : nullptr;
  const std::uint64_t buffer = values_.word(of_class + at).value_or(0);
  if (names == nullptr || !is_reference(buffer)) return found;
  for (std::size_t i = 0; i < names->size(); ++i) {
    found.push_back({0, (*names)[i], values_.word(buffer + i * 8).value_or(0)});
  }
  return found;
}

std::optional<std::string> NameReader::find_class_name(Value of_class) {
  for (int i = 0; i < kMostAncestors; ++i) {
    const auto known = i == 0 ? classes_.end() : classes_.find(of_class);
    if (known != classes_.end()) return known->second;
    const auto slot = values_.slot(of_class);
    if (!slot) return std::nullopt;
    const Kind kind = slot->kind();
    if (kind != Kind::Class && kind != Kind::Module && kind != Kind::Iclass) return std::nullopt;
    const auto& form = machine_.layout->of_class;
    if (kind == Kind::Iclass || slot->is_singleton_class(form.singleton)) {
      of_class = values_.word(of_class + form.superclass).value_or(0);
      continue;
    }
    if (const auto in_class = form.name; in_class != 0) {
      auto name = values_.text(values_.word(of_class + in_class).value_or(0));
      if (name) return name;
    }
    std::optional<std::string> temporary;
    if (machine_.class_path != 0) {
      for (const Values::Entry& entry : variables_of(of_class)) {
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
  if (!slot || !slot->is_singleton_class(machine_.layout->of_class.singleton)) {
    return class_name(of_class);
  }
  if (const auto in_class = machine_.layout->of_class.attached; in_class != 0) {
    return class_name(values_.word(of_class + in_class).value_or(0));
  }
  for (const Values::Entry& entry : variables_of(of_class)) {
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
