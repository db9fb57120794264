#include "report/typing/type_labels.h"

#include <doctest/doctest.h>

namespace heapattach::snapshot {

namespace {

unwind::Place place(std::string function, std::string file, std::uint32_t line) {
  unwind::Place made;
  made.function = std::move(function);
  made.file = std::move(file);
  made.line = line;
  return made;
}

const unwind::Place kMalloc = place("malloc", "/usr/share/crystal/src/gc/boehm.cr", 128);
const unwind::Place kRuntime = place("__crystal_malloc64", "/usr/share/crystal/src/gc.cr", 17);

}  // namespace

TEST_CASE("a class without a name is labelled by the first function that is not the runtime's") {
  CHECK(label_of({{kMalloc, kRuntime, place("new", "/srv/shop/src/cart.cr", 55),
                   place("Shop::Store#add", "/srv/shop/src/store.cr", 7)}}) ==
        "allocated in new, src/cart.cr:55");
  CHECK(label_of({{place("Shop::Store#add", "", 0)}}) == "allocated in Shop::Store#add");
}

TEST_CASE("a class allocated in several locations is labelled with them only if they differ") {
  const std::vector<unwind::Place> cart = {kRuntime, place("new", "/srv/shop/src/cart.cr", 55)};
  const std::vector<unwind::Place> copy = {kRuntime,
                                           place("dup", "/usr/share/crystal/src/reference.cr", 9)};
  CHECK(label_of({cart, cart}) == "allocated in new, src/cart.cr:55");
  CHECK(label_of({cart, copy}) == "allocated in new, src/cart.cr:55 and elsewhere");
}

TEST_CASE("a class without any information has no label") {
  CHECK(label_of({}).empty());
  CHECK(label_of({{}, {kMalloc}, {place("", "", 0)}}).empty());
}

}  // namespace heapattach::snapshot
