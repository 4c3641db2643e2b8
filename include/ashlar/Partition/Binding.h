// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How feature-map units reach compute units, and who gets which tile
// (docs/SparseTiles.md).

#ifndef ASHLAR_PARTITION_BINDING_H
#define ASHLAR_PARTITION_BINDING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ashlar::partition {

enum class Binding : uint8_t {
  Static, ///< unit i to unit i
  Switch, ///< 2x2 switches: unit i to unit i or i + 1
  Mesh,   ///< any to any, row and column steps of a near-square mesh
  Benes,  ///< any to any through 2 log2(N) - 1 stages
};

/// Hops from memory unit `from` to compute unit `to` of `units`; nothing if
/// there is no route. The own unit is always 0 hops away.
std::optional<uint64_t> hops(Binding binding, uint64_t units, uint64_t from,
                             uint64_t to);

/// What the links of an interconnect carry. Of a mesh, which goes along a row
/// and then along a column, each step of each direction is a link; of the
/// others every route has links of its own, since no two units take their data
/// from one memory unit and a Benes network has links for any such routes side
/// by side.
class RouteLoad {
public:
  RouteLoad(Binding binding, uint64_t units) : binding(binding), units(units) {}

  /// \p bytes from memory unit \p from to compute unit \p to, which there is a
  /// route between. The own memory unit needs no link.
  void add(uint64_t from, uint64_t to, uint64_t bytes);

  uint64_t farthest() const { return most; }   ///< Hops of the longest route.
  uint64_t busiest() const { return fullest; } ///< Bytes of the fullest link.

private:
  void carry(uint64_t from, uint64_t to, uint64_t bytes);

  Binding binding;
  uint64_t units, most = 0, fullest = 0;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> links; ///< By both ends.
};

/// Size of a Benes network for `ports` ports: ports rounded up to a power of
/// two, stages, switches.
struct BenesSize {
  uint64_t ports = 0;
  uint64_t stages = 0;
  uint64_t switches = 0;
};
BenesSize benesSize(uint64_t ports);

/// A tile that waits in a memory unit.
struct Waiting {
  uint64_t unit = 0;  ///< Memory unit that holds it.
  uint64_t bytes = 0; ///< What would have to travel.
  uint64_t work = 0;  ///< Cycles or non-zeros.
};

/// One compute unit per tile, at least total bytes x hops; the static binding
/// is the identity. Usage errors: more tiles than units, a unit out of range,
/// tiles that cannot all be served through this binding.
llvm::Expected<std::vector<uint64_t>> assign(Binding binding, uint64_t units,
                                             llvm::ArrayRef<Waiting> tiles);

/// Redirection between layers: any number of tiles per unit, each may go to
/// any compute unit that its memory unit reaches; largest tiles first, each
/// to the reachable unit that is free soonest, ties to fewer hops, then to
/// the lower number. Never a later end than leaving all tiles where they are.
llvm::Expected<std::vector<uint64_t>> redirect(Binding binding, uint64_t units,
                                               llvm::ArrayRef<Waiting> tiles);

/// Largest summed work of a unit.
uint64_t busiest(uint64_t units, llvm::ArrayRef<Waiting> tiles,
                 llvm::ArrayRef<uint64_t> owner);

/// Usage error if a tile's owner cannot be reached from its memory unit.
llvm::Error checkRoutes(Binding binding, uint64_t units,
                        llvm::ArrayRef<Waiting> tiles,
                        llvm::ArrayRef<uint64_t> owner);

/// "static", "2x2", "mesh" or "benes".
llvm::StringRef name(Binding binding);

} // namespace ashlar::partition

#endif // ASHLAR_PARTITION_BINDING_H
