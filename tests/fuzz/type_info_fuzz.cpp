#include <cstddef>
#include <cstdint>
#include <string_view>

#include "symbols/crystal/type_info.h"
#include "symbols/types/crystal_type_info.h"

// Reads a compiler's table of types, in both forms, and makes layouts from it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapattach;
  auto types = crystal::parse_type_info({reinterpret_cast<const char*>(data), size});
  if (!types) return 0;
  crystal::TypeTable table;
  for (crystal::Type& type : *types) table.add(std::move(type));
  (void)types::types_from_table(table);
  return 0;
}
