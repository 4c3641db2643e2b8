// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Movement merges and cancels.
// RUN: ashlar-opt %s -ashlar-nn-compose-movement -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: return %arg0, %arg0
func.func @main(%arg0: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %0 = nn.reshape %arg0 : (tensor<2x3x4xf32>) -> tensor<24xf32>
  %1 = nn.reshape %0 : (tensor<24xf32>) -> tensor<2x3x4xf32>
  %2 = nn.transpose %arg0 {perm = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %3 = nn.transpose %2 {perm = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  return %1, %3 : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[T:.*]] = nn.transpose %arg0 {perm = array<i64: 2, 1, 0>}
// CHECK-NEXT: return %[[T]]
func.func @main(%arg0: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  %0 = nn.transpose %arg0 {perm = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = nn.transpose %0 {perm = array<i64: 1, 0, 2>} : (tensor<3x4x2xf32>) -> tensor<4x3x2xf32>
  return %1 : tensor<4x3x2xf32>
}

// -----

// Only dimensions of size one move: no element does.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[R:.*]] = nn.reshape %arg0 : (tensor<1x3x1x4xf32>) -> tensor<3x1x4x1xf32>
// CHECK-NEXT: return %[[R]]
func.func @main(%arg0: tensor<1x3x1x4xf32>) -> tensor<3x1x4x1xf32> {
  %0 = nn.transpose %arg0 {perm = array<i64: 1, 0, 3, 2>} : (tensor<1x3x1x4xf32>) -> tensor<3x1x4x1xf32>
  return %0 : tensor<3x1x4x1xf32>
}

// -----

// x[8], x[6], x[4] of x[9 - ...].
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:.*]] = nn.slice %arg0 {starts = array<i64: 7>, steps = array<i64: -4>}
// CHECK-NEXT: return %[[S]]
func.func @main(%arg0: tensor<10xf32>) -> tensor<2xf32> {
  %0 = nn.slice %arg0 {starts = array<i64: 9>, steps = array<i64: -2>} : (tensor<10xf32>) -> tensor<5xf32>
  %1 = nn.slice %0 {starts = array<i64: 1>, steps = array<i64: 2>} : (tensor<5xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// A function moves above the reshape unless others read the reshape.
// CHECK-LABEL: func.func @main
// CHECK: %[[U:.*]] = nn.unary relu %arg0
// CHECK: nn.reshape %[[U]]
// CHECK: %[[R:.*]] = nn.reshape %arg0
// CHECK: nn.unary relu %[[R]]
func.func @main(%arg0: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %0 = nn.reshape %arg0 : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = nn.unary relu %0 : (tensor<6xf32>) -> tensor<6xf32>
  %2 = nn.reshape %arg0 : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = nn.unary relu %2 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %1, %2, %3 : tensor<6xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// A broadcast goes where the sum broadcasts on its own, and stays where its
// extent comes from it alone.
// CHECK-LABEL: func.func @main
// CHECK: %[[B:.*]] = nn.broadcast %arg1 : (tensor<1xf32>) -> tensor<2x3xf32>
// CHECK: nn.add %arg0, %arg1 : (tensor<2x3xf32>, tensor<1xf32>)
// CHECK: nn.add %arg1, %[[B]]
func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<1xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = nn.broadcast %arg1 : (tensor<1xf32>) -> tensor<2x3xf32>
  %1 = nn.add %arg0, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = nn.add %arg1, %0 : (tensor<1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// Parts without elements place nothing.
// CHECK-LABEL: func.func @empty_part
// CHECK: return %arg1
func.func @empty_part(%e: tensor<0xf32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = nn.concat %e, %x {axis = 0 : i64} : (tensor<0xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
