// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine of a compilation: that of the options, or of the module.

#include "Compilation.h"

using namespace mlir;

namespace ashlar::pipelines {

/// Phases up to assign are for the machine of the options; what later ones find
/// was decided for the machine that the module names, as is all of a trial.
llvm::Error Compilation::findMachine() {
  records::TargetAttr named;
  if (result.module)
    named = (*result.module)
                ->getAttrOfType<records::TargetAttr>(records::kTargetAttr);
  const bool decided = trial || first > static_cast<int>(Phase::Assign);
  if (named && (decided || options.machine.empty())) {
    machine = named.getMachine();
    return llvm::Error::success();
  }
  auto loaded = machine::load(options.machine.empty() ? CompileOptions().machine
                                                      : options.machine);
  if (!loaded)
    return loaded.takeError();
  machine = std::move(*loaded);
  if (result.module && !decided)
    setTarget();
  return llvm::Error::success();
}

void Compilation::setTarget() {
  (*result.module)
      ->setAttr(records::kTargetAttr,
                records::TargetAttr::get(&context, machine));
}

llvm::Error
CompileOptions::checkMachine(const machine::Description &machine) const {
  const bool forms = weightCompression == "bitmap" ||
                     weightCompression == "runs" ||
                     weightCompression == "exponents";
  if (forms && machine.dma.decodedCodesPerCycle == 0)
    return makeError(ErrorClass::Usage,
                     "--weight-compression={} needs queues that decode such "
                     "streams, but machine '{}' has none "
                     "(dma.decoded_codes_per_cycle is 0)",
                     weightCompression, machine.name);
  if (nmWeights == "on" && !machine.pe.hasPattern())
    return makeError(ErrorClass::Usage,
                     "--nm-weights=on needs an array that keeps N of M rows, "
                     "but machine '{}' has none (pe.pattern_group is 0)",
                     machine.name);
  const bool comparesSums =
      machine.sparse.exists() && machine.act.poolColumns > 0;
  if (poolDrain == "on" && machine.vec.psumLanes == 0 && !comparesSums)
    return makeError(ErrorClass::Usage,
                     "--pool-drain=on needs a vector unit that reads PSUM or "
                     "drains of the sparse cluster that compare, but machine "
                     "'{}' has neither (vec.psum_lanes and act.pool_columns or "
                     "sparse.tcus are 0)",
                     machine.name);
  if (sparse.zeroSkip == "off" && sparse.mode == "scatter")
    return makeError(ErrorClass::Usage, "{}",
                     "--zero-skip=off is for tile mode: --sparse=scatter "
                     "issues non-zero coefficients only");
  return sparse.mode == "auto" || sparse.mode == "off"
             ? llvm::Error::success()
             : machine::requireCluster(machine, "--sparse=" + sparse.mode);
}

} // namespace ashlar::pipelines
