// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose factors are encoded already keep their formats.
//
// RUN: ashlar-opt --ashlar-bfp-choose-formats %s | FileCheck %s

// CHECK: bfp.matmul %arg0, %arg1
!a = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>
!b = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>
func.func @main(%a: tensor<1x64x!a>, %b: tensor<64x10x!b>) -> tensor<1x10xf32> {
  %0 = bfp.matmul %a, %b : (tensor<1x64x!a>, tensor<64x10x!b>) -> tensor<1x10xf32>
  return %0 : tensor<1x10xf32>
}
