// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of more than five axes.
//
// RUN: ashlar-opt --pass-pipeline='builtin.module(func.func(ashlar-nn-merge-batch-axes))' %s | FileCheck %s

// Both operands have all batch axes.
// CHECK-LABEL: func.func @same(
// CHECK: %[[A:.*]] = nn.reshape %arg0 : (tensor<2x3x1x5x4x6xf32>) -> tensor<30x4x6xf32>
// CHECK: %[[B:.*]] = nn.reshape %arg1 : (tensor<2x3x1x5x6x7xf32>) -> tensor<30x6x7xf32>
// CHECK: %[[Y:.*]] = nn.matmul %[[A]], %[[B]] : (tensor<30x4x6xf32>, tensor<30x6x7xf32>) -> tensor<30x4x7xf32>
// CHECK: nn.reshape %[[Y]] : (tensor<30x4x7xf32>) -> tensor<2x3x1x5x4x7xf32>
func.func @same(%a: tensor<2x3x1x5x4x6xf32>, %b: tensor<2x3x1x5x6x7xf32>) -> tensor<2x3x1x5x4x7xf32> {
  %0 = nn.matmul %a, %b : (tensor<2x3x1x5x4x6xf32>, tensor<2x3x1x5x6x7xf32>) -> tensor<2x3x1x5x4x7xf32>
  return %0 : tensor<2x3x1x5x4x7xf32>
}

// Weights stay a matrix.
// CHECK-LABEL: func.func @weights(
// CHECK: nn.matmul {{.*}} : (tensor<120x4x6xf32>, tensor<6x7xf32>) -> tensor<120x4x7xf32>
func.func @weights(%a: tensor<2x3x4x5x4x6xf32>, %b: tensor<6x7xf32>) -> tensor<2x3x4x5x4x7xf32> {
  %0 = nn.matmul %a, %b : (tensor<2x3x4x5x4x6xf32>, tensor<6x7xf32>) -> tensor<2x3x4x5x4x7xf32>
  return %0 : tensor<2x3x4x5x4x7xf32>
}

// The operands are repeated along one group each.
// CHECK-LABEL: func.func @groups(
// CHECK: nn.matmul {{.*}} : (tensor<6x1x4x6xf32>, tensor<20x6x7xf32>) -> tensor<6x20x4x7xf32>
func.func @groups(%a: tensor<2x3x1x1x4x6xf32>, %b: tensor<1x1x4x5x6x7xf32>) -> tensor<2x3x4x5x4x7xf32> {
  %0 = nn.matmul %a, %b : (tensor<2x3x1x1x4x6xf32>, tensor<1x1x4x5x6x7xf32>) -> tensor<2x3x4x5x4x7xf32>
  return %0 : tensor<2x3x4x5x4x7xf32>
}

// Repeated in turn four times.
// CHECK-LABEL: func.func @turns(
// CHECK: nn.broadcast %arg0 : (tensor<2x1x4x1x4x6xf32>) -> tensor<2x3x4x5x4x6xf32>
// CHECK: nn.broadcast %arg1 : (tensor<1x3x1x5x6x7xf32>) -> tensor<2x3x4x5x6x7xf32>
// CHECK: nn.matmul {{.*}} : (tensor<120x4x6xf32>, tensor<120x6x7xf32>) -> tensor<120x4x7xf32>
func.func @turns(%a: tensor<2x1x4x1x4x6xf32>, %b: tensor<1x3x1x5x6x7xf32>) -> tensor<2x3x4x5x4x7xf32> {
  %0 = nn.matmul %a, %b : (tensor<2x1x4x1x4x6xf32>, tensor<1x3x1x5x6x7xf32>) -> tensor<2x3x4x5x4x7xf32>
  return %0 : tensor<2x3x4x5x4x7xf32>
}

// Five axes are left alone.
// CHECK-LABEL: func.func @five(
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: return
func.func @five(%a: tensor<2x3x5x4x6xf32>, %b: tensor<2x3x5x6x7xf32>) -> tensor<2x3x5x4x7xf32> {
  %0 = nn.matmul %a, %b : (tensor<2x3x5x4x6xf32>, tensor<2x3x5x6x7xf32>) -> tensor<2x3x5x4x7xf32>
  return %0 : tensor<2x3x5x4x7xf32>
}
