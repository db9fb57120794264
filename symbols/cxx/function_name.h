#pragma once

#include <string>
#include <string_view>

namespace heapattach {

// A function's name as people write it, from its symbol: without parameters, return type, and the
// additions of a compiler.
//   C++      _ZN3app4Cart3addEi                        app::Cart::add
//            _ZN3app3runIiEEvT_                        app::run<int>
//   Crystal  *Channel(Int32)@Channel(T)#receive:Int32  Channel(Int32)#receive
//            *sleep<Int32>:Nil                         sleep
//            ~procProc(Nil)@app.cr:12                  (proc)
//   C        main, memcpy.part.0                       main, memcpy
[[nodiscard]] std::string function_name(std::string_view symbol);

// Whether only the class of a Crystal method is left in its symbol: lld takes '@' for the beginning
// of a version, and cuts "*Channel(Int32)@Channel(T)#receive:Int32" there. function_name is then
// the class.
[[nodiscard]] bool is_cut_short(std::string_view symbol);

}  // namespace heapattach
