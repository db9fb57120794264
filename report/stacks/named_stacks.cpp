#include "report/stacks/named_stacks.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

namespace heapattach::stacks {

namespace {

// Code that Mono has compiled is in no file. Its own library has namespaces of its own, and the
// methods that it makes are in no namespace, or in a class of the library.
bool is_own_method(std::string_view method) {
  constexpr std::string_view kLibrary[] = {"System.",   "Microsoft.", "Mono.",
                                           "Internal.", "<Module>",   "("};
  return !method.empty() &&
         std::none_of(std::begin(kLibrary), std::end(kLibrary),
                      [&](std::string_view start) { return method.starts_with(start); });
}

bool is_own(const unwind::Place& place, const Module* module, const CrystalLibrary& library) {
  if (module == nullptr) return is_own_method(place.function);
  const std::string_view file = place.home.empty() ? place.file : place.home;
  return module->is_main_program() && is_own_code(place.function, file, library);
}

// A static program has glibc's code in itself, whose files Debian's builds call "./nptl/…" and
// "../sysdeps/…". Programs that are built in a directory of their own have such names, too.
bool is_of_glibc(std::string_view file) {
  constexpr std::string_view kDirectories[] = {
      "csu",    "debug",        "dirent", "dlfcn",  "elf",     "inet",    "io",     "libio",
      "malloc", "misc",         "nptl",   "posix",  "resolv",  "rt",      "setjmp", "signal",
      "socket", "stdio-common", "stdlib", "string", "sysdeps", "termios", "time"};
  const bool is_up = file.starts_with("../");
  if (!is_up && !file.starts_with("./")) return false;
  file.remove_prefix(is_up ? 3 : 2);
  const bool is_c = file.ends_with(".c") || file.ends_with(".h") || file.ends_with(".S");
  return is_c && std::find(std::begin(kDirectories), std::end(kDirectories),
                           file.substr(0, file.find('/'))) != std::end(kDirectories);
}

}  // namespace

bool is_own_code(std::string_view function, std::string_view file, const CrystalLibrary& library) {
  if (function.empty()) return false;
  if (!library.directory().empty()) {
    return file.ends_with(".cr") && library.name_of(file).empty();
  }
  if (library.is_crystal()) return file.empty() && !is_of_library(function);
  // The compiler's headers have the threads' own frames, such as std::thread::_Invoker's.
  const bool is_of_libc = is_of_glibc(file) || file.starts_with("/usr/include/") ||
                          function.starts_with("__") || function == "_start";
  return !is_of_libc;
}

std::optional<unwind::Place> own_place(const unwind::StackRecord& record,
                                       const unwind::Stacks& stacks,
                                       const CodeSources& sources) {
  for (const unwind::FrameRecord& frame : record.frames) {
    const Module* const module = sources.modules.find(frame.pc);
    for (const unwind::Place& place : stacks.places_of(frame.pc)) {
      if (is_own(place, module, sources.crystal)) return place;
    }
  }
  return {};
}

std::string function_text(const unwind::Place& place) {
  return place.maker.empty() ? place.function : fmt::format("-> in {}", place.maker);
}

std::string place_text(const unwind::Place& place) {
  const std::string_view home = place.home;
  const bool is_proc = place.function == unwind::kProcName;
  if (is_proc && place.maker.empty() && !home.empty()) {
    return fmt::format("-> of {}", home.substr(home.rfind('/') + 1));
  }
  if (!home.empty()) return function_text(place);
  return function_at(function_text(place), place.file, place.line);
}

std::uint32_t StackAdder::add(const unwind::StackRecord& record) {
  snapshot::Stack stack;
  stack.left_out = record.left_out;
  stack.left_out_behind = record.left_out_behind;
  stack.end = record.end;
  for (const unwind::FrameRecord& frame : record.frames) {
    stack.frames.push_back({place_at(frame.pc), frame.found_by});
  }
  report_.stacks.push_back(std::move(stack));
  return static_cast<std::uint32_t>(report_.stacks.size() - 1);
}

std::uint32_t StackAdder::place_at(RemoteAddr pc) {
  const auto [known, is_new] =
      places_.try_emplace(pc.value, static_cast<std::uint32_t>(report_.places.size()));
  if (!is_new) return known->second;
  PlaceSeen& place = report_.places.emplace_back();
  place.pc = pc.value;
  const Module* const module = sources_.modules.find(pc);
  if (module != nullptr) {
    place.module = module->name();
    place.offset = pc.value - module->bias();
  }
  const auto functions = from_.places_of(pc);
  const bool is_in_program = module != nullptr && module->is_main_program();
  place.may_be_own = is_in_program && (functions.empty() || functions.front().function.empty());
  for (const unwind::Place& one : functions) {
    snapshot::CodeLine line{function_text(one), one.file, one.line, one.column};
    place.is_own.push_back(is_own(one, module, sources_.crystal));
    place.inlined.push_back(std::move(line));
  }
  if (functions.empty()) return known->second;
  place.at = std::move(place.inlined.back());
  place.inlined.pop_back();
  return known->second;
}

std::vector<FiberGroup> group_fibers(const std::vector<FiberSeen>& fibers,
                                     const std::vector<const unwind::StackRecord*>& records,
                                     StackAdder& stacks) {
  std::map<std::vector<std::uint64_t>, std::size_t> by_stack;
  std::vector<FiberGroup> groups;
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    if (fibers[i].thread) continue;
    std::vector<std::uint64_t> key;
    if (records[i] != nullptr) {
      key.push_back(records[i]->left_out);
      for (const unwind::FrameRecord& frame : records[i]->frames) key.push_back(frame.pc.value);
    }
    const auto [at, is_new] = by_stack.try_emplace(std::move(key), groups.size());
    if (is_new) {
      groups.emplace_back();
      if (records[i] != nullptr) groups.back().stack = stacks.add(*records[i]);
    }
    groups[at->second].fibers.push_back(i);
  }
  sort_groups(fibers, groups);
  return groups;
}

void sort_groups(const std::vector<FiberSeen>& fibers, std::vector<FiberGroup>& groups) {
  const auto rank = [&](const FiberGroup& group) {
    return std::pair(!fibers[group.fibers.front()].is_of_runtime, group.fibers.size());
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const FiberGroup& a, const FiberGroup& b) { return rank(a) > rank(b); });
}

}  // namespace heapattach::stacks
