#include "symbols/ruby/roots.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "symbols/ruby/threads.h"

namespace heapattach::ruby {

namespace {

constexpr std::uint64_t kMostSegmentBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostStackBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kLeastMachineBytes = 1200;
constexpr std::uint64_t kLeastSpaceBytes = 2048;
constexpr std::size_t kEnoughOwners = 1000;
constexpr std::uint64_t kHasFinalizer = 1U << 7;  // FL_FINALIZE
constexpr std::uint64_t kHasGeneric = 1U << 10;   // FL_EXIVAR

class Finder {
 public:
  Finder(const Machine& machine,
         const Modules& modules,
         const MemoryReader& memory,
         const HeapCopy& heap,
         ReferenceReader& references)
      : machine_(machine),
        modules_(modules),
        memory_(memory),
        values_(memory, machine.layout->values),
        heap_(heap),
        references_(references) {}

  std::vector<RootGroup> find(const ThreadWords& threads) && {
    find_in_modules();
    find_in_machine();
    find_finalizers();
    for (const Range& stack : threads.stacks) {
      add_words("stack", stack.start.value, std::min(stack.bytes, kMostStackBytes));
    }
    for (const std::uint64_t word : threads.registers) add("stack", word);
    find_tables();
    std::vector<RootGroup> found;
    for (auto& [name, objects] : found_) {
      found.push_back({name, std::vector<Value>(objects.begin(), objects.end())});
    }
    return found;
  }

 private:
  void add(const std::string& name, Value value) {
    if (heap_.has_object(value)) found_[name].insert(value);
  }
  void add_words(const std::string& name, std::uint64_t from, std::uint64_t bytes) {
    std::vector<Reference> words;
    references_.words(from, bytes, {}, words);
    for (const Reference& one : words) found_[name].insert(one.to);
  }

  void find_in_modules() {
    const auto object = modules_.find_symbol("rb_cObject");
    for (const Module& module : modules_.all()) {
      const bool is_ruby = object && modules_.find(object->address) == &module;
      for (const Segment& segment : module.segments()) {
        if (!segment.writable || segment.range.bytes > kMostSegmentBytes) continue;
        const std::vector<std::uint64_t> words = values_.words_in(segment.range);
        for (std::size_t i = 0; i < words.size(); ++i) {
          if (is_ruby && is_reference(words[i])) tables_.insert(words[i]);
          if (!heap_.has_object(words[i])) continue;
          const auto symbol = module.symbol_at(segment.range.start + i * 8);
          add(symbol ? std::string(symbol->name) : "global_list", words[i]);
        }
      }
    }
  }

  void find_in_machine() {
    const std::uint64_t bytes = allocated_bytes(values_, machine_.vm);
    add_words("vm", machine_.vm, std::max(bytes, kLeastMachineBytes));
    const auto threads = read_threads(machine_, memory_);
    if (!threads) return;
    for (const Thread& thread : threads->all) add("vm", thread.object);
  }

  // Reads the object space's table of finalizers. It keeps alive the Array of each object's
  // finalizers, but not the object. It has no more entries than there are objects.
  void find_finalizers() {
    const std::uint64_t bytes = allocated_bytes(values_, machine_.objspace);
    const std::uint64_t most = heap_.slots();
    for (std::uint64_t at = 0; at + 8 <= std::max(bytes, kLeastSpaceBytes); at += 8) {
      const auto word = values_.word(machine_.objspace + at);
      const auto table = word ? values_.table(*word, most) : std::nullopt;
      if (!table || !are_finalizers(*table)) continue;
      for (const Values::Entry& entry : *table) add("finalizers", entry.value);
    }
  }
  [[nodiscard]] bool are_finalizers(const std::vector<Values::Entry>& table) const {
    return std::all_of(table.begin(), table.end(), [&](const Values::Entry& entry) {
      if (!heap_.has_object(entry.key) || !heap_.has_object(entry.value)) return false;
      const auto object = values_.slot(entry.key);
      const auto list = values_.slot(entry.value);
      return object && (object->flags() & kHasFinalizer) != 0 && list &&
             list->kind() == Kind::Array;
    });
  }

  // Finds the tables of global variables and of objects' own variables.
  void find_tables() {
    for (const std::uint64_t table : tables_) {
      for (const Reference& one : references_.globals(table)) add(std::string(one.name), one.to);
    }
    std::vector<Value> owners;
    heap_.for_each([&](const HeapCopy::Object& object) {
      const Kind kind = object.slot.kind();
      const bool may_own = kind != Kind::Object && kind != Kind::Class && kind != Kind::Module &&
                           kind != Kind::Iclass && kind != Kind::Imemo && kind != Kind::Node;
      if (may_own && (object.slot.flags() & kHasGeneric) != 0 && owners.size() < kEnoughOwners) {
        owners.push_back(object.address);
      }
    });
    references_.find_generic_variables({tables_.begin(), tables_.end()}, owners);
  }

  const Machine& machine_;
  const Modules& modules_;
  const MemoryReader& memory_;
  Values values_;
  const HeapCopy& heap_;
  ReferenceReader& references_;
  std::set<std::uint64_t> tables_;  // referenced by the interpreter's variables
  std::map<std::string, std::set<Value>> found_;
};

}  // namespace

std::vector<RootGroup> find_roots(const Machine& machine,
                                  const Modules& modules,
                                  const MemoryReader& memory,
                                  const HeapCopy& heap,
                                  const ThreadWords& threads,
                                  ReferenceReader& references) {
  return Finder(machine, modules, memory, heap, references).find(threads);
}

}  // namespace heapattach::ruby
