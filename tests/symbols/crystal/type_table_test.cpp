#include "symbols/crystal/type_table.h"

#include <doctest/doctest.h>

#include "symbols/crystal/type_names.h"

namespace heapattach::crystal {

namespace {

Type type_from(KnownFrom source, std::uint32_t id, std::string name) {
  Type type;
  type.id = id;
  type.name = std::move(name);
  type.known_from = {source};
  return type;
}

}  // namespace

TEST_CASE("two sources complete each other") {
  TypeTable table;
  Type named = type_from(KnownFrom::TypeIdTable, 7, "Session");
  CHECK(table.add(named));
  Type sized = type_from(KnownFrom::AllocationSite, 7, "Session");
  sized.instance_bytes = 40;
  sized.is_atomic = false;
  CHECK(table.add(sized));

  const Type* session = table.find(7U);
  REQUIRE(session != nullptr);
  CHECK(session->instance_bytes == 40);
  CHECK(session->known_from == std::vector{KnownFrom::TypeIdTable, KnownFrom::AllocationSite});
  CHECK(table.find("Session") == session);
  CHECK(table.contradictions() == 0);
}

TEST_CASE("a worse source cannot rename a type, a better one can") {
  TypeTable table;
  CHECK(table.add(type_from(KnownFrom::TypeIdTable, 7, "Session")));
  CHECK_FALSE(table.add(type_from(KnownFrom::AllocationSite, 7, "User")));
  CHECK(table.find(7U)->name == "Session");
  CHECK(table.add(type_from(KnownFrom::TypeInfo, 7, "Account")));
  CHECK(table.find(7U)->name == "Account");
  CHECK(table.find(7U)->known_from == std::vector{KnownFrom::TypeInfo});
  CHECK(table.contradictions() == 2);
}

TEST_CASE("a type without a name gets that of another source, whichever comes first") {
  Type nameless = type_from(KnownFrom::AllocationSite, 7, "");
  nameless.instance_bytes = 24;
  const Type named = type_from(KnownFrom::TypeIdTable, 7, "Session");
  for (const bool nameless_first : {true, false}) {
    TypeTable table;
    CHECK(table.add(nameless_first ? nameless : named));
    CHECK(table.add(nameless_first ? named : nameless));
    REQUIRE(table.find(7U) != nullptr);
    CHECK(table.find(7U)->name == "Session");
    CHECK(table.find(7U)->instance_bytes == 24);
    CHECK(table.contradictions() == 0);
  }
}

TEST_CASE("a symbol that was cut at its @ still names the class of its method") {
  CHECK(class_of_cut("*Channel(Job)") == "Channel(Job)");
  CHECK(class_of_cut("*Shop::Cart") == "Shop::Cart");
  CHECK(class_of_cut("*Shop::Cart::new:Shop::Cart").empty());
  CHECK(class_of_cut("*Shop::Cart#total:Int32").empty());
  CHECK(class_of_cut("*Shop::Cart@Shop::Base::new:Shop::Cart").empty());
  CHECK(class_of_cut("*puts<String>:Nil").empty());
  CHECK(class_of_cut("*Pointer(Job)").empty());
  CHECK(class_of_cut("*Array(").empty());
  CHECK(class_of_cut("Shop::Cart").empty());
}

TEST_CASE("names are kept as users write them") {
  CHECK(canonical_name("Array(Shape+)") == "Array(Shape)");
  CHECK(canonical_name("Hash(String, Error+ | Nil)") == "Hash(String, Error | Nil)");
  CHECK(canonical_name("Array(Box(Shape+)+)") == "Array(Box(Shape))");
  CHECK(canonical_name("Int32+") == "Int32");
  CHECK(canonical_name("/srv/app/a b.cr::Hidden") == "Hidden");
  CHECK(canonical_name("Array(/srv/app/x.cr::Hidden)") == "Array(Hidden)");
  CHECK(canonical_name("/no/path") == "/no/path");
  CHECK(canonical_name("+") == "+");
  CHECK(canonical_name("").empty());
}

TEST_CASE("a symbol shows the class that its function returns") {
  CHECK(class_returned_by("*Session::new<String, Int32>:Session") == "Session");
  CHECK(class_returned_by("*Circle@Shape::new<String>:Acme::Circle") == "Acme::Circle");
  CHECK(class_returned_by("*File::new:blocking:encoding<Int32, Nil>:File") == "File");
  CHECK(class_returned_by("*Hash(K, V)::new:Hash(String, NamedTuple(time: Time, at: Int32))") ==
        "Hash(String, NamedTuple(time: Time, at: Int32))");
  CHECK(class_returned_by("*Array(Shape+)@Array(T)::new:Array(Shape+)") == "Array(Shape+)");
}

TEST_CASE("a symbol that does not name exactly one class shows nothing") {
  for (const char* symbol :
       {"", "main", "*", "***", "*A::new", "*Shape::pick<Int32>:Shape+", "*Foo::find:(Foo | Nil)",
        "*Pointer(Int32)@Pointer(T)::malloc<Int32>:Pointer(Int32)",
        "*Slice(UInt8)::new<Int32>:Slice(UInt8)", "*Foo#each<&Proc(Nil)>:Proc(Nil)",
        "*Foo::type:Foo.class", "*Foo::new:Foo)", "~procProc(Nil)@/srv/app.cr:98"}) {
    CAPTURE(symbol);
    CHECK(class_returned_by(symbol).empty());
  }
}

}  // namespace heapattach::crystal
