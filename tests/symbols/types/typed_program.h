#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>

#include "attach/base/fd.h"

// The programs of inputs/, and helpers for the tests.
namespace heapattach::types {

// The programs of a source, from all available compilers: "c" gives c_gcc_4, c_clang_5, …
inline std::vector<std::string> typed_programs(const std::string& source) {
  std::vector<std::string> found;
  for (const char* compiler : {"gcc", "clang"}) {
    for (const char* version : {"4", "5", "units"}) {
      std::string path = std::string(TYPED_DIR) + "/" + source + "_" + compiler + "_" + version;
      if (std::filesystem::exists(path)) found.push_back(std::move(path));
    }
  }
  if (source != "crystal") REQUIRE_FALSE(found.empty());  // Crystal's need clang
  return found;
}

// The split programs of a source: "c_gcc_split4", … A packaged program has a .dwp next to it
// instead of a .dwo.
inline std::vector<std::string> split_programs(const std::string& source, bool packaged) {
  std::vector<std::string> found;
  const std::string directory = std::string(TYPED_DIR) + (packaged ? "/packages/" : "/");
  for (const char* variant : {"gcc_split4", "gcc_split5", "gcc_split_units4", "gcc_split_units5",
                              "clang_split4", "clang_split5"}) {
    std::string path = directory + source + "_" + variant;
    if (std::filesystem::exists(path)) found.push_back(std::move(path));
  }
  if (!packaged) REQUIRE_FALSE(found.empty());  // a package needs a tool that makes it
  return found;
}

class OpenDwarf {
 public:
  explicit OpenDwarf(const std::string& path) {
    auto file = Fd::open(path, O_RDONLY);
    REQUIRE(file);
    file_ = std::move(file).value();
    dwarf_.reset(dwarf_begin(file_.get(), DWARF_C_READ));
    REQUIRE(dwarf_ != nullptr);
  }
  [[nodiscard]] Dwarf* get() const { return dwarf_.get(); }

  // The first variable with that name in any unit or function.
  [[nodiscard]] Dwarf_Die variable(const std::string& name) const {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die root;
    while (dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, nullptr, &root, nullptr) == 0) {
      if (auto found = below(root, name)) return *found;
    }
    FAIL("no variable " << name);
    return {};
  }

 private:
  struct End {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };
  static std::optional<Dwarf_Die> below(Dwarf_Die parent, const std::string& name) {
    Dwarf_Die child;
    if (dwarf_child(&parent, &child) != 0) return std::nullopt;
    do {
      const char* own = dwarf_diename(&child);
      if (dwarf_tag(&child) == DW_TAG_variable && own != nullptr && own == name) return child;
      if (auto found = below(child, name)) return found;
    } while (dwarf_siblingof(&child, &child) == 0);
    return std::nullopt;
  }

  Fd file_;
  std::unique_ptr<Dwarf, End> dwarf_;
};

}  // namespace heapattach::types
