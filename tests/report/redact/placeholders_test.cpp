#include "report/redact/placeholders.h"

#include <array>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "report/redact/library_names.h"

namespace heapattach {

namespace {

const Placeholders names("3317f6a0", Language::Crystal);

// Writes A for the first placeholder, B for the next different one, and so on.
std::string shape_of(std::string text) {
  std::string known;
  for (const std::string_view what : {"Type-", "field-"}) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what)) {
      const std::string whole = text.substr(at, what.size() + 12);
      const char letter = static_cast<char>('A' + known.size());
      known += letter;
      for (; at != std::string::npos; at = text.find(whole)) {
        text.replace(at, whole.size(), std::string(1, letter));
      }
    }
  }
  return text;
}

}  // namespace

TEST_CASE("the keyed hash is SipHash-2-4") {
  const std::array<std::uint64_t, 2> key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string text;
  CHECK(sip_hash(key, text) == 0x726fdb47dd0e0e31);
  for (char byte = 0; byte < 15; ++byte) text += byte;
  CHECK(sip_hash(key, text) == 0xa129ca6149be45e5);
}

TEST_CASE("everything in a type's name is replaced except library names") {
  const std::pair<const char*, const char*> table[] = {
      {"Shop::Session", "A"},
      {"Array(Shop::Session)", "Array(A)"},
      {"Hash(String, Shop::A | Shop::B | Nil)", "Hash(String, A | B | Nil)"},
      {"(buffer of Hash(Session, Session))", "(buffer of Hash(A, A))"},
      {"(unnamed, in an Array(Session))", "(unnamed, in an Array(A))"},
      {"HTTP::Server", "HTTP::Server"},
      {"HTTP::Payroll", "A"},
      {"StaticArray(UInt8, 16)", "StaticArray(UInt8, 16)"},
      {"NamedTuple(salary: Int32)", "NamedTuple(A: Int32)"},
      {"(unknown atomic)", "(unknown atomic)"},
      {"(type 174)", "(type 174)"},
      {"(type secret)", "(type A)"},
      {"(48 bytes)", "(48 bytes)"},
      {"(std::make_shared<shop::Item>)", "(std::make_shared<A>)"},
      {"(control block of std::shared_ptr<shop::Item>)", "(control block of std::shared_ptr<A>)"},
      {"std::vector<shop::Order, std::allocator<shop::Order> >",
       "std::vector<A, std::allocator<A> >"},
      {"shop::(anonymous namespace)::Order*", "A::(anonymous namespace)::B*"},
      {"unsigned char[]", "unsigned char[]"},
      {"struct session", "struct A"},
      {"std::SecretX", "A"},
      {"std::vector::Secret", "A"},
      {"std", "std"},
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
       "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"},
      {"std::_Rb_tree_node<std::pair<int const, shop::Order> >",
       "std::_Rb_tree_node<std::pair<int const, A> >"},
      {"__gnu_cxx::secret", "A"},
      {"GC_SecretX", "A"},
      {"__libc_secretX", "A"},
      {"_IO_secret", "A"},
      {"GC_ms_entry", "GC_ms_entry"},
      {"</title><script>", "</A><B>"},
      {"Gr\xc3\xb6\xc3\x9f"
       "e",
       "A"},
      {"", ""},
  };
  for (const auto& row : table) {
    CAPTURE(row.first);
    CHECK(shape_of(names.of_type(row.first)) == row.second);
  }
}

TEST_CASE("numbers, brackets and sigils of a field's path stay") {
  CHECK(shape_of(names.of_path("@cart.@total", false)) == "@A.@B");
  CHECK(shape_of(names.of_path("items[3].item", false)) == "A[3].B");
  CHECK(names.of_path("+24", false) == "+24");
  CHECK(names.of_path("[", false) == "[");
  CHECK(shape_of(names.of_path("@buffer", false)) == "@A");
  CHECK(names.of_path("@buffer", true) == "@buffer");
  CHECK(names.of_path("_M_dataplus._M_p", true) == "_M_dataplus._M_p");
  CHECK(shape_of(names.of_path("_M_secret.__secret", true)) == "A.B");
  CHECK(shape_of(names.of_path("@salary", true)) == "@A");
}

