// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: ashlar-opt --ashlar-bfp-convert-products --ashlar-bfp-fuse-epilogues --mlir-print-debuginfo %s | FileCheck %s

// Bias of the convolution, then the function; the location keeps both names.
// CHECK-LABEL: func @conv_relu
func.func @conv_relu(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>, %b: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  // CHECK: %[[R:.*]] = bfp.conv %{{.*}}, %{{.*}} bias(%{{.*}}) {dilations = array<i64: 1, 1>, function = "relu", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} {{.*}} loc(#[[$CONV_RELU:.*]])
  // CHECK-NEXT: return %[[R]]
  %0 = nn.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32> loc("Conv_0")
  %1 = nn.unary relu %0 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> loc("Relu_1")
  return %1 : tensor<1x4x8x8xf32>
}

// A scale and a bias per output channel, of any shape that broadcasts so.
// CHECK-LABEL: func @scale_bias
func.func @scale_bias(%a: tensor<5x3xf32>, %b: tensor<3x2xf32>) -> tensor<5x2xf32> {
  %s = nn.constant dense<[[2.0, 4.0]]> : tensor<1x2xf32>
  %c = nn.constant dense<3.0> : tensor<f32>
  // CHECK-DAG: %[[S:.*]] = nn.constant dense<[2.000000e+00, 4.000000e+00]> : tensor<2xf32>
  // CHECK-DAG: %[[C:.*]] = nn.constant dense<3.000000e+00> : tensor<2xf32>
  // CHECK: bfp.matmul %{{.*}}, %{{.*}} bias(%[[C]]) scale(%[[S]]) {alpha = -1.000000e+00 : f32, beta = 6.000000e+00 : f32, function = "clip"}
  // CHECK-NEXT: return
  %0 = nn.matmul %a, %b : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %1 = nn.mul %0, %s : (tensor<5x2xf32>, tensor<1x2xf32>) -> tensor<5x2xf32>
  %2 = nn.add %c, %1 : (tensor<f32>, tensor<5x2xf32>) -> tensor<5x2xf32>
  %3 = nn.unary clip %2 {alpha = -1.0 : f32, beta = 6.0 : f32} : (tensor<5x2xf32>) -> tensor<5x2xf32>
  return %3 : tensor<5x2xf32>
}

// The later of two products absorbs the addition.
// CHECK-LABEL: func @residual_later
// CHECK-SAME: %[[W:[^:]*]]: tensor<4x4x1x1xf32> loc({{[^,]*}}), %[[V:[^:]*]]: tensor<4x4x1x1xf32>
func.func @residual_later(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %v: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  // CHECK: %[[A:.*]] = bfp.conv %{{.*}}, %[[W]] {
  // CHECK-NEXT: %[[B:.*]] = bfp.conv %{{.*}}, %[[V]] residual(%[[A]]) {{.*}}function = "relu"
  // CHECK-NEXT: return %[[B]]
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = nn.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %2 = nn.add %1, %0 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = nn.unary relu %2 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %3 : tensor<1x4x8x8xf32>
}

// A product moves behind a residual that is defined after it.
// CHECK-LABEL: func @residual_behind
func.func @residual_behind(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  // CHECK: %[[P:.*]] = nn.max_pool
  // CHECK-NEXT: bfp.conv %{{.*}}, %{{.*}} residual(%[[P]])
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = nn.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>}
    : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = nn.add %0, %1 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %2 : tensor<1x4x8x8xf32>
}

// Nothing follows a function; an addition of other shape is not a residual.
// CHECK-LABEL: func @order
func.func @order(%a: tensor<5x3xf32>, %b: tensor<3x2xf32>, %r: tensor<5x2xf32>, %q: tensor<5x1xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>) {
  // CHECK: bfp.matmul {{.*}} {function = "tanh"}
  // CHECK-NEXT: nn.add
  // CHECK-NEXT: bfp.matmul %{{[^ ]*}}, %{{[^ ]*}} :
  // CHECK-NEXT: nn.add
  %0 = nn.matmul %a, %b : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %1 = nn.unary tanh %0 : (tensor<5x2xf32>) -> tensor<5x2xf32>
  %2 = nn.add %1, %r : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
  %3 = nn.matmul %a, %b : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %4 = nn.add %3, %q : (tensor<5x2xf32>, tensor<5x1xf32>) -> tensor<5x2xf32>
  return %2, %4 : tensor<5x2xf32>, tensor<5x2xf32>
}

