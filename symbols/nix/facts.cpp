#include "symbols/nix/facts.h"

namespace heapattach::nix {

namespace {

using Place = ExpressionClass::Place;

constexpr std::string_view kNoPosition = "_ZN3nix5noPosE";
constexpr std::uint64_t kPositionBytes = 16;
constexpr std::uint64_t kVtableFunctions =
    16;  // the offset of the functions from a vtable's symbol

constexpr std::array kClasses{
    ExpressionClass{"_ZTVN3nix7ExprIntE"},
    ExpressionClass{"_ZTVN3nix9ExprFloatE"},
    ExpressionClass{"_ZTVN3nix10ExprStringE"},
    ExpressionClass{"_ZTVN3nix8ExprPathE"},
    ExpressionClass{"_ZTVN3nix7ExprVarE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix10ExprSelectE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix13ExprOpHasAttrE", Place::Part, 8},
    ExpressionClass{"_ZTVN3nix9ExprAttrsE", Place::Own, 16, false, true},
    ExpressionClass{"_ZTVN3nix8ExprListE", Place::Parts, 8},
    ExpressionClass{"_ZTVN3nix10ExprLambdaE", Place::Own, 8, true},
    ExpressionClass{"_ZTVN3nix8ExprCallE", Place::Own, 40},
    ExpressionClass{"_ZTVN3nix7ExprLetE", Place::Part, 8},
    ExpressionClass{"_ZTVN3nix8ExprWithE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix6ExprIfE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix10ExprAssertE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix9ExprOpNotE", Place::Part, 8},
    ExpressionClass{"_ZTVN3nix8ExprOpEqE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix9ExprOpNEqE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix9ExprOpAndE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix8ExprOpOrE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix10ExprOpImplE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix12ExprOpUpdateE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix17ExprOpConcatListsE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix17ExprConcatStringsE", Place::Own, 8},
    ExpressionClass{"_ZTVN3nix7ExprPosE", Place::Own, 8},
};

}  // namespace

std::span<const ExpressionClass> expression_classes() {
  return kClasses;
}

bool is_no_position(RemoteAddr at, const MemoryReader& memory) {
  constexpr std::uint64_t kOfString = std::uint64_t{2} << 32;
  const auto file = memory.read_as<std::uint64_t>(at);
  const auto rest = memory.read_as<std::uint64_t>(at + 8);
  return file && rest && *file == 0 && *rest == kOfString;
}

std::optional<Facts> find_nix(const Modules& modules, const MemoryReader& memory) {
  const auto position = modules.find_symbol(kNoPosition);
  if (!position || position->bytes != kPositionBytes ||
      !is_no_position(position->address, memory)) {
    return std::nullopt;
  }
  // The variable may be a copy in the program, but the classes are in the library.
  Facts facts{.no_position = position->address.value, .classes = {}};
  for (const ExpressionClass& one : kClasses) {
    const auto vtable = modules.find_symbol(one.vtable);
    if (!vtable) return std::nullopt;
    facts.classes.emplace(vtable->address.value + kVtableFunctions, &one);
  }
  return facts;
}

}  // namespace heapattach::nix
