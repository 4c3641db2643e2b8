// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A second axis of few-channel maps across partitions: which one, where it is
// kept, and where it stops.
//
// RUN: ashlar-opt --ashlar-npu-assign-axis --ashlar-npu-spread-maps --split-input-file %s | FileCheck %s

// 32 channels and a quarter of the rows each fill 128 partitions. The mean of
// rows works so, the mean of columns of means does not; numbers of channels go
// to all of them; the input is loaded once for both of its readers.
// CHECK-LABEL: func.func @norm(
// CHECK: %[[X:.*]] = npu.dma.move "load"(%arg0) {layout = #npu.layout<axis = 1, spread = <axis = 2, count = 4, pitch = 32>>, origin
// CHECK: npu.vec.map "relu"(%[[X]]){{.*}}choice = "axis2-by-4"{{.*}}layout = #npu.layout<axis = 1, spread = <axis = 2, count = 4, pitch = 32>, work_spread = <axis = 2, count = 4, pitch = 32>>
// CHECK: npu.vec.reduce "mean"{{.*}}axes = array<i64: 3>, layout = #npu.layout<axis = 1, work_spread = <axis = 2, count = 4, pitch = 32>>
// CHECK: npu.vec.reduce "mean"{{.*}}choice = "plain"{{.*}}axes = array<i64: 2>, layout = #npu.layout<axis = 1>
// CHECK: npu.vec.map "sub"(%[[X]]{{.*}}layout = #npu.layout<axis = 1, spread = <axis = 2, count = 4, pitch = 32>, work_spread = <axis = 2, count = 4, pitch = 32>>
// CHECK: npu.vec.map "exp"{{.*}}layout = #npu.layout<axis = 1, work_spread = <axis = 2, count = 4, pitch = 32>>
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @norm(%arg0: tensor<1x32x64x64xf32>) -> tensor<1x32x64x64xf32> {
  %0 = npu.vec.map "relu"(%arg0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x32x64x64xf32>) -> tensor<1x32x64x64xf32>
  %1 = npu.vec.reduce "mean"(%0) {axes = array<i64: 3>, select_last = false} : (tensor<1x32x64x64xf32>) -> tensor<1x32x64x1xf32>
  %2 = npu.vec.reduce "mean"(%1) {axes = array<i64: 2>, select_last = false} : (tensor<1x32x64x1xf32>) -> tensor<1x32x1x1xf32>
  %3 = npu.vec.map "sub"(%arg0, %2) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x32x64x64xf32>, tensor<1x32x1x1xf32>) -> tensor<1x32x64x64xf32>
  %4 = npu.vec.map "exp"(%3) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x32x64x64xf32>) -> tensor<1x32x64x64xf32>
  return %4 : tensor<1x32x64x64xf32>
}
}

// -----

// 128 channels fill the partitions: nothing is gained.
// CHECK-LABEL: func.func @full(
// CHECK-NOT: spread
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @full(%arg0: tensor<1x128x64x64xf32>) -> tensor<1x128x64x64xf32> {
  %0 = npu.vec.map "exp"(%arg0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x128x64x64xf32>) -> tensor<1x128x64x64xf32>
  %1 = npu.vec.map "exp"(%0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x128x64x64xf32>) -> tensor<1x128x64x64xf32>
  return %1 : tensor<1x128x64x64xf32>
}
}

// -----

// Blocks of 16 channels are no whole groups of 24 partitions: the encoding
// works with the channels alone.
// CHECK-LABEL: func.func @blocks(
// CHECK: npu.vec.map "exp"{{.*}}work_spread
// CHECK: npu.vec.map "exp"{{.*}}work_spread
// CHECK: npu.vec.map "copy"{{.*}}choice = "plain"{{.*}}layout = #npu.layout<axis = 1>
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @blocks(%arg0: tensor<1x24x60x64xf32>) -> tensor<1x24x60x64x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>> {
  %0 = npu.vec.map "exp"(%arg0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x24x60x64xf32>) -> tensor<1x24x60x64xf32>
  %1 = npu.vec.map "exp"(%0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x24x60x64xf32>) -> tensor<1x24x60x64xf32>
  %2 = npu.vec.map "copy"(%1) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x24x60x64xf32>) -> tensor<1x24x60x64x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return %2 : tensor<1x24x60x64x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
}
}

// -----

// A map too large for 64 partitions is kept in all of them, though its reader
// takes it as a plain one.
// CHECK-LABEL: func.func @pool(
// CHECK: npu.vec.pool "max"{{.*}}choice = "axis2-by-2", reason = "the result fits the state buffer in 2 groups of 64 partitions"{{.*}}layout = #npu.layout<axis = 1, spread = <axis = 2, count = 2, pitch = 64>>
// CHECK: npu.vec.pool "max"{{.*}}layout = #npu.layout<axis = 1>
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @pool(%arg0: tensor<1x64x112x112xf32>) -> tensor<1x64x55x55xf32> {
  %0 = npu.vec.pool "max"(%arg0) {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, count_include_pad = false} : (tensor<1x64x112x112xf32>) -> tensor<1x64x112x112xf32>
  %1 = npu.vec.pool "max"(%0) {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (tensor<1x64x112x112xf32>) -> tensor<1x64x55x55xf32>
  return %1 : tensor<1x64x55x55xf32>
}
}
