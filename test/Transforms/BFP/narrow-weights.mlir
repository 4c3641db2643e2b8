// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights in the fewest bits that hold the same numbers.
// RUN: ashlar-opt --ashlar-bfp-narrow-weights=least-elements=1 --split-input-file %s | FileCheck %s
// RUN: ashlar-opt --ashlar-bfp-narrow-weights --split-input-file %s | FileCheck %s --check-prefix=FEW

!x = tensor<2x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>

// Halves up to 6: three digits and a sign more than the leading one.
// CHECK-LABEL: func @fp4
// CHECK: bfp.encode %{{.*}} weights : tensor<4x2xf32> -> tensor<4x2x!bfp.block<mantissa = 5, block = 16, range = 7, axis = 0>>
// FEW-LABEL: func @fp4
// FEW: bfp.encode %{{.*}} weights : tensor<4x2xf32> -> tensor<4x2x!bfp.block<mantissa = 8,
func.func @fp4(%x: !x) -> tensor<2x2xf32> {
  %0 = nn.constant dense<[[0.5, 6.0], [1.5, -4.0], [-6.0, 0.5], [0.0, 3.0]]> : tensor<4x2xf32>
  %1 = bfp.encode %0 weights : tensor<4x2xf32> -> !w
  %2 = bfp.matmul %x, %1 : (!x, !w) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

!x = tensor<2x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>

// One odd number of full width keeps them all.
// CHECK-LABEL: func @odd
// CHECK: -> tensor<4x2x!bfp.block<mantissa = 8,
func.func @odd(%x: !x) -> tensor<2x2xf32> {
  %0 = nn.constant dense<[[0.5, 6.0], [1.5, -4.0], [-6.0, 0.5], [0.0, 3.0625]]> : tensor<4x2xf32>
  %1 = bfp.encode %0 weights : tensor<4x2xf32> -> !w
  %2 = bfp.matmul %x, %1 : (!x, !w) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

!x = tensor<2x16x!bfp.block<mantissa = 8, block = 8, range = 1, axis = 1>>
!w = tensor<16x1x!bfp.block<mantissa = 8, block = 8, range = 1, axis = 0>>

// Blocks further apart than the range are rounded when they are aligned.
// CHECK-LABEL: func @apart
// CHECK: -> tensor<16x1x!bfp.block<mantissa = 8,
func.func @apart(%x: !x) -> tensor<2x1xf32> {
  %0 = nn.constant dense<[[8.0], [8.0], [8.0], [8.0], [8.0], [8.0], [8.0], [8.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0]]> : tensor<16x1xf32>
  %1 = bfp.encode %0 weights : tensor<16x1xf32> -> !w
  %2 = bfp.matmul %x, %1 : (!x, !w) -> tensor<2x1xf32>
  return %2 : tensor<2x1xf32>
}

// -----

!x = tensor<2x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0, rows = 2>>

// Channels that share exponents count together: each of the first two would fit 3
// bits with an exponent of its own, both together take 7.
// CHECK-LABEL: func @rows
// CHECK: -> tensor<4x3x!bfp.block<mantissa = 7, block = 16, range = 7, axis = 0, rows = 2>>
func.func @rows(%x: !x) -> tensor<2x3xf32> {
  %0 = nn.constant dense<[[32.0, 1.0, 1.0], [32.0, 1.0, 1.0], [-32.0, -1.0, 1.0], [0.0, 1.0, 1.0]]> : tensor<4x3xf32>
  %1 = bfp.encode %0 weights : tensor<4x3xf32> -> !w
  %2 = bfp.matmul %x, %1 : (!x, !w) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}
