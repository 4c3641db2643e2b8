// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that keep large feature maps on the chip against those that do not.

#include "Compilation.h"

#include "ashlar/Support/Error.h"

namespace ashlar::pipelines {

/// What was not compared, as decisions name it.
static constexpr llvm::StringLiteral kLayoutsCompared =
    "large feature maps in DRAM";

/// tryRows() with large feature maps in DRAM, where the program that keeps them
/// on chip was refused: what they leave may hold so small tiles of their
/// readers that these are too many. What fits neither way is refused as before.
llvm::Expected<Tried> Compilation::trySpilled(ClusterChoice &choice,
                                              llvm::Error refusal) {
  const ErrorClass kind = support::classify(refusal);
  if (kind != ErrorClass::Capacity && kind != ErrorClass::Unsupported)
    return refusal;
  ClusterChoice other = choice;
  keepLarge = false;
  auto spilled = tryRows(other);
  keepLarge = !spilled;
  if (!spilled) {
    llvm::consumeError(spilled.takeError());
    return refusal;
  }
  llvm::consumeError(std::move(refusal));
  choice = other;
  return spilled;
}

/// tryRows() with large feature maps kept on chip, or as they would lie
/// otherwise, whichever takes fewer cycles: what a plan gains by the one and
/// loses by the other shows in the whole network only.
llvm::Expected<Tried> Compilation::tryLayouts(ClusterChoice &choice) {
  ClusterChoice asked = choice;
  auto kept = tryRows(choice);
  if (!kept) {
    choice = asked;
    return trySpilled(choice, kept.takeError());
  }
  if (!keepsLargeMaps(kept->result.decisionsJson) ||
      !budget->allows(kLayoutsCompared))
    return kept;
  keepLarge = false;
  auto plain = tryClusters(choice);
  keepLarge = !plain;
  if (!plain) {
    budget->wasGivenUp(kLayoutsCompared);
    llvm::consumeError(plain.takeError());
    return kept;
  }
  auto with = kept->cycles(*budget, options.sparse.sample);
  if (!with)
    return with.takeError();
  auto without = plain->cycles(*budget, options.sparse.sample);
  if (!without)
    return without.takeError();
  keepLarge = (*with)->total <= (*without)->total;
  return keepLarge ? std::move(kept) : std::move(plain);
}

} // namespace ashlar::pipelines
