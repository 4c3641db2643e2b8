// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains of sums and products with constants along one axis.
// RUN: ashlar-opt %s -ashlar-nn-compose-affine -split-input-file | FileCheck %s

// ((1 - x) * [2, 4] + 3) / 2 = x * [-1, -2] + [2.5, 3.5], constants on either
// side and of any rank.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = nn.constant dense<{{\[\[}}-1.000000e+00], [-2.000000e+00]]> : tensor<2x1xf32>
// CHECK: %[[P:.*]] = nn.mul %arg0, %[[S]]
// CHECK: %[[T:.*]] = nn.constant dense<{{\[\[}}2.500000e+00], [3.500000e+00]]> : tensor<2x1xf32>
// CHECK: %[[Y:.*]] = nn.add %[[P]], %[[T]]
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.sub %one, %x : (tensor<f32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %s = nn.constant dense<[[[2.0], [4.0]]]> : tensor<1x2x1xf32>
  %1 = nn.mul %s, %0 : (tensor<1x2x1xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %three = nn.constant dense<3.0> : tensor<1xf32>
  %2 = nn.add %1, %three : (tensor<1x2x4xf32>, tensor<1xf32>) -> tensor<1x2x4xf32>
  %two = nn.constant dense<2.0> : tensor<1x1x1xf32>
  %3 = nn.div %2, %two : (tensor<1x2x4xf32>, tensor<1x1x1xf32>) -> tensor<1x2x4xf32>
  return %3 : tensor<1x2x4xf32>
}

// -----

// Factors alone leave a factor, and what cancels leaves nothing.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = nn.mul %arg0
// CHECK-NOT: nn.
// CHECK: return %[[P]], %arg0
func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %two = nn.constant dense<2.0> : tensor<f32>
  %s = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = nn.mul %x, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = nn.mul %0, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = nn.add %x, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = nn.sub %2, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %1, %3 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// A second reader, two axes, a division by zero, overflow, a chain that is as
// short as it gets, integers, a broadcast.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: nn.add
// CHECK-COUNT-2: nn.mul
// CHECK: nn.div
// CHECK: nn.add
// CHECK-COUNT-2: nn.mul
// CHECK: nn.sub
// CHECK: nn.mul
// CHECK-COUNT-2: nn.add
// CHECK-COUNT-2: nn.add
func.func @main(%x: tensor<2x2xf32>, %i: tensor<2xi32>, %r: tensor<1xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xi32>, tensor<2xf32>) {
  %one = nn.constant dense<1.0> : tensor<f32>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.add %x, %one : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %1 = nn.add %0, %one : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %rows = nn.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %columns = nn.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %2 = nn.mul %x, %rows : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %3 = nn.mul %2, %columns : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %4 = nn.div %x, %zero : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %5 = nn.add %4, %one : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %large = nn.constant dense<1.0e+30> : tensor<f32>
  %6 = nn.mul %x, %large : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %7 = nn.mul %6, %large : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %8 = nn.sub %x, %columns : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %9 = nn.mul %8, %columns : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %k = nn.constant dense<1> : tensor<2xi32>
  %10 = nn.add %i, %k : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %11 = nn.add %10, %k : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %12 = nn.add %r, %columns : (tensor<1xf32>, tensor<2xf32>) -> tensor<2xf32>
  %13 = nn.add %12, %columns : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0, %1, %3, %5, %7, %9, %11, %13 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xi32>, tensor<2xf32>
}
