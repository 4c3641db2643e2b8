// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// batch_norm goes into constant weights, or becomes mul + add.
// RUN: ashlar-opt %s -ashlar-nn-fold-batch-norm -split-input-file -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s

// scale / sqrt(var + eps) = [2, 1/2]; shift = bias - mean * s = [-1, 3].
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W:.*]] = nn.constant dense<{{\[}}{{\[\[}}6.000000e+00{{\]\]}}, {{\[\[}}2.000000e+00{{\]\]}}]>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<[1.900000e+01, 1.300000e+01]>
// CHECK: nn.conv %arg0, %[[W]], %[[B]]
// CHECK-SAME: loc(fused["Conv_0", "BatchNormalization_1"])
// CHECK-NOT: nn.batch_norm
func.func @main(%arg0: tensor<1x1x4xf32>) -> tensor<1x2x4xf32> {
  %w = nn.constant dense<[[[3.0]], [[4.0]]]> : tensor<2x1x1xf32>
  %c = nn.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %0 = nn.conv %arg0, %w, %c {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4xf32> loc("Conv_0")
  %s = nn.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %b = nn.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %m = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %v = nn.constant dense<[0.0, 3.75]> : tensor<2xf32>
  %1 = nn.batch_norm %0, %s, %b, %m, %v {epsilon = 0.25 : f32} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32> loc("BatchNormalization_1")
  return %1 : tensor<1x2x4xf32>
}

// -----

// A convolution with another use keeps its weights.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = nn.conv %arg0
// CHECK: %[[P:.*]] = nn.mul %[[Y]], %{{.*}} : (tensor<1x2x4xf32>, tensor<2x1xf32>)
// CHECK: nn.add %[[P]]
func.func @main(%arg0: tensor<1x1x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<2x1x1xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32>
  %s = nn.constant dense<1.0> : tensor<2xf32>
  %1 = nn.batch_norm %0, %s, %s, %s, %s {epsilon = 0.0 : f32} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  return %0, %1 : tensor<1x2x4xf32>, tensor<1x2x4xf32>
}

// -----

// conv_transpose weights are [C, O/group, k]: with group 2 output channel
// g * (O/g) + o.
// CHECK-LABEL: func.func @main
// CHECK-DAG: nn.constant dense<{{\[}}{{\[\[}}1.000000e+00], [2.000000e+00]], {{\[\[}}3.000000e+00], [4.000000e+00{{\]\]}}]> : tensor<2x2x1xf32>
// CHECK: nn.conv_transpose
// CHECK-NOT: nn.batch_norm
func.func @main(%arg0: tensor<1x2x3xf32>) -> tensor<1x4x3xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2x1xf32>
  %0 = nn.conv_transpose %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x2x3xf32>, tensor<2x2x1xf32>) -> tensor<1x4x3xf32>
  %s = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %z = nn.constant dense<0.0> : tensor<4xf32>
  %o = nn.constant dense<1.0> : tensor<4xf32>
  %1 = nn.batch_norm %0, %s, %z, %z, %o {epsilon = 0.0 : f32} : (tensor<1x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x3xf32>
  return %1 : tensor<1x4x3xf32>
}

// -----

// Through the add of a dense layer: (x w + 1 - 1) * [2, 3].
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W:.*]] = nn.constant dense<{{\[}}[2.000000e+00, 3.000000e+00]]>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK: %[[P:.*]] = nn.matmul %arg0, %[[W]]
// CHECK: nn.add %[[P]], %[[B]]
func.func @main(%arg0: tensor<5x1xf32>) -> tensor<5x2xf32> {
  %w = nn.constant dense<1.0> : tensor<1x2xf32>
  %s = nn.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %z = nn.constant dense<0.0> : tensor<2xf32>
  %o = nn.constant dense<1.0> : tensor<2xf32>
  %0 = nn.matmul %arg0, %w : (tensor<5x1xf32>, tensor<1x2xf32>) -> tensor<5x2xf32>
  %1 = nn.add %0, %o : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  %2 = nn.batch_norm %1, %s, %z, %o, %o {epsilon = 0.0 : f32} : (tensor<5x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  return %2 : tensor<5x2xf32>
}

// -----

// Computed parameters stay.
// CHECK-LABEL: func.func @main
// CHECK: nn.batch_norm
func.func @main(%arg0: tensor<1x2xf32>, %s: tensor<2xf32>) -> tensor<1x2xf32> {
  %0 = nn.batch_norm %arg0, %s, %s, %s, %s {epsilon = 0.0 : f32} : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}
