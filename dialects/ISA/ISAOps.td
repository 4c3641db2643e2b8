// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All instructions. Opcodes 0x50-0x5f are the sparse cluster's, 0x60 is reserved
// for further select modes, 0x70-0x7f are the host's.

#ifndef ASHLAR_ISA_OPS
#define ASHLAR_ISA_OPS

include "dialects/ISA/ISASyncOps.td"
include "dialects/ISA/ISADmaOps.td"
include "dialects/ISA/ISAPeOps.td"
include "dialects/ISA/ISAActOps.td"
include "dialects/ISA/ISAVecOps.td"
include "dialects/ISA/ISATccOps.td"
include "dialects/ISA/ISACutOps.td"
include "dialects/ISA/ISAHostOps.td"
include "dialects/ISA/ISAProgramOps.td"

#endif // ASHLAR_ISA_OPS
