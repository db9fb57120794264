#include "symbols/cxx/function_name.h"

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("a C++ function is named as in its source") {
  CHECK(function_name("_ZN3app4Cart3addEi") == "app::Cart::add");
  CHECK(function_name("_ZN3app3runIiEEvT_") == "app::run<int>");
  CHECK(function_name("_ZNK3app4Cart4sizeEv") == "app::Cart::size");
  CHECK(function_name("_ZN12_GLOBAL__N_15innerEPKc") == "(anonymous namespace)::inner");
  CHECK(function_name("_ZN3appclEi") == "app::operator()");
  CHECK(function_name("_ZNK1XcvbEv") == "X::operator bool");
  CHECK(function_name("_ZN1XlsERKS_") == "X::operator<<");
  CHECK(function_name("_ZNSt6vectorIiSaIiEE9push_backEOi") ==
        "std::vector<int, std::allocator<int> >::push_back");
  CHECK(function_name("_ZZ4mainENKUliE_clEi") == "main::{lambda(int)#1}::operator()");
  CHECK(function_name("_ZN3app4Cart3addEi.part.0") == "app::Cart::add");
  CHECK(function_name("_ZN3app11in_operatorEv") == "app::in_operator");
  CHECK(function_name("_Z9operatorsIiEvT_") == "operators<int>");
  CHECK(function_name("_Znot a name") == "_Znot a name");
}

TEST_CASE("a Crystal function is named as in its source") {
  CHECK(function_name("*Channel(Int32)@Channel(T)#receive:Int32") == "Channel(Int32)#receive");
  CHECK(function_name("*Crystal::Scheduler::sleep<Time::Span>:Nil") == "Crystal::Scheduler::sleep");
  CHECK(function_name("*Crystal::Scheduler#reschedule:Nil") == "Crystal::Scheduler#reschedule");
  CHECK(function_name("*sleep<Int32>:Nil") == "sleep");
  CHECK(function_name("*File@IO::Evented#wait_readable<(Time::Span | Nil)>:Nil") ==
        "File#wait_readable");
  CHECK(function_name("*IO::FileDescriptor+@IO::Evented#wait_readable:Nil") ==
        "IO::FileDescriptor#wait_readable");
  CHECK(function_name("*Hash(String, Int32)@Hash(K, V)::new:Hash(String, Int32)") ==
        "Hash(String, Int32)::new");
  CHECK(function_name("*Mutex::Protection@Enum#==<Mutex::Protection>:Bool") ==
        "Mutex::Protection#==");
  CHECK(function_name("*Int32#<<Int64>:Bool") == "Int32#<");
  CHECK(function_name("*Array(Int32)@Array(T)#<<<Int32>:Array(Int32)") == "Array(Int32)#<<");
  CHECK(function_name("*Int32@Comparable(T)#<=><Int32>:Int32") == "Int32#<=>");
  CHECK(function_name("*Mutex::Protection#reentrant?:Bool") == "Mutex::Protection#reentrant?");
  CHECK(function_name("~procProc(Nil)@app.cr:12") == "(proc)");
  CHECK(function_name("__crystal_main") == "__crystal_main");
}

TEST_CASE("a symbol that lld has cut at its '@' is distinguished from a whole one") {
  CHECK(is_cut_short("*Channel(Job)"));
  CHECK(function_name("*Channel(Job)") == "Channel(Job)");
  CHECK(is_cut_short("*Crystal::EventLoop::Polling+"));
  CHECK(function_name("*Crystal::EventLoop::Polling+") == "Crystal::EventLoop::Polling");
  for (const char* whole :
       {"*Channel(Int32)@Channel(T)#receive:Int32", "*Mutex#lock:Nil", "*sleep<Int32>:Nil",
        "*Fiber::suspend:Nil", "*Int32#+<Int32>:Int32", "main", "Channel(Job)", "*", ""}) {
    CAPTURE(whole);
    CHECK_FALSE(is_cut_short(whole));
  }
}

TEST_CASE("additions of compilers and linkers to a name are left out") {
  CHECK(function_name("main") == "main");
  CHECK(function_name("work.constprop.0.isra.0") == "work");
  CHECK(function_name("pthread_mutex_lock@@GLIBC_2.2.5") == "pthread_mutex_lock");
  CHECK(function_name("helper.12") == "helper");
  CHECK(function_name("f") == "f");
  CHECK(function_name("") == "");
  CHECK(function_name("*") == "*");
  CHECK(function_name("@") == "@");
}

TEST_CASE("malformed names do no harm") {
  for (const char* text :
       {"*((((((", "*#", "*a@", "*@#:<", "_Z", "_ZN", "*a#<<<<<<<", "*:::::", "~"}) {
    CHECK(function_name(text).size() <= 64);
  }
}

}  // namespace heapattach
