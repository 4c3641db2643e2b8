// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs between classes, made from calibration samples. Samples may all be
// easy: far from any boundary, with small errors. A blend of two of them lies
// between their classes, where networks amplify errors most.

#ifndef ASHLAR_LIB_PIPELINES_BLENDSAMPLES_H
#define ASHLAR_LIB_PIPELINES_BLENDSAMPLES_H

#include "../Samples/Evaluate.h"

namespace ashlar::pipelines {

/// The mean of every sample and the next one, of the last and the first,
/// computed in binary32; empty if the graph has inputs that are not f32, whose
/// means (of token numbers, of masks) would mean nothing.
std::vector<Sample> blendSamples(llvm::ArrayRef<Sample> samples);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_BLENDSAMPLES_H
