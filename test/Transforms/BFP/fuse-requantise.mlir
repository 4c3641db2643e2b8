// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ashlar-opt %s --ashlar-bfp-fuse-requantise --split-input-file | FileCheck %s

// Bias, factor, relu, rounding, zero point and limits become one operation.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[S:.*]] = nn.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<[7, -9]> : tensor<2xi32>
// CHECK: %[[Y:.*]] = bfp.requantise_conv %arg0, %{{.*}}, %[[S]], %[[B]] {{.*}}function = "relu"{{.*}}zero_point = -3
// CHECK-NEXT: return %[[Y]] : tensor<1x2x3x3xi8>
func.func @main(%x: tensor<1x4x3x3xui8>) -> tensor<1x2x3x3xi8> {
  %w = nn.constant dense<3> : tensor<2x4x1x1xi8>
  %b = nn.constant dense<[[[[7]], [[-9]]]]> : tensor<1x2x1x1xi32>
  %s = nn.constant dense<[[[[0.5]], [[0.25]]]]> : tensor<1x2x1x1xf32>
  %z = nn.constant dense<-3.0> : tensor<f32>
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x3x3xui8>, tensor<2x4x1x1xi8>) -> tensor<1x2x3x3xi32>
  %1 = nn.add %0, %b : (tensor<1x2x3x3xi32>, tensor<1x2x1x1xi32>) -> tensor<1x2x3x3xi32>
  %2 = nn.cast %1 : (tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xf32>
  %3 = nn.mul %2, %s : (tensor<1x2x3x3xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x3x3xf32>
  %4 = nn.unary relu %3 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %5 = nn.unary round %4 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %6 = nn.add %5, %z : (tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %7 = nn.unary clip %6 {alpha = -128.0 : f32, beta = 127.0 : f32} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %8 = nn.cast %7 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xi8>
  return %8 : tensor<1x2x3x3xi8>
}

// -----

// A bias that may carry sums out of 32 bits stays an addition with wrap.
// CHECK-LABEL: func.func @main
// CHECK-NOT: bfp.requantise_conv
// CHECK: return
func.func @main(%x: tensor<1x4x3x3xui8>) -> tensor<1x2x3x3xui8> {
  %w = nn.constant dense<3> : tensor<2x4x1x1xi8>
  %b = nn.constant dense<2147483000> : tensor<1x2x1x1xi32>
  %s = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x3x3xui8>, tensor<2x4x1x1xi8>) -> tensor<1x2x3x3xi32>
  %1 = nn.add %0, %b : (tensor<1x2x3x3xi32>, tensor<1x2x1x1xi32>) -> tensor<1x2x3x3xi32>
  %2 = nn.cast %1 : (tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xf32>
  %3 = nn.mul %2, %s : (tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %4 = nn.unary round %3 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %5 = nn.unary clip %4 {alpha = 0.0 : f32, beta = 255.0 : f32} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %6 = nn.cast %5 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xui8>
  return %6 : tensor<1x2x3x3xui8>
}

// -----

// Accumulators that something else reads are stored.
// CHECK-LABEL: func.func @main
// CHECK-NOT: bfp.requantise_conv
// CHECK: return
func.func @main(%x: tensor<1x4x3x3xui8>) -> (tensor<1x2x3x3xi32>, tensor<1x2x3x3xui8>) {
  %w = nn.constant dense<3> : tensor<2x4x1x1xi8>
  %s = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x3x3xui8>, tensor<2x4x1x1xi8>) -> tensor<1x2x3x3xi32>
  %2 = nn.cast %0 : (tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xf32>
  %3 = nn.mul %2, %s : (tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %4 = nn.unary round %3 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %5 = nn.unary clip %4 {alpha = 0.0 : f32, beta = 255.0 : f32} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %6 = nn.cast %5 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xui8>
  return %0, %6 : tensor<1x2x3x3xi32>, tensor<1x2x3x3xui8>
}

// -----

// The weights decide how large a sum can be, not their type: 16 bits that a
// zero point has made necessary are no obstacle.
// CHECK-LABEL: func.func @main
// CHECK: bfp.requantise_conv
// CHECK-NOT: nn.unary
func.func @main(%x: tensor<1x512x3x3xui8>) -> tensor<1x2x3x3xui8> {
  %w = nn.constant dense<-255> : tensor<2x512x1x1xi16>
  %s = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x512x3x3xui8>, tensor<2x512x1x1xi16>) -> tensor<1x2x3x3xi32>
  %2 = nn.cast %0 : (tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xf32>
  %3 = nn.mul %2, %s : (tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %4 = nn.unary round %3 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %5 = nn.unary clip %4 {alpha = 0.0 : f32, beta = 255.0 : f32} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %6 = nn.cast %5 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xui8>
  return %6 : tensor<1x2x3x3xui8>
}
