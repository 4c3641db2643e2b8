// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas of quantised networks between products become one pass each.
// RUN: ashlar-opt --ashlar-bfp-fuse-quantised-maps --split-input-file %s | FileCheck %s

// relu((a - 3) * 0.5 + b * 0.25) quantised.
// CHECK-LABEL: func @residual
// CHECK: %[[Y:.*]] = bfp.requantise "add"(%arg0, %arg1)
// CHECK-SAME: a_scale = 5.000000e-01 : f32, a_zero = 3 : i64, b_scale = 2.500000e-01 : f32, beta = 0x7F800000 : f32, limited, step = 1.000000e-01 : f32, zero_point = -5 : i64
// CHECK-NEXT: return %[[Y]] : tensor<2x4xi8>
func.func @residual(%a: tensor<2x4xui8>, %b: tensor<2x4xui8>) -> tensor<2x4xi8> {
  %half = nn.constant dense<0.5> : tensor<f32>
  %quarter = nn.constant dense<0.25> : tensor<f32>
  %three = nn.constant dense<3.0> : tensor<f32>
  %step = nn.constant dense<0.1> : tensor<f32>
  %zero = nn.constant dense<-5.0> : tensor<f32>
  %0 = nn.cast %a : (tensor<2x4xui8>) -> tensor<2x4xf32>
  %1 = nn.sub %0, %three : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = nn.mul %1, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = nn.cast %b : (tensor<2x4xui8>) -> tensor<2x4xf32>
  %4 = nn.mul %3, %quarter : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %5 = nn.add %2, %4 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = nn.unary relu %5 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = nn.div %6, %step : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %8 = nn.unary round %7 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %9 = nn.add %8, %zero : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %10 = nn.unary clip %9 {alpha = -128.0 : f32, beta = 127.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %11 = nn.cast %10 : (tensor<2x4xf32>) -> tensor<2x4xi8>
  return %11 : tensor<2x4xi8>
}

// -----

// Floats are quantised by a step of 0.25, which division by a power of two had
// become a multiplication of; other readers of the integers dequantise them.
// CHECK-LABEL: func @ends
// CHECK: %[[Q:.*]] = bfp.requantise "copy"(%arg0) {{.*}}step = 2.500000e-01 : f32
// CHECK: %[[D:.*]] = bfp.requantise "copy"(%[[Q]]) {{.*}}a_scale = 3.000000e+00 : f32{{.*}} -> tensor<2x4xf32>
// CHECK-NOT: nn.cast
// CHECK: return %[[Q]], %[[D]]
func.func @ends(%x: tensor<2x4xf32>) -> (tensor<2x4xui8>, tensor<2x4xf32>) {
  %four = nn.constant dense<4.0> : tensor<f32>
  %three = nn.constant dense<3.0> : tensor<f32>
  %0 = nn.mul %x, %four : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = nn.unary round %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = nn.unary clip %1 {alpha = 0.0 : f32, beta = 255.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = nn.cast %2 : (tensor<2x4xf32>) -> tensor<2x4xui8>
  %4 = nn.cast %3 : (tensor<2x4xui8>) -> tensor<2x4xf32>
  %5 = nn.mul %4, %three : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %3, %5 : tensor<2x4xui8>, tensor<2x4xf32>
}

// -----

// Other bounds than those of the type, steps that differ along a dimension and
// roundings that others read stay formulas.
// CHECK-LABEL: func @kept
// CHECK-NOT: bfp.requantise
// CHECK: return
func.func @kept(%x: tensor<2x4xf32>) -> (tensor<2x4xui8>, tensor<2x4xf32>) {
  %0 = nn.unary round %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = nn.unary clip %0 {alpha = 0.0 : f32, beta = 6.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = nn.cast %1 : (tensor<2x4xf32>) -> tensor<2x4xui8>
  %scale = nn.constant dense<[[0.5], [0.25]]> : tensor<2x1xf32>
  %3 = nn.cast %2 : (tensor<2x4xui8>) -> tensor<2x4xf32>
  %4 = nn.mul %3, %scale : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %2, %4 : tensor<2x4xui8>, tensor<2x4xf32>
}

// -----

// The maximum of the integers, then one requantisation.
// CHECK-LABEL: func @pool
// CHECK: %[[P:.*]] = nn.max_pool %arg0 {{.*}} -> tensor<1x8x2x2xui8>
// CHECK-NEXT: bfp.requantise "copy"(%[[P]]) {{.*}}a_scale = 3.000000e-01 : f32{{.*}}step = 2.000000e-01
func.func @pool(%q: tensor<1x8x4x4xui8>) -> tensor<1x8x2x2xui8> {
  %scale = nn.constant dense<0.3> : tensor<f32>
  %step = nn.constant dense<0.2> : tensor<f32>
  %0 = nn.cast %q : (tensor<1x8x4x4xui8>) -> tensor<1x8x4x4xf32>
  %1 = nn.mul %0, %scale : (tensor<1x8x4x4xf32>, tensor<f32>) -> tensor<1x8x4x4xf32>
  %2 = nn.max_pool %1 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x8x4x4xf32>) -> tensor<1x8x2x2xf32>
  %3 = nn.div %2, %step : (tensor<1x8x2x2xf32>, tensor<f32>) -> tensor<1x8x2x2xf32>
  %4 = nn.unary round %3 : (tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xf32>
  %5 = nn.unary clip %4 {alpha = 0.0 : f32, beta = 255.0 : f32} : (tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xf32>
  %6 = nn.cast %5 : (tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xui8>
  return %6 : tensor<1x8x2x2xui8>
}

// -----

// Parts of a concat are quantised on their own.
// CHECK-LABEL: func @concat
// CHECK: %[[A:.*]] = bfp.requantise "copy"(%arg0) {{.*}}a_scale = 3.000000e-01 : f32
// CHECK: %[[B:.*]] = bfp.requantise "copy"(%arg1) {{.*}}a_scale = 4.000000e-01 : f32
// CHECK: nn.concat %[[A]], %[[B]] {{.*}} -> tensor<1x16x4x4xui8>
func.func @concat(%p: tensor<1x8x4x4xui8>, %q: tensor<1x8x4x4xui8>) -> tensor<1x16x4x4xui8> {
  %sp = nn.constant dense<0.3> : tensor<f32>
  %sq = nn.constant dense<0.4> : tensor<f32>
  %step = nn.constant dense<0.2> : tensor<f32>
  %0 = nn.cast %p : (tensor<1x8x4x4xui8>) -> tensor<1x8x4x4xf32>
  %1 = nn.mul %0, %sp : (tensor<1x8x4x4xf32>, tensor<f32>) -> tensor<1x8x4x4xf32>
  %2 = nn.cast %q : (tensor<1x8x4x4xui8>) -> tensor<1x8x4x4xf32>
  %3 = nn.mul %2, %sq : (tensor<1x8x4x4xf32>, tensor<f32>) -> tensor<1x8x4x4xf32>
  %4 = nn.concat %1, %3 {axis = 1 : i64} : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x16x4x4xf32>
  %5 = nn.div %4, %step : (tensor<1x16x4x4xf32>, tensor<f32>) -> tensor<1x16x4x4xf32>
  %6 = nn.unary round %5 : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %7 = nn.unary clip %6 {alpha = 0.0 : f32, beta = 255.0 : f32} : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %8 = nn.cast %7 : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xui8>
  return %8 : tensor<1x16x4x4xui8>
}
