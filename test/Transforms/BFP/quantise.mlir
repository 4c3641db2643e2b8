// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole phase on a residual block with a depthwise convolution.
// RUN: ashlar-opt --ashlar-quantise %s | FileCheck %s
// RUN: ashlar-opt --ashlar-quantise=format=bfp16 %s | FileCheck %s --check-prefix=WIDE

// CHECK: module attributes {bfp.format = "w=8,block=16,range=7", nn.model_name = "block"}
// WIDE: bfp.format = "w=16,block=16,range=7"
// WIDE: tensor<1x16x8x8x!bfp.block<mantissa = 16, block = 16, range = 7, axis = 1>>
module attributes {nn.model_name = "block"} {
  // CHECK-LABEL: func @main
  func.func @main(%x: tensor<1x16x8x8xf32> {nn.name = "data"}) -> (tensor<1x16x8x8xf32> {nn.name = "prob"}) {
    %w0 = nn.constant dense<0.5> : tensor<16x16x1x1xf32>
    %w1 = nn.constant dense<0.5> : tensor<16x1x3x3xf32>
    %b1 = nn.constant dense<0.25> : tensor<16xf32>
    // CHECK: %[[X:.*]] = bfp.encode %{{.*}} : tensor<1x16x8x8xf32>
    // CHECK: %[[C0:.*]] = bfp.conv %[[X]], {{.*}}function = "relu"{{.*}} -> tensor<1x16x8x8x!bfp.block<
    // CHECK: %[[C1:.*]] = bfp.conv %[[C0]], {{.*}} bias(%{{.*}}) residual(%[[X]]) {{.*}}function = "clip", group = 16 : i64{{.*}}tensor<16x1x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>{{.*}} -> tensor<1x16x8x8x!bfp.block<
    // CHECK: bfp.conv %[[C1]], %{{.*}} -> tensor<1x16x8x8xf32>
    // CHECK-NEXT: return
    %0 = nn.conv %x, %w0 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
    %1 = nn.unary relu %0 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
    %2 = nn.conv %1, %w1, %b1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 16 : i64}
      : (tensor<1x16x8x8xf32>, tensor<16x1x3x3xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
    %3 = nn.add %2, %x : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
    %4 = nn.unary clip %3 {alpha = 0.0 : f32, beta = 6.0 : f32} : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
    %5 = nn.conv %4, %w0 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
    return %5 : tensor<1x16x8x8xf32>
  }
}
