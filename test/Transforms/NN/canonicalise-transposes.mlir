// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains of reshapes and transposes become what they amount to.
// RUN: ashlar-opt %s -ashlar-nn-canonicalise-transposes -split-input-file | FileCheck %s

// A round trip leaves nothing (T12 of the transpose specification).
// CHECK-LABEL: func.func @main
// CHECK-NEXT: return %arg0
func.func @main(%arg0: tensor<1x12x4x4xf32>) -> tensor<1x12x4x4xf32> {
  %0 = nn.reshape %arg0 : (tensor<1x12x4x4xf32>) -> tensor<1x2x2x3x4x4xf32>
  %1 = nn.transpose %0 {perm = array<i64: 0, 3, 4, 1, 5, 2>} : (tensor<1x2x2x3x4x4xf32>) -> tensor<1x3x4x2x4x2xf32>
  %2 = nn.reshape %1 : (tensor<1x3x4x2x4x2xf32>) -> tensor<1x3x8x8xf32>
  %3 = nn.reshape %2 : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x2x4x2xf32>
  %4 = nn.transpose %3 {perm = array<i64: 0, 3, 5, 1, 2, 4>} : (tensor<1x3x4x2x4x2xf32>) -> tensor<1x2x2x3x4x4xf32>
  %5 = nn.reshape %4 : (tensor<1x2x2x3x4x4xf32>) -> tensor<1x12x4x4xf32>
  return %5 : tensor<1x12x4x4xf32>
}

// -----

// A channel shuffle, whose halves are taken, is two gathers of channels.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[A:.*]] = nn.gather %arg0 {axis = 1 : i64, indices = array<i64: 0, 3, 1>} : (tensor<1x6x2x2xf32>) -> tensor<1x3x2x2xf32>
// CHECK-DAG: %[[B:.*]] = nn.gather %arg0 {axis = 1 : i64, indices = array<i64: 4, 2, 5>} : (tensor<1x6x2x2xf32>) -> tensor<1x3x2x2xf32>
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @main(%arg0: tensor<1x6x2x2xf32>) -> (tensor<1x3x2x2xf32>, tensor<1x3x2x2xf32>) {
  %0 = nn.reshape %arg0 : (tensor<1x6x2x2xf32>) -> tensor<1x2x3x2x2xf32>
  %1 = nn.transpose %0 {perm = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x3x2x2xf32>) -> tensor<1x3x2x2x2xf32>
  %2 = nn.reshape %1 : (tensor<1x3x2x2x2xf32>) -> tensor<1x6x2x2xf32>
  %3 = nn.slice %2 {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x6x2x2xf32>) -> tensor<1x3x2x2xf32>
  %4 = nn.slice %2 {starts = array<i64: 0, 3, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x6x2x2xf32>) -> tensor<1x3x2x2xf32>
  return %3, %4 : tensor<1x3x2x2xf32>, tensor<1x3x2x2xf32>
}

// -----

// The opposite shuffle after it: nothing.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: return %arg0
func.func @main(%arg0: tensor<6x5xi8>) -> tensor<6x5xi8> {
  %0 = nn.gather %arg0 {axis = 0 : i64, indices = array<i64: 0, 3, 1, 4, 2, 5>} : (tensor<6x5xi8>) -> tensor<6x5xi8>
  %1 = nn.gather %0 {axis = 0 : i64, indices = array<i64: 0, 2, 4, 1, 3, 5>} : (tensor<6x5xi8>) -> tensor<6x5xi8>
  return %1 : tensor<6x5xi8>
}

// -----

// Two transposes with a reshape between them that regroups whole digits.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[X:.*]] = nn.reshape %arg0 : (tensor<4x3x5x2xf32>) -> tensor<12x5x2xf32>
// CHECK-NEXT: %[[T:.*]] = nn.transpose %[[X]] {perm = array<i64: 1, 0, 2>}
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[T]] : (tensor<5x12x2xf32>) -> tensor<5x24xf32>
// CHECK-NEXT: return %[[R]]
func.func @main(%arg0: tensor<4x3x5x2xf32>) -> tensor<5x24xf32> {
  %0 = nn.transpose %arg0 {perm = array<i64: 2, 3, 0, 1>} : (tensor<4x3x5x2xf32>) -> tensor<5x2x4x3xf32>
  %1 = nn.reshape %0 : (tensor<5x2x4x3xf32>) -> tensor<5x2x12xf32>
  %2 = nn.transpose %1 {perm = array<i64: 0, 2, 1>} : (tensor<5x2x12xf32>) -> tensor<5x12x2xf32>
  %3 = nn.reshape %2 : (tensor<5x12x2xf32>) -> tensor<5x24xf32>
  return %3 : tensor<5x24xf32>
}

// -----

// A reshape that cuts a digit ends the chain; a lone transpose stays.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.transpose %arg0
// CHECK-NEXT: nn.reshape
// CHECK-NEXT: nn.transpose
func.func @main(%arg0: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = nn.transpose %arg0 {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = nn.reshape %0 : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %2 = nn.transpose %1 {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}
