// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Far dilated convolutions: phases of an axis go into the batch where tiles
// would hold the box that the taps span.
// RUN: ashlar-opt %s -ashlar-set-target=machine=%S/Inputs/half-kib.yaml -ashlar-nn-split-dilations -split-input-file | FileCheck %s
// RUN: ashlar-opt %s -ashlar-set-target=machine=a1 -ashlar-nn-split-dilations -split-input-file | FileCheck %s --check-prefix=ROOM
// ROOM-NOT: nn.transpose

// Rows 8 apart, the padding a multiple of it; the function stays with the
// convolution.
// CHECK-LABEL: func.func @even
// CHECK: %[[A:.*]] = nn.reshape %arg0 : (tensor<2x8x32x40xf32>) -> tensor<2x8x4x8x40xf32>
// CHECK: %[[B:.*]] = nn.transpose %[[A]] {perm = array<i64: 0, 3, 1, 2, 4>}
// CHECK: %[[C:.*]] = nn.reshape %[[B]] : (tensor<2x8x8x4x40xf32>) -> tensor<16x8x4x40xf32>
// CHECK: %[[Y:.*]] = nn.conv %[[C]], %{{.*}} {ashlar.decision.phases = #ashlar.decision<choice = "8-phases", {{.*}}alternatives = {"8-phases" = {{[0-9]+}} : i64, dilated = {{[0-9]+}} : i64}>, ashlar.macs = 1474560 : i64, dilations = array<i64: 1, 8>, {{.*}}pads = array<i64: 1, 8, 1, 8>
// CHECK: %[[R:.*]] = nn.unary relu %[[Y]]
// CHECK: %[[D:.*]] = nn.reshape %[[R]] : (tensor<16x8x4x40xf32>) -> tensor<2x8x8x4x40xf32>
// CHECK: %[[E:.*]] = nn.transpose %[[D]] {perm = array<i64: 0, 2, 3, 1, 4>}
// CHECK: nn.reshape %[[E]] : (tensor<2x8x4x8x40xf32>) -> tensor<2x8x32x40xf32>
func.func @even(%x: tensor<2x8x32x40xf32>) -> tensor<2x8x32x40xf32> {
  %w = nn.constant dense<1.0> : tensor<8x8x3x3xf32>
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 8, 8, 8, 8>, dilations = array<i64: 8, 8>} : (tensor<2x8x32x40xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x32x40xf32>
  %1 = nn.unary relu %0 : (tensor<2x8x32x40xf32>) -> tensor<2x8x32x40xf32>
  return %1 : tensor<2x8x32x40xf32>
}

// -----

// 35 rows with 9 before them: a row of zeros, then phases of 5; 37 results are
// the first of 40.
// CHECK-LABEL: func.func @uneven
// CHECK: nn.pad %arg0 {{.*}}high = array<i64: 0, 0, 4, 0>, {{.*}}low = array<i64: 0, 0, 1, 0>
// CHECK: nn.conv {{.*}}pads = array<i64: 1, 0, 1, 0>{{.*}} -> tensor<8x8x5x40xf32>
// CHECK: nn.slice {{.*}} : (tensor<1x8x40x40xf32>) -> tensor<1x8x37x40xf32>
func.func @uneven(%x: tensor<1x8x35x40xf32>) -> tensor<1x8x37x40xf32> {
  %w = nn.constant dense<1.0> : tensor<8x8x3x1xf32>
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 9, 0, 9, 0>, dilations = array<i64: 8, 1>} : (tensor<1x8x35x40xf32>, tensor<8x8x3x1xf32>) -> tensor<1x8x37x40xf32>
  return %0 : tensor<1x8x37x40xf32>
}

// -----

// The last axis, a stride, and one tap.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: nn.transpose
func.func @stays(%x: tensor<1x8x40x40xf32>) -> (tensor<1x8x40x40xf32>, tensor<1x8x20x40xf32>, tensor<1x8x40x40xf32>) {
  %w = nn.constant dense<1.0> : tensor<8x8x1x3xf32>
  %v = nn.constant dense<1.0> : tensor<8x8x3x1xf32>
  %u = nn.constant dense<1.0> : tensor<8x8x1x1xf32>
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 8, 0, 8>, dilations = array<i64: 1, 8>} : (tensor<1x8x40x40xf32>, tensor<8x8x1x3xf32>) -> tensor<1x8x40x40xf32>
  %1 = nn.conv %x, %v {strides = array<i64: 2, 1>, pads = array<i64: 8, 0, 8, 0>, dilations = array<i64: 8, 1>} : (tensor<1x8x40x40xf32>, tensor<8x8x3x1xf32>) -> tensor<1x8x20x40xf32>
  %2 = nn.conv %x, %u {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 8, 1>} : (tensor<1x8x40x40xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x40x40xf32>
  return %0, %1, %2 : tensor<1x8x40x40xf32>, tensor<1x8x20x40xf32>, tensor<1x8x40x40xf32>
}
