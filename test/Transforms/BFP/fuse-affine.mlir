// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums and products with constants, and the function after them, in one pass.
// RUN: ashlar-opt %s -ashlar-bfp-fuse-affine -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = bfp.affine "clip"(%arg0 scale %{{.*}} bias %{{.*}}) {beta = 6.000000e+00 : f32} : (tensor<1x2x4xf32>, tensor<2x1xf32>, tensor<f32>) -> tensor<1x2x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %s = nn.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %t = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.mul %s, %x : (tensor<2x1xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %1 = nn.add %0, %t : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %2 = nn.unary clip %1 {alpha = 0.0 : f32, beta = 6.0 : f32} : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %2 : tensor<1x2x4xf32>
}

// -----

// Two of the three are enough; the sum of one is the first part of another.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = bfp.affine "copy"(%arg0 scale %{{.*}} bias %{{.*}})
// CHECK: %[[B:.*]] = bfp.affine "relu"(%[[A]] bias %{{.*}})
// CHECK: %[[C:.*]] = bfp.affine "tanh"(%[[B]] scale %{{.*}})
// CHECK-NEXT: return %[[C]]
func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %s = nn.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = nn.mul %x, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %1 = nn.add %0, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = nn.add %1, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %3 = nn.unary relu %2 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %4 = nn.mul %3, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %5 = nn.unary tanh %4 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %5 : tensor<4x2xf32>
}

// -----

// Numbers of a channel that are computed at run time.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = bfp.affine "relu"(%arg0 scale %arg1 bias %arg2)
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: tensor<1x2x4xf32>, %s: tensor<1x2x1xf32>, %t: tensor<1x2x1xf32>) -> tensor<1x2x4xf32> {
  %0 = nn.mul %x, %s : (tensor<1x2x4xf32>, tensor<1x2x1xf32>) -> tensor<1x2x4xf32>
  %1 = nn.add %0, %t : (tensor<1x2x4xf32>, tensor<1x2x1xf32>) -> tensor<1x2x4xf32>
  %2 = nn.unary relu %1 : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %2 : tensor<1x2x4xf32>
}

// -----

// A scaled number per channel that is added to another tensor.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = nn.mul %arg1
// CHECK: nn.add %arg0, %[[S]]
func.func @main(%x: tensor<3x5xf32>, %c: tensor<5xf32>) -> tensor<3x5xf32> {
  %k = nn.constant dense<2.0> : tensor<f32>
  %0 = nn.mul %c, %k : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = nn.add %x, %0 : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// -----

// Two tensors of one axis: neither is a number per channel of the other.
// CHECK-LABEL: func.func @main
// CHECK-NOT: bfp.affine
func.func @main(%x: tensor<1x2x1xf32>, %s: tensor<1x2x1xf32>) -> tensor<1x2x1xf32> {
  %0 = nn.mul %x, %s : (tensor<1x2x1xf32>, tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  %1 = nn.unary relu %0 : (tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  return %1 : tensor<1x2x1xf32>
}

// -----

// Another reader, a constant of two axes, a broadcast of x, one step alone,
// binary64, an order that an instruction does not have.
// CHECK-LABEL: func.func @main
// CHECK-NOT: bfp.affine
func.func @main(%x: tensor<2x2xf32>, %r: tensor<2xf32>, %d: tensor<2x2xf64>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf64>, tensor<2x2xf32>) {
  %s = nn.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = nn.mul %x, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %1 = nn.unary relu %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %full = nn.constant dense<[[2.0, 3.0], [4.0, 5.0]]> : tensor<2x2xf32>
  %2 = nn.mul %x, %full : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = nn.unary relu %2 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %column = nn.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %4 = nn.add %r, %column : (tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %5 = nn.unary relu %4 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %6 = nn.mul %x, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %wide = nn.constant dense<2.0> : tensor<f64>
  %7 = nn.mul %d, %wide : (tensor<2x2xf64>, tensor<f64>) -> tensor<2x2xf64>
  %8 = nn.unary relu %7 : (tensor<2x2xf64>) -> tensor<2x2xf64>
  %9 = nn.unary relu %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %10 = nn.mul %9, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %0, %1, %3, %5, %6, %8, %10 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf64>, tensor<2x2xf32>
}

// -----

// A power with a constant exponent, but not of a constant base.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = bfp.affine "pow"(%arg0 scale %{{.*}} bias %{{.*}} exponent %{{.*}}) : (tensor<1x2x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<1x2x4xf32>
// CHECK: %[[Z:.*]] = bfp.affine "copy"(%[[Y]] scale
// CHECK: nn.pow %{{.*}}, %[[Z]]
func.func @main(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %s = nn.constant dense<2.0> : tensor<f32>
  %e = nn.constant dense<-0.75> : tensor<f32>
  %0 = nn.mul %x, %s : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %1 = nn.add %0, %s : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %2 = nn.pow %1, %e : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %3 = nn.mul %2, %s : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %4 = nn.add %3, %e : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %5 = nn.pow %s, %4 : (tensor<f32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %5 : tensor<1x2x4xf32>
}
