// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution of the array as one on the sparse cluster. Private to the
// passes of `npu`.

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_CLUSTERCONVOLUTION_H
#define ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_CLUSTERCONVOLUTION_H

#include "dialects/NPU/NPUDialect.h"

namespace ashlar::npu {

/// Creates the convolution in front of \p conv, with what both engines know of
/// it. Decisions about the rows and columns of the array are left out; how the
/// cluster works is the caller's to set. \p conv stays.
TcuConvOp createOnCluster(PeConvOp conv);

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_CLUSTERCONVOLUTION_H
