// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: ashlar-opt --canonicalize %s | FileCheck %s

!act = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>
!row = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>

// CHECK-LABEL: func @encode_of_decode
// CHECK-SAME: (%[[X:.*]]: tensor
func.func @encode_of_decode(%x: tensor<4x32x!act>) -> tensor<4x32x!act> {
  // CHECK-NEXT: return %[[X]]
  %0 = bfp.decode %x : tensor<4x32x!act> -> tensor<4x32xf32>
  %1 = bfp.encode %0 : tensor<4x32xf32> -> tensor<4x32x!act>
  return %1 : tensor<4x32x!act>
}

// Other blocks are other numbers.
// CHECK-LABEL: func @encode_of_decode_other_axis
func.func @encode_of_decode_other_axis(%x: tensor<4x32x!act>) -> tensor<4x32x!row> {
  // CHECK: bfp.decode
  // CHECK: bfp.encode
  %0 = bfp.decode %x : tensor<4x32x!act> -> tensor<4x32xf32>
  %1 = bfp.encode %0 : tensor<4x32xf32> -> tensor<4x32x!row>
  return %1 : tensor<4x32x!row>
}

// Encode rounds: its decode is not what went in.
// CHECK-LABEL: func @decode_of_encode
func.func @decode_of_encode(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK: bfp.encode
  // CHECK: bfp.decode
  %0 = bfp.encode %x : tensor<4x32xf32> -> tensor<4x32x!act>
  %1 = bfp.decode %0 : tensor<4x32x!act> -> tensor<4x32xf32>
  return %1 : tensor<4x32xf32>
}
