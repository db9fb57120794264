#pragma once

#include <string>
#include <string_view>

namespace heapattach {

// A function's name as people write it, from its symbol: without parameters, return type, and
// compiler suffixes.
//   C++      _ZN3app4Cart3addEi                        app::Cart::add
//            _ZN3app3runIiEEvT_                        app::run<int>
//   Crystal  *Channel(Int32)@Channel(T)#receive:Int32  Channel(Int32)#receive
//            *sleep<Int32>:Nil                         sleep
//            ~procProc(Nil)@app.cr:12                  (proc)
//   C        main, memcpy.part.0                       main, memcpy
[[nodiscard]] std::string function_name(std::string_view symbol);

// Whether a Crystal method's symbol was cut to its class: lld treats '@' as the start of a version,
// and cuts "*Channel(Int32)@Channel(T)#receive:Int32" there. function_name() then returns the
// class.
[[nodiscard]] bool is_cut_short(std::string_view symbol);

}  // namespace heapattach
