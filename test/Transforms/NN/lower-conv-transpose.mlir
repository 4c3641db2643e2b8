// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// conv_transpose as a conv for each phase, or as pad with interior zeros and
// conv; weights are turned.
// RUN: ashlar-opt %s -ashlar-set-target=machine=a1 -ashlar-nn-lower-conv-transpose -ashlar-nn-fold-constants -split-input-file | FileCheck %s
// RUN: ashlar-opt %s -ashlar-nn-lower-conv-transpose=interleave=false -ashlar-nn-fold-constants -split-input-file | FileCheck %s --check-prefix=LARGE

// Of what is too large to interleave the whole kernel meets the zeros.
// LARGE-LABEL: func.func @main
// LARGE: %[[W:.*]] = nn.constant dense<{{\[\[\[}}3.000000e+00, 2.000000e+00, 1.000000e+00], [9.000000e+00, 8.000000e+00, 7.000000e+00{{\]\]}}, {{\[\[}}6.000000e+00, 5.000000e+00, 4.000000e+00], [1.200000e+01, 1.100000e+01, 1.000000e+01{{\]\]\]}}> : tensor<2x2x3xf32>
// LARGE: nn.conv %{{.*}}, %[[W]]
// LARGE-SAME: ashlar.macs = 44 : i64
// LARGE-SAME: pads = array<i64: 1, 2>
// LARGE-SAME: strides = array<i64: 1>

// Even results meet the tap in the middle, odd ones the two others. Of 4 elements
// and 3 taps one product lies outside: 11 for each of 2 x 2 channels.
// CHECK-LABEL: func.func @main
// CHECK: %[[MIDDLE:.*]] = nn.constant dense<{{\[\[\[}}2.000000e+00], [8.000000e+00{{\]\]}}, {{\[\[}}5.000000e+00], [1.100000e+01{{\]\]\]}}> : tensor<2x2x1xf32>
// CHECK: %[[EVEN:.*]] = nn.conv %arg0, %[[MIDDLE]]
// CHECK-SAME: ashlar.macs = 16 : i64
// CHECK-SAME: pads = array<i64: 0, 0>
// CHECK: %[[OUTER:.*]] = nn.constant dense<{{\[\[\[}}3.000000e+00, 1.000000e+00], [9.000000e+00, 7.000000e+00{{\]\]}}, {{\[\[}}6.000000e+00, 4.000000e+00], [1.200000e+01, 1.000000e+01{{\]\]\]}}> : tensor<2x2x2xf32>
// CHECK: %[[ODD:.*]] = nn.conv %arg0, %[[OUTER]]
// CHECK-SAME: ashlar.macs = 28 : i64
// CHECK-SAME: pads = array<i64: 0, 1>
// CHECK: nn.interleave %[[EVEN]], %[[ODD]] {factors = array<i64: 1, 1, 2>}
func.func @main(%arg0: tensor<1x2x4xf32>) -> tensor<1x2x8xf32> {
  %w = nn.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]]> : tensor<2x2x3xf32>
  %0 = nn.conv_transpose %arg0, %w {strides = array<i64: 2>, pads = array<i64: 1, 0>, dilations = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<2x2x3xf32>) -> tensor<1x2x8xf32>
  return %0 : tensor<1x2x8xf32>
}

// -----

// Taps two apart meet every element with a stride of four: dilation and stride
// have a common factor, and phases without taps keep the zeros in between.
// CHECK-LABEL: func.func @main
// CHECK: nn.pad %arg0
// CHECK-SAME: interior = array<i64: 0, 0, 3>
// CHECK: nn.conv
// CHECK-NOT: nn.interleave
func.func @main(%arg0: tensor<1x1x4xf32>) -> tensor<1x1x17xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x3xf32>
  %0 = nn.conv_transpose %arg0, %w {strides = array<i64: 4>, pads = array<i64: 0, 0>, dilations = array<i64: 2>} : (tensor<1x1x4xf32>, tensor<1x1x3xf32>) -> tensor<1x1x17xf32>
  return %0 : tensor<1x1x17xf32>
}

// -----

// A result of odd extent: the shorter phase makes one element too many.
// CHECK-LABEL: func.func @main
// CHECK: nn.interleave {{.*}} -> tensor<1x1x10xf32>
// CHECK: nn.slice {{.*}} -> tensor<1x1x9xf32>
func.func @main(%arg0: tensor<1x1x4xf32>) -> tensor<1x1x9xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x3xf32>
  %0 = nn.conv_transpose %arg0, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<1x1x3xf32>) -> tensor<1x1x9xf32>
  return %0 : tensor<1x1x9xf32>
}

// -----

// Stride one needs no pad; groups keep their channels.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.pad
// CHECK: nn.constant dense<{{\[}}{{\[\[}}1.000000e+00{{\]\]}}, {{\[\[}}2.000000e+00{{\]\]}}, {{\[\[}}3.000000e+00{{\]\]}}, {{\[\[}}4.000000e+00{{\]\]}}]> : tensor<4x1x1xf32>
// CHECK: nn.conv %arg0
// CHECK-SAME: ashlar.macs = 16 : i64
// CHECK-SAME: group = 2
func.func @main(%arg0: tensor<1x2x4xf32>) -> tensor<1x4x4xf32> {
  %w = nn.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]]]> : tensor<2x2x1xf32>
  %0 = nn.conv_transpose %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x2x4xf32>, tensor<2x2x1xf32>) -> tensor<1x4x4xf32>
  return %0 : tensor<1x4x4xf32>
}

// -----

// Pads that cut beyond the kernel's reach cut the input.
// CHECK-LABEL: func.func @main
// CHECK: nn.pad %arg0
// CHECK-SAME: high = array<i64: 0, 0, -1>
// CHECK-SAME: low = array<i64: 0, 0, -1>
// CHECK: nn.conv
// CHECK-SAME: ashlar.macs = 2 : i64
// CHECK-SAME: -> tensor<1x1x2xf32>
func.func @main(%arg0: tensor<1x1x4xf32>) -> tensor<1x1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %0 = nn.conv_transpose %arg0, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<1x1x1xf32>) -> tensor<1x1x2xf32>
  return %0 : tensor<1x1x2xf32>
}
