#include "symbols/nix/names.h"

#include <doctest/doctest.h>

#include "tests/symbols/nix/nix_heap.h"

namespace heapattach {
namespace {

TEST_CASE("only a position of Nix 2.8 that means none is recognised") {
  NixHeap nix;
  const auto recognised = [&] {
    return nix::is_no_position(RemoteAddr{nix.facts.no_position}, nix.heap.fake.memory());
  };
  CHECK(recognised());
  SUBCASE("it has a file") {
    nix.put(nix.facts.no_position, nix.symbol("/srv/shop.nix"));
  }
  SUBCASE("it has a line") {
    nix.put(nix.facts.no_position + 8, (std::uint64_t{2} << 32) + 1);
  }
  SUBCASE("it is in a file, or was not set yet") {
    nix.put(nix.facts.no_position + 8, 0);
  }
  CHECK_FALSE(recognised());
}

TEST_CASE("a thunk is named after the place of its expression") {
  NixHeap nix;
  const auto environment = nix.environment({});
  const auto call = nix.value(nix::kThunk, environment, nix.expression("ExprCall", 7));
  const auto number = nix.value(nix::kThunk, environment, nix.expression("ExprInt", 0));
  const auto negated = nix.expression("ExprOpNot", 0);
  nix.put(negated + 8, nix.expression("ExprVar", 9));
  const auto part = nix.value(nix::kThunk, environment, negated);
  const auto list = nix.expression("ExprList", 0);
  const auto elements = nix.room(16);
  nix.put(elements, nix.expression("ExprSelect", 11));
  nix.put(list + 8, elements);
  nix.put(list + 16, elements + 8);
  const auto first = nix.value(nix::kThunk, environment, list);
  const auto empty = nix.value(nix::kThunk, environment, nix.expression("ExprList", 0));
  nix.heap.join();
  CHECK(nix.type_at(call) == "thunk at /srv/shop.nix:7");
  CHECK(nix.type_at(number) == "thunk");
  CHECK(nix.type_at(part) == "thunk at /srv/shop.nix:9");
  CHECK(nix.type_at(first) == "thunk at /srv/shop.nix:11");
  CHECK(nix.type_at(empty) == "thunk");
  CHECK(nix.type_at(environment) == "environment used at /srv/shop.nix:7");
  CHECK(nix.keys_at(call) == "environment");
}

TEST_CASE("an expression that contains itself has no place") {
  NixHeap nix;
  const auto endless = nix.expression("ExprOpNot", 0);
  nix.put(endless + 8, endless);
  const auto thunk = nix.value(nix::kThunk, nix.environment({}), endless);
  nix.heap.join();
  CHECK(nix.type_at(thunk) == "thunk");
}

TEST_CASE("text that is in no file has a place, too, and one that cannot be shown has none") {
  NixHeap nix;
  const auto expression = nix.expression("ExprIf", 3);
  std::string expected = "thunk";
  SUBCASE("a string") {
    nix.put_position(expression + 8, 3, 2);
    expected = "thunk at (string):3";
  }
  SUBCASE("standard input") {
    nix.put_position(expression + 8, 3, 1);
    expected = "thunk at (stdin):3";
  }
  SUBCASE("no known origin") {
    nix.put_position(expression + 8, 3, 3);
  }
  SUBCASE("no line") {
    nix.put_position(expression + 8, 0);
  }
  SUBCASE("a name with control characters") {
    nix.put(expression + 8, nix.symbol("a\x1b[1m"));
  }
  SUBCASE("a name of no plausible length") {
    const auto name = nix.symbol("/srv");
    nix.put(name + 8, ~std::uint64_t{0});
    nix.put(expression + 8, name);
  }
  const auto thunk = nix.value(nix::kThunk, nix.environment({}), expression);
  nix.heap.join();
  CHECK(nix.type_at(thunk) == expected);
}

TEST_CASE("a lambda has its name, and what applies it is named after it") {
  NixHeap nix;
  const auto code = nix.expression("ExprLambda", 4);
  const auto environment = nix.environment({});
  const auto anonymous = nix.value(nix::kLambda, environment, nix.expression("ExprLambda", 5));
  nix.put(code + 24, nix.symbol("greet"));
  const auto lambda = nix.value(nix::kLambda, environment, code);
  const auto argument = nix.value(nix::kInt, 1);
  const auto application = nix.value(nix::kApplication, lambda, argument);
  const auto curried = nix.value(nix::kApplication, application, argument);
  const auto primop = nix.room(48);
  nix.put(primop + 16, nix.symbol("map"));
  const auto builtin = nix.value(nix::kPrimOp, primop);
  const auto partial = nix.value(nix::kPartialPrimOp, builtin, argument);
  const auto no_lambda = nix.value(nix::kLambda, environment, nix.expression("ExprVar", 4));
  nix.heap.join();
  CHECK(nix.type_at(lambda) == "lambda greet at /srv/shop.nix:4");
  CHECK(nix.type_at(anonymous) == "lambda at /srv/shop.nix:5");
  CHECK(nix.type_at(application) == "application of lambda greet at /srv/shop.nix:4");
  CHECK(nix.type_at(curried) == nix.type_at(application));
  CHECK(nix.type_at(builtin) == "primop map");
  CHECK(nix.type_at(partial) == "application of primop map");
  CHECK(nix.keys_at(partial) == "function argument");
  CHECK(nix.type_at(argument) == "int");
  CHECK(nix.type_at(no_lambda) == "(unknown)");
}

TEST_CASE("a function that is applied to itself has no name") {
  NixHeap nix;
  const auto endless = nix.value(nix::kApplication);
  nix.put(endless + 8, endless);
  nix.put(endless + 16, endless);
  nix.heap.join();
  CHECK(nix.type_at(endless) == "application");
}

TEST_CASE("a set is named after its place, and its words after its attributes") {
  NixHeap nix;
  const auto place = nix.expression("ExprAttrs", 5) + 16;
  const auto make = [&](const std::string& other) {
    return nix.value(nix::kSet, nix.attributes(place, {{"user", nix.value(nix::kNull)},
                                                       {other, nix.value(nix::kInt, 1)}}));
  };
  const auto one = make("visits");
  const auto same = make("visits");
  const auto other = make("guest");
  const auto at = [&](std::uint64_t set) {
    return nix.heap.fake.memory().read_as<std::uint64_t>(RemoteAddr{set + 8}).value();
  };
  const auto made = nix.attributes(nix.facts.no_position, {{"q", one}});
  const auto set = nix.value(nix::kSet, made);
  const auto joined = nix.attributes(nix.facts.no_position, {{"q", one}});
  nix.put(joined + 16 + 16, place);
  const auto update = nix.value(nix::kSet, joined);
  nix.heap.join();
  CHECK(nix.type_at(one) == "set at /srv/shop.nix:5");
  CHECK(nix.type_at(at(one)) == "(attributes of set at /srv/shop.nix:5)");
  CHECK(nix.keys_at(at(one)) == "user visits");
  CHECK(nix.keys_at(at(same)) == "user visits");
  CHECK(nix.type_at(at(other)) == nix.type_at(at(one)));
  CHECK(nix.keys_at(at(other)) == "[0].value [1].value");
  CHECK(nix.type_at(set) == "set");
  CHECK(nix.type_at(update) == "set with attributes at /srv/shop.nix:5");
  CHECK(nix.keys_at(made) == "[0].value");
}

TEST_CASE("names of attributes that the program computes are not shown") {
  NixHeap nix;
  const auto expression = nix.expression("ExprAttrs", 5);
  const auto named = nix.room(16);
  nix.put(expression + 80, named);
  nix.put(expression + 88, named + 8);
  const auto attributes =
      nix.attributes(expression + 16, {{"ann@example.com", nix.value(nix::kNull)}});
  nix.value(nix::kSet, attributes);
  nix.heap.join();
  CHECK(nix.type_at(attributes) == "(attributes of set at /srv/shop.nix:5)");
  CHECK(nix.keys_at(attributes) == "[0].value");
}

TEST_CASE("what is no set is not named as one") {
  NixHeap nix;
  const auto attributes = nix.attributes(nix.position(5), {{"user", nix.value(nix::kNull)}});
  const auto set = nix.value(nix::kSet, attributes);
  SUBCASE("its size exceeds its capacity") {
    nix.put(attributes + 8, 2 | std::uint64_t{1} << 32);
  }
  SUBCASE("its capacity exceeds the object") {
    nix.put(attributes + 8, 1 | std::uint64_t{100} << 32);
  }
  SUBCASE("it has no position, not even the one for none") {
    nix.put(attributes, 0);
  }
  SUBCASE("an attribute's name is in the heap") {
    nix.put(attributes + 16, set);
  }
  nix.heap.join();
  CHECK(nix.type_at(set) == "(unknown)");
  CHECK(nix.type_at(attributes) == "(unknown)");
}

TEST_CASE("a value without references is known if something refers to it") {
  NixHeap nix;
  const auto text = nix.object({}, 32, heap::kAtomic);
  const auto context_text = nix.object({}, 48, heap::kAtomic);
  const auto context = nix.object({context_text, 0}, 16);
  const std::vector<std::uint64_t> values{nix.value(nix::kInt, 1),
                                          nix.value(nix::kBool, 1),
                                          nix.value(nix::kNull),
                                          nix.value(nix::kFloat, 0x3ff0'0000'0000'0000),
                                          nix.value(nix::kString, text, context),
                                          nix.value(nix::kExternal, nix.room(16)),
                                          nix.value(0),
                                          nix.value(99)};
  const auto nobodys = nix.value(nix::kInt, 1);
  const auto environment = nix.environment(values);
  nix.value(nix::kThunk, environment, nix.expression("ExprCall", 7));
  nix.heap.join();
  const std::vector<std::string> expected{
      "int", "bool", "null", "float", "string", "external", "(value that is not set)", "(unknown)"};
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(nix.type_at(values[i]) == expected[i]);
  CHECK(nix.type_at(nobodys) == "(unknown)");
  CHECK(nix.type_at(text) == "(text of string)");
  CHECK(nix.type_at(context) == "(context of string)");
  CHECK(nix.type_at(context_text) == "(text of string)");
}

TEST_CASE("a value that is being computed is named after the thunk that it was") {
  NixHeap nix;
  const auto environment = nix.environment({});
  const auto was_thunk = nix.value(nix::kBeingComputed, environment, nix.expression("ExprCall", 7));
  const auto was_other = nix.value(nix::kBeingComputed, nix.value(nix::kInt, 1));
  nix.value(nix::kList2, was_thunk, was_other);
  nix.heap.join();
  CHECK(nix.type_at(was_thunk) == "thunk at /srv/shop.nix:7");
  CHECK(nix.type_at(was_other) == "thunk");
}

TEST_CASE("a list's elements are known by the list, or by all being values") {
  NixHeap nix;
  const auto number = [&] { return nix.value(nix::kInt, 1); };
  const std::vector<std::uint64_t> three{number(), number(), number()};
  const auto elements = nix.object(three, 32);
  const auto list = nix.value(nix::kList, 3, elements);
  const auto on_a_stack = nix.object({number(), number(), number()}, 32);
  const auto too_few = nix.object({number(), number()}, 32);
  const auto no_value = nix.object({}, 64);
  const auto others = nix.object({number(), number(), number(), no_value}, 32);
  const auto gap = nix.object({number(), number(), number(), 0, number(), 0}, 48);
  const auto pair = nix.value(nix::kList2, number(), number());
  nix.heap.join();
  CHECK(nix.type_at(list) == "list");
  CHECK(nix.keys_at(list) == "elements");
  CHECK(nix.type_at(elements) == "(elements of list)");
  CHECK(nix.keys_at(elements) == "[0] [1] [2]");
  CHECK(nix.type_at(on_a_stack) == "(elements of list)");
  CHECK(nix.type_at(too_few) == "(unknown)");
  CHECK(nix.type_at(others) == "(unknown)");
  CHECK(nix.type_at(gap) == "(unknown)");
  CHECK(nix.type_at(pair) == "list");
  CHECK(nix.keys_at(pair) == "[0] [1]");
}

}  // namespace
}  // namespace heapattach
