// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposes sink through what commutes with them (T15 of the transpose
// specification: how many are left).
// RUN: ashlar-opt %s -ashlar-nn-sink-transposes -ashlar-nn-compose-movement -ashlar-nn-fold-constants -split-input-file | FileCheck %s

// Two transposed operands: one transpose of the sum, and it meets its inverse.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:.*]] = nn.add %arg0, %arg1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %[[R:.*]] = nn.unary relu %[[S]]
// CHECK-NEXT: return %[[R]]
func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.transpose %arg0 {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = nn.transpose %arg1 {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = nn.add %0, %1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = nn.unary relu %2 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = nn.transpose %3 {perm = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %4 : tensor<2x3xf32>
}

// -----

// A constant operand takes the transpose over at compile time.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[C:.*]] = nn.constant dense<{{\[\[}}[1.000000e+00], [2.000000e+00], [3.000000e+00]]]>
// CHECK: %[[A:.*]] = nn.add %arg0, %[[C]]
// CHECK-NEXT: %[[T:.*]] = nn.transpose %[[A]] {perm = array<i64: 0, 2, 1>}
// CHECK-NEXT: return %[[T]]
func.func @main(%arg0: tensor<2x3x4xf32>) -> tensor<2x4x3xf32> {
  %c = nn.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = nn.transpose %arg0 {perm = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %1 = nn.add %0, %c : (tensor<2x4x3xf32>, tensor<3xf32>) -> tensor<2x4x3xf32>
  return %1 : tensor<2x4x3xf32>
}

// -----

// Reductions, softmax, slices and concatenations rename their axes.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:.*]] = nn.softmax %arg0 {axis = 1 : i64}
// CHECK-NEXT: %[[C:.*]] = nn.concat %[[S]], %arg1 {axis = 1 : i64}
// CHECK-NEXT: %[[L:.*]] = nn.slice %[[C]] {starts = array<i64: 0, 1, 2>, steps = array<i64: 1, 1, 2>} : (tensor<2x6x4xf32>) -> tensor<2x4x1xf32>
// CHECK-NEXT: %[[R:.*]] = nn.reduce mean %[[L]] {axes = array<i64: 0>, keepdims = false} : (tensor<2x4x1xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %[[T:.*]] = nn.reshape %[[R]] : (tensor<4x1xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: return %[[T]]
func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x3x4xf32>) -> tensor<1x4xf32> {
  %0 = nn.transpose %arg0 {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = nn.softmax %0 {axis = 2 : i64} : (tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  %2 = nn.transpose %arg1 {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %3 = nn.concat %1, %2 {axis = 2 : i64} : (tensor<4x2x3xf32>, tensor<4x2x3xf32>) -> tensor<4x2x6xf32>
  %4 = nn.slice %3 {starts = array<i64: 2, 0, 1>, steps = array<i64: 2, 1, 1>} : (tensor<4x2x6xf32>) -> tensor<1x2x4xf32>
  %5 = nn.reduce mean %4 {axes = array<i64: 1>, keepdims = false} : (tensor<1x2x4xf32>) -> tensor<1x4xf32>
  return %5 : tensor<1x4xf32>
}

// -----

// Another reader: the transpose stays where it is.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[T:.*]] = nn.transpose %arg0
// CHECK-NEXT: nn.unary relu %[[T]]
func.func @main(%arg0: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %0 = nn.transpose %arg0 {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = nn.unary relu %0 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0, %1 : tensor<3x2xf32>, tensor<3x2xf32>
}
