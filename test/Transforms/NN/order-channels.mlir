// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Channels between convolutions are ordered so that zeros fill whole tiles.
// RUN: ashlar-opt %s -ashlar-set-target=machine=%S/Inputs/tiny-array.yaml -ashlar-nn-order-channels -split-input-file | FileCheck %s
// RUN: ashlar-opt %s -ashlar-set-target=machine=%S/Inputs/tiny-array.yaml -ashlar-nn-order-channels -split-input-file --mlir-print-debuginfo | FileCheck %s --check-prefix=MARKS
//
// The results in another order are marked: the convolution and the function.
// MARKS-COUNT-2: fused<"altered">

// Channels 0 and 2 have no weights: they come last, and the readers' inputs 0
// and 2 with them. Channel 0 has no bias either, so the reader's weight for it
// (5) has no effect; channel 2 stays relu(2).
// CHECK-LABEL: func.func @main
// CHECK-DAG: nn.constant dense<{{\[\[\[}}3.000000e+00{{\]\]}}, {{\[\[}}4.000000e+00{{\]\]}}, {{\[\[}}0.000000e+00{{\]\]}}, {{\[\[}}0.000000e+00{{\]\]\]}}> : tensor<4x1x1xf32>
// CHECK-DAG: nn.constant dense<[1.000000e+00, 3.000000e+00, 2.000000e+00, 0.000000e+00]> : tensor<4xf32>
// CHECK-DAG: nn.constant dense<{{\[\[\[}}6.000000e+00], [8.000000e+00], [7.000000e+00], [0.000000e+00{{\]\]\]}}> : tensor<1x4x1xf32>
// CHECK: nn.conv
func.func @main(%arg0: tensor<1x1x4xf32>) -> tensor<1x1x4xf32> {
  %w = nn.constant dense<[[[0.0]], [[3.0]], [[0.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %b = nn.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %0 = nn.conv %arg0, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<4x1x1xf32>, tensor<4xf32>) -> tensor<1x4x4xf32>
  %1 = nn.unary relu %0 : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %v = nn.constant dense<[[[5.0], [6.0], [7.0], [8.0]]]> : tensor<1x4x1xf32>
  %2 = nn.conv %1, %v {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x4xf32>, tensor<1x4x1xf32>) -> tensor<1x1x4xf32>
  return %2 : tensor<1x1x4xf32>
}

// -----

// A sum reads the map too: its channels stay.
// CHECK-LABEL: func.func @main
// CHECK-DAG: nn.constant dense<{{\[\[\[}}0.000000e+00{{\]\]}}, {{\[\[}}3.000000e+00{{\]\]}}, {{\[\[}}0.000000e+00{{\]\]}}, {{\[\[}}4.000000e+00{{\]\]\]}}> : tensor<4x1x1xf32>
// CHECK: nn.add
func.func @main(%arg0: tensor<1x1x4xf32>, %arg1: tensor<1x4x4xf32>) -> (tensor<1x1x4xf32>, tensor<1x4x4xf32>) {
  %w = nn.constant dense<[[[0.0]], [[3.0]], [[0.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<4x1x1xf32>) -> tensor<1x4x4xf32>
  %1 = nn.add %0, %arg1 : (tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %v = nn.constant dense<[[[5.0], [6.0], [7.0], [8.0]]]> : tensor<1x4x1xf32>
  %2 = nn.conv %0, %v {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x4xf32>, tensor<1x4x1xf32>) -> tensor<1x1x4xf32>
  return %2, %1 : tensor<1x1x4xf32>, tensor<1x4x4xf32>
}