TEST_CASE("a name has one placeholder in all snapshots of a build, and another elsewhere") {
  const Placeholders again("3317f6a0", Language::Crystal);
  const Placeholders other("3317f6a1", Language::Crystal);
  CHECK(names.of_type("Shop") == again.of_type("Shop"));
  CHECK(names.of_type("Shop") != other.of_type("Shop"));
  CHECK(names.of("global", "Shop") != "global-" + names.of_type("Shop").substr(5));
  CHECK(names.of_build_id("3317f6a0").size() == 8);
  CHECK(names.of_build_id("3317f6a0") == again.of_build_id("3317f6a0"));
  CHECK(names.of_build_id("3317f6a0") != "3317f6a0");
  CHECK_FALSE(names.is_for_one_snapshot_only());
  const Placeholders first("", Language::Crystal);
  const Placeholders second("", Language::Crystal);
  CHECK(first.is_for_one_snapshot_only());
  CHECK(first.of_type("Shop") != second.of_type("Shop"));
}

TEST_CASE("a class of another language is not Crystal's because of its name") {
  const Placeholders of_cxx("3317f6a0", Language::Other);
  CHECK(shape_of(of_cxx.of_type("Channel")) == "A");
  CHECK(names.of_type("Channel") == "Channel");
  CHECK(is_library_symbol("GC_static_roots", Language::Other));
  CHECK_FALSE(is_library_symbol("Log", Language::Other));
}

TEST_CASE("common libraries are recognised by their file") {
  for (const char* file : {"libc.so.6", "/usr/lib/x86_64-linux-gnu/libgc.so.1.5.1", "libc-2.31.so",
                           "ld-linux-x86-64.so.2", "libstdc++.so.6", "libyaml-0.so.2"}) {
    CHECK(is_library_file(file));
  }
  for (const char* file : {"demo", "libshop.so", "libcshop.so", "librtc.so.1", ""}) {
    CHECK_FALSE(is_library_file(file));
  }
}

TEST_CASE("a variable is a library's by its whole name, not by its prefix") {
  CHECK(is_library_symbol("GC_arrays", Language::Other));
  CHECK(is_library_symbol("__environ", Language::Other));
  CHECK_FALSE(is_library_symbol("GC_secret", Language::Other));
  CHECK_FALSE(is_library_symbol("__secret", Language::Other));
}

TEST_CASE("of a Ruby program, the names of Ruby's own classes stay") {
  const Placeholders of_ruby("3317f6a0", Language::Ruby);
  const auto shape = [&](const char* name) { return shape_of(of_ruby.of_type(name)); };
  for (const char* name : {"String", "Thread::Mutex", "Errno::EPIPE", "imemo(iseq)", "iclass",
                           "internal(Array)", "Class (singleton)", "StringIO"}) {
    CHECK(of_ruby.of_type(name) == name);
  }
  CHECK(shape("Blog::Session") == "A");
  CHECK(shape("Session (singleton)") == "A (singleton)");
  CHECK(shape("Errno::SECRET") == "A");
  CHECK(shape("Thread::Secret") == "A");
  CHECK(shape("#<Class:0x00007f12a0345678>") == "#<Class:A>");
  CHECK(of_ruby.of_path("superclass", false) == "superclass");
  CHECK(of_ruby.of_path("references[", false) == "references[");
  CHECK(shape_of(of_ruby.of_path("@class", false)) == "@A");
  CHECK(shape_of(of_ruby.of_path("METRICS", false)) == "A");
  CHECK(is_library_symbol("$stdout", Language::Ruby));
  CHECK_FALSE(is_library_symbol("$secret", Language::Ruby));
  CHECK_FALSE(is_library_type("Thread::Mutex", Language::Other));
}

}  // namespace heapattach
