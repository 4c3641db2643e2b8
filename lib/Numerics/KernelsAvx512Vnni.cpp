// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The AVX-512 kernels with VNNI dot products.

#define ASHLAR_VNNI 1
#include "KernelsAvx512.cpp"
