#include "symbols/cxx/vtable_search.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <link.h>

#include "symbols/cxx/constants.h"
#include "symbols/cxx/vtables.h"
#include "tests/fakes/fake_memory.h"
#include "tests/fakes/own_memory.h"

namespace heapattach {

namespace {

// A library of inputs/, loaded into the test, which plays the target.
class Loaded {
 public:
  explicit Loaded(const std::string& name)
      : path_(CLASSES_DIR "/" + name + ".so"), handle_(dlopen(path_.c_str(), RTLD_NOW)) {
    REQUIRE(handle_ != nullptr);
  }
  ~Loaded() { dlclose(handle_); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  [[nodiscard]] std::vector<Module> modules() const {
    link_map* map = nullptr;
    REQUIRE(dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0);
    std::vector<Module> modules;
    modules.push_back(module_of(path_, map->l_addr));
    return modules;
  }
  static Module module_of(const std::string& path, std::uint64_t bias) {
    return Module::from_file(Fd::open(path.c_str(), O_RDONLY).value(), path, bias).value();
  }
  // The first word of an object.
  [[nodiscard]] std::uint64_t first_word(int which) const {
    using Make = void* (*)(int);
    void* const make = dlsym(handle_, "make_object");
    REQUIRE(make != nullptr);
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<Make>(make)(which), sizeof word);  // it is never freed
    return word;
  }

 private:
  std::string path_;
  void* handle_;
};

Module cxx_library() {
  std::pair<std::string, std::uint64_t> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        const std::string name = info->dlpi_name;
        if (name.find("/libstdc++.so") == std::string::npos) return 0;
        *static_cast<std::pair<std::string, std::uint64_t>*>(into) = {name, info->dlpi_addr};
        return 1;
      },
      &found);
  REQUIRE_FALSE(found.first.empty());
  return Loaded::module_of(found.first, found.second);
}

const std::array kClasses{"shop::Job",
                          "shop::MailJob",
                          "shop::LoggedJob",
                          "shop::SharedJob",
                          "shop::Queue<long>",
                          "shop::Concrete",
                          "(anonymous namespace)::Hidden"};

void check_names(const cxx::VtableNames& names, const Loaded& library) {
  for (std::size_t i = 0; i < kClasses.size(); ++i) {
    CAPTURE(kClasses[i]);
    CHECK(names.name_of(library.first_word(static_cast<int>(i))) == kClasses[i]);
  }
}

// A program whose constants are the words that a test writes.
class Words {
 public:
  static constexpr std::uint64_t kAt = 0x10000;

  void put(std::uint64_t at, std::vector<std::uint64_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) memory_.put(RemoteAddr{at + 8 * i}, words[i]);
  }
  void put_name(std::uint64_t at, const std::string& name) {
    memory_.put_bytes(RemoteAddr{at}, std::as_bytes(std::span(name.c_str(), name.size() + 1)));
  }
  Words() { memory_.map_zero(RemoteAddr{kAt}, 0x4000); }
  [[nodiscard]] const MemoryReader& memory() const { return memory_; }

 private:
  FakeMemory memory_;
};

}  // namespace

TEST_CASE("a stripped library's objects have the names of their classes") {
  SUBCASE("with the process's C++ library") {
    const Loaded library("classes");
    std::vector<Module> modules = library.modules();
    modules.push_back(cxx_library());
    const cxx::VtableNames names(Modules(std::move(modules)), OwnMemory());
    check_names(names, library);
    CHECK(names.found_bases() ==
          std::set<std::string>{"shop::Abstract", "shop::Job", "shop::Logged"});
  }
  SUBCASE("with its own, of which nothing is exported") {
    const Loaded library("classes_alone");
    check_names(cxx::VtableNames(Modules(library.modules()), OwnMemory()), library);
  }
  SUBCASE("if nothing was made read-only") {
    const Loaded library("classes_writable");
    std::vector<Module> modules = library.modules();
    modules.push_back(cxx_library());
    check_names(cxx::VtableNames(Modules(std::move(modules)), OwnMemory()), library);
  }
}

TEST_CASE("without the C++ library no table proves to be one") {
  const Loaded library("classes");
  const cxx::FoundVtables found = cxx::search_vtables(Modules(library.modules()), OwnMemory());
  CHECK(found.vtables.empty());
}

TEST_CASE("a type_info is one only if all of it is") {
  using Bases = cxx::TypeInfos::Bases;
  constexpr std::uint64_t kPlain = 0x100;
  constexpr std::uint64_t kOne = 0x200;
  constexpr std::uint64_t kMany = 0x300;
  constexpr std::uint64_t kBase = Words::kAt;
  constexpr std::uint64_t kAt = Words::kAt + 0x100;
  constexpr std::uint64_t kName = Words::kAt + 0x1000;
  Words words;
  words.put_name(kName, "3Foo");
  words.put(kBase, {kPlain, kName});
  const Modules none{std::vector<Module>()};
  const auto name_of = [&](const std::vector<std::uint64_t>& type_info) {
    words.put(kAt, type_info);
    const cxx::Constants constants(none, words.memory());
    cxx::TypeInfos infos(constants);
    infos.add_form(kPlain, Bases::None);
    infos.add_form(kOne, Bases::One);
    infos.add_form(kMany, Bases::Many);
    const auto* found = infos.find(kAt);
    return found == nullptr ? std::string() : found->mangled;
  };
  const std::uint64_t two = std::uint64_t{2} << 32;
  CHECK(name_of({kPlain, kName}) == "3Foo");
  CHECK(name_of({kOne, kName, kBase}) == "3Foo");
  CHECK(name_of({kMany, kName, two, kBase, 2, kBase, 0x802}) == "3Foo");
  CHECK(name_of({kMany, kName, two | 3, kBase, 3, kBase, 0}) == "3Foo");
  CHECK(name_of({kPlain + 8, kName}).empty());
  CHECK(name_of({kOne, kName, kBase + 8}).empty());
  CHECK(name_of({kOne, kName, kName}).empty());
  CHECK(name_of({kMany, kName, 0, kBase, 2, kBase, 0x802}).empty());
  CHECK(name_of({kMany, kName, ~std::uint64_t{0} << 8, kBase, 2}).empty());
  CHECK(name_of({kMany, kName, two, kBase, 2, kBase + 8, 0x802}).empty());
  CHECK(name_of({kMany, kName, two, kBase, 2, kBase, 0x810}).empty());
  CHECK(name_of({kPlain, ~std::uint64_t{0}}).empty());
  const std::vector<std::string> no_names = {
      "", "x", "Foo bar", "3F\x01o", "_ZN3Foo", "9Foo", std::string(5000, 'A')};
  for (const std::string& text : no_names) {
    CAPTURE(text);
    words.put_name(kName, text);
    CHECK(name_of({kPlain, kName}).empty());
  }
  words.put_name(kName, "*N12_GLOBAL__N_16HiddenE");
  CHECK(name_of({kPlain, kName}) == "N12_GLOBAL__N_16HiddenE");
}

}  // namespace heapattach
