// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows beyond 4095: the pools that they become.
//
// RUN: ashlar-opt --ashlar-nn-split-windows --split-input-file %s | FileCheck %s

// A long kernel: two runs of taps; the second begins inside the padding's end.
// CHECK-LABEL: @max_kernel
// CHECK: %[[A:.+]] = nn.slice %arg0 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<1x1x5200xf32>) -> tensor<1x1x2700xf32>
// CHECK: %[[B:.+]] = nn.max_pool %[[A]] {dilations = array<i64: 1>, kernel = array<i64: 2500>, pads = array<i64: 2, 0>, strides = array<i64: 1>} : (tensor<1x1x2700xf32>) -> tensor<1x1x203xf32>
// CHECK: %[[C:.+]] = nn.slice %arg0 {starts = array<i64: 0, 0, 2498>
// CHECK: %[[D:.+]] = nn.max_pool %[[C]] {dilations = array<i64: 1>, kernel = array<i64: 2500>, pads = array<i64: 0, 0>
// CHECK: nn.max %[[B]], %[[D]]
func.func @max_kernel(%x: tensor<1x1x5200xf32>) -> tensor<1x1x201xf32> {
  %0 = nn.max_pool %x {kernel = array<i64: 5000>, strides = array<i64: 1>, pads = array<i64: 2, 0>, dilations = array<i64: 1>} : (tensor<1x1x5200xf32>) -> tensor<1x1x203xf32>
  %1 = nn.slice %0 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<1x1x203xf32>) -> tensor<1x1x201xf32>
  return %1 : tensor<1x1x201xf32>
}

// -----

// A wide dilation: every tap is a run of its own.
// CHECK-LABEL: @max_dilation
// CHECK-COUNT-2: kernel = array<i64: 2, 1>
// CHECK: nn.max
func.func @max_dilation(%x: tensor<1x1x2x4200xf32>) -> tensor<1x1x1x104xf32> {
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 4096>} : (tensor<1x1x2x4200xf32>) -> tensor<1x1x1x104xf32>
  return %0 : tensor<1x1x1x104xf32>
}

// -----

// Windows far from each other, of any type; one window has no stride.
// CHECK-LABEL: @stride
// CHECK: nn.slice %arg0 {starts = array<i64: 0, 0, 0>
// CHECK: nn.max_pool {{.*}}pads = array<i64: 1, 0>, strides = array<i64: 1>} : (tensor<1x1x1xui8>) -> tensor<1x1x1xui8>
// CHECK: nn.slice %arg0 {starts = array<i64: 0, 0, 4999>
// CHECK: nn.concat
func.func @stride(%x: tensor<1x1x6000xui8>) -> tensor<1x1x2xui8> {
  %0 = nn.max_pool %x {kernel = array<i64: 2>, strides = array<i64: 5000>, pads = array<i64: 1, 0>, dilations = array<i64: 1>} : (tensor<1x1x6000xui8>) -> tensor<1x1x2xui8>
  return %0 : tensor<1x1x2xui8>
}

// -----

// CHECK-LABEL: @one_window
// CHECK: nn.avg_pool {{.*}}strides = array<i64: 5000>
func.func @one_window(%x: tensor<1x1x17xf32>) -> tensor<1x1x1xf32> {
  %0 = nn.avg_pool %x {kernel = array<i64: 2>, strides = array<i64: 5000>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x17xf32>) -> tensor<1x1x1xf32>
  return %0 : tensor<1x1x1xf32>
}

// -----

// The mean of a long window whose ends lie in the padding: zeros are added, the
// runs' means weighted, and the sums divided by what counts.
// CHECK-LABEL: @avg_kernel
// CHECK-DAG: %[[ENDS:.+]] = nn.constant dense<[1.000200e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK-DAG: dense<5.000000e-01> : tensor<1xf32>
// CHECK: %[[PAD:.+]] = nn.pad %arg0 {high = array<i64: 0, 0, 0>, low = array<i64: 0, 0, 1>
// CHECK-COUNT-2: nn.avg_pool {{.*}}kernel = array<i64: 2500>, pads = array<i64: 0, 0>
// CHECK: %[[SUM:.+]] = nn.add
// CHECK: nn.mul %[[SUM]], %[[ENDS]]
func.func @avg_kernel(%x: tensor<1x1x5000xf32>) -> tensor<1x1x2xf32> {
  %0 = nn.avg_pool %x {kernel = array<i64: 5000>, strides = array<i64: 1>, pads = array<i64: 1, 0>, dilations = array<i64: 1>} : (tensor<1x1x5000xf32>) -> tensor<1x1x2xf32>
  return %0 : tensor<1x1x2xf32>
}

// -----

// Too many windows: refused where code is generated.
// CHECK-LABEL: @many
// CHECK: strides = array<i64: 4096>
func.func @many(%x: tensor<1x1x1200000xf32>) -> tensor<1x1x293xf32> {
  %0 = nn.max_pool %x {kernel = array<i64: 2>, strides = array<i64: 4096>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x1200000xf32>) -> tensor<1x1x293xf32>
  return %0 : tensor<1x1x293xf32>
}