// Two readers: the value between is needed.
// CHECK-LABEL: func @two_uses
func.func @two_uses(%a: tensor<5x3xf32>, %b: tensor<3x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>) {
  // CHECK: bfp.matmul
  // CHECK-NEXT: nn.unary relu
  %0 = nn.matmul %a, %b : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %1 = nn.unary relu %0 : (tensor<5x2xf32>) -> tensor<5x2xf32>
  return %0, %1 : tensor<5x2xf32>, tensor<5x2xf32>
}

// Unfused binary16 rounds between the steps: fusing would change bits.
// CHECK-LABEL: func @half
func.func @half(%a: tensor<5x3xf16>, %b: tensor<3x2xf16>) -> tensor<5x2xf16> {
  // CHECK: bfp.matmul
  // CHECK-NEXT: nn.unary sigmoid
  %0 = nn.matmul %a, %b : (tensor<5x3xf16>, tensor<3x2xf16>) -> tensor<5x2xf16>
  %1 = nn.unary sigmoid %0 : (tensor<5x2xf16>) -> tensor<5x2xf16>
  return %1 : tensor<5x2xf16>
}

// Integers have no format: they stay.
// CHECK-LABEL: func @integers
func.func @integers(%a: tensor<5x3xi8>, %b: tensor<3x2xi8>) -> tensor<5x2xi32> {
  // CHECK: nn.matmul
  %0 = nn.matmul %a, %b : (tensor<5x3xi8>, tensor<3x2xi8>) -> tensor<5x2xi32>
  return %0 : tensor<5x2xi32>
}

// A prelu behind a residual, with one slope per output channel.
// CHECK-LABEL: func @slopes
func.func @slopes(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %s = nn.constant dense<[[[0.5]], [[-1.0]], [[2.0]], [[0.0]]]> : tensor<4x1x1xf32>
  // CHECK: %[[SLOPE:.*]] = nn.constant dense<[5.000000e-01, -1.000000e+00, 2.000000e+00, 0.000000e+00]> : tensor<4xf32>
  // CHECK: bfp.conv %{{.*}}, %{{.*}} slope(%[[SLOPE]]) residual(%{{.*}}) {{.*}}function = "leakyRelu"
  // CHECK-NEXT: return
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = nn.add %0, %x : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = nn.prelu %1, %s : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
  return %2 : tensor<1x4x8x8xf32>
}

// One slope for all channels is the function's own parameter.
// CHECK-LABEL: func @one_slope
func.func @one_slope(%a: tensor<5x3xf32>, %b: tensor<3x2xf32>) -> tensor<5x2xf32> {
  %s = nn.constant dense<0.25> : tensor<1xf32>
  // CHECK: bfp.matmul %{{.*}}, %{{.*}} {alpha = 2.500000e-01 : f32, function = "leakyRelu"}
  // CHECK-NEXT: return
  %0 = nn.matmul %a, %b : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %1 = nn.prelu %0, %s : (tensor<5x2xf32>, tensor<1xf32>) -> tensor<5x2xf32>
  return %1 : tensor<5x2xf32>
}

// Slopes along another axis, and a product that is the slope, stay apart.
// CHECK-LABEL: func @other_slopes
func.func @other_slopes(%a: tensor<5x3xf32>, %b: tensor<3x2xf32>) -> (tensor<5x2xf32>, tensor<5x2xf32>) {
  %s = nn.constant dense<[[0.5], [1.0], [2.0], [3.0], [4.0]]> : tensor<5x1xf32>
  %t = nn.constant dense<[0.5, 1.0]> : tensor<2xf32>
  // CHECK-COUNT-2: nn.prelu
  %0 = nn.matmul %a, %b : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %1 = nn.prelu %0, %s : (tensor<5x2xf32>, tensor<5x1xf32>) -> tensor<5x2xf32>
  %2 = nn.matmul %a, %b : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  %3 = nn.prelu %t, %2 : (tensor<2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
  return %1, %3 : tensor<5x2xf32>, tensor<5x2xf32>
}

// CHECK: #[[CONV:.*]] = loc("Conv_0")
// CHECK: #[[RELU:.*]] = loc("Relu_1")
// CHECK: #[[$CONV_RELU]] = loc(fused[#[[CONV]], #[[RELU]]])
