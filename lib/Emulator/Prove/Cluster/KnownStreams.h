// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coefficient streams of a program whose proof was kept: what the loader
// otherwise decodes while it proves.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_CLUSTER_KNOWNSTREAMS_H
#define ASHLAR_LIB_EMULATOR_PROVE_CLUSTER_KNOWNSTREAMS_H

#include "../../Impl.h"

namespace ashlar::emulator {

/// Decodes the streams of \p impl, which has been proven, so that no run has
/// to.
void decodeKnownStreams(LoadedProgram::Impl &impl);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_CLUSTER_KNOWNSTREAMS_H
