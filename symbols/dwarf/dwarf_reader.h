#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <elfutils/libdw.h>

#include "symbols/dwarf/debug_information.h"
#include "symbols/dwarf/dwarf_names.h"
#include "symbols/types/type_model.h"

namespace heapattach::types {

// Limits for one module. A type takes 300 bytes to 2 KiB by the time the report's rows are built; a
// large C++ program has some ten thousand types.
struct DwarfReadLimits {
  std::size_t types = 300'000;
  std::size_t members_of_one = 1U << 20U;
  std::size_t members = 3'000'000;
  std::size_t globals = 300'000;
  std::size_t disagreements = 1000;
};

// A note on a model, if an error and not the end stopped the reader.
inline constexpr std::string_view kNotReadToItsEnd = "not read to its end";

// Fills a TypeModel from the debug information of one module. A type that is repeated in many units
// is read once; the sizes and a few members of the other copies are compared with it. Trusts
// nothing: skips what makes no sense, and the model must still pass make_sound().
class DwarfReader {
 public:
  struct Counts {
    std::size_t units = 0;
    std::size_t repeated = 0;  // types that had been read before
    std::size_t too_deep = 0;  // units that were cut off
    std::size_t no_place = 0;  // members whose offset is known only at run time
    std::size_t left_out = 0;  // because of a limit
  };

  // Globals get their addresses as linked.
  DwarfReader(DebugInformation& information, const DwarfReadLimits& limits, TypeModel& into);

  // All units, including the split ones.
  void read();
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Described {
    const void* at = nullptr;       // the entry that was read
    std::uint64_t fingerprint = 0;  // of sizes and members
    unsigned compared = 0;
  };

  void read_unit(const Dwarf_Die& root);
  void read_split_off(const Dwarf_Die& skeleton);
  void read_pending();
  void describe_entry(const Dwarf_Die& die);

  TypeRef ref(const Dwarf_Die& die, int depth = 0);
  TypeRef ref_of_type(const Dwarf_Die& die, int depth);  // of its DW_AT_type; kNoType: void
  TypeRef intern(const std::string& name);
  void describe(TypeRef at, const Dwarf_Die& die, int depth);
  void describe_pointer(TypeRef at, const Dwarf_Die& die, int depth);
  void describe_array(TypeRef at, const Dwarf_Die& die, int depth);
  void describe_base(TypeRef at, const Dwarf_Die& die);
  void describe_container(TypeRef at, const Dwarf_Die& die, int depth);
  void describe_enumeration(TypeRef at, const Dwarf_Die& die);
  void describe_struct(TypeRef at, const Dwarf_Die& die);
  void describe_crystal_pointer(TypeRef at, const Dwarf_Die& die, int depth);
  [[nodiscard]] bool is_repeated(TypeRef at, const Dwarf_Die& die);
  [[nodiscard]] std::uint64_t fingerprint(const Dwarf_Die& die) const;

  // Adds the member that the entry `die` of a struct or union describes.
  void add_member(std::vector<Member>& members, const Dwarf_Die& die, bool is_crystal_value);
  void add_virtual_base(TypeRef at, const Dwarf_Die& die);
  void describe_proc(TypeRef at);
  bool describe_union_of_references(TypeRef at, const std::vector<Member>& members);

  void read_global(const DwarfUnit::Entry& entry);
  [[nodiscard]] std::optional<std::uint64_t> address_of(const Dwarf_Die& variable) const;

  DebugInformation& information_;
  DwarfReadLimits limits_;
  TypeModel& model_;
  DwarfNames names_;
  Counts counts_;
  std::size_t members_ = 0;
  std::unordered_map<const void*, TypeRef> refs_;     // by the entry's address
  std::unordered_map<TypeRef, Described> described_;  // types with known contents
  std::vector<Dwarf_Die> pending_;  // referenced, but in units that are not walked
  std::unordered_set<const void*>
      crystal_unions_;  // entries that represent references to several types
  std::unordered_set<const void*> crystal_classes_;
};

}  // namespace heapattach::types
