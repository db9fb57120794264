#include "symbols/cxx/base_classes.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <link.h>

#include "tests/fakes/own_memory.h"

namespace heapattach {

namespace base_classes_test {

struct Root {
  virtual ~Root() = default;
};
struct Side {
  virtual ~Side() = default;
};
struct Virtual : virtual Root {};
struct Leaf : Virtual, Side {};

// The modules of the test program itself, as if it were a target. They are made anew each time,
// because the program has many symbols.
heapattach::Modules own_program() {
  std::uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        *static_cast<std::uint64_t*>(into) = info->dlpi_addr;
        return 1;  // the first module is the program
      },
      &bias);
  std::vector<heapattach::Module> modules;
  auto file = heapattach::Fd::open("/proc/self/exe", O_RDONLY).value();
  modules.push_back(heapattach::Module::from_file(std::move(file), "/a/tests", bias).value());
  return heapattach::Modules(std::move(modules));
}

}  // namespace base_classes_test

TEST_CASE("a class is a base if the type_info of another one says so") {
  using namespace base_classes_test;
  const std::unique_ptr<Root> leaf = std::make_unique<Leaf>();
  REQUIRE(dynamic_cast<Side*>(leaf.get()) != nullptr);
  const auto bases = cxx::base_classes(own_program(), OwnMemory());
  const std::string prefix = "heapattach::base_classes_test::";
  CHECK(bases.contains(prefix + "Root"));
  CHECK(bases.contains(prefix + "Side"));
  CHECK(bases.contains(prefix + "Virtual"));
  CHECK_FALSE(bases.contains(prefix + "Leaf"));
}

}  // namespace heapattach
