// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All instructions. Opcodes 0x50-0x5f are reserved for the sparse cluster, 0x60
// for further select modes, 0x70 for the host.

#ifndef ASHLAR_ISA_OPS
#define ASHLAR_ISA_OPS

include "dialects/ISA/ISASyncOps.td"
include "dialects/ISA/ISADmaOps.td"
include "dialects/ISA/ISAPeOps.td"
include "dialects/ISA/ISAActOps.td"
include "dialects/ISA/ISAVecOps.td"
include "dialects/ISA/ISAProgramOps.td"

#endif // ASHLAR_ISA_OPS
