// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps that do not fit into the state buffer of 8 partitions. Half of the data
// behind a relu are taken to be zero. A cell is a row of 8 channels x 64
// columns.
//
// RUN: ashlar-opt --ashlar-npu-plan-memory --ashlar-npu-choose-map-form --split-input-file %s | FileCheck %s
// RUN: ashlar-opt --ashlar-npu-plan-memory --ashlar-npu-choose-map-form=mode=coo --split-input-file %s | FileCheck %s --check-prefix=COO
// RUN: ashlar-opt --ashlar-npu-plan-memory --ashlar-npu-choose-map-form=mode=off --split-input-file %s | FileCheck %s --check-prefix=OFF
// OFF-NOT: map_form
// OFF-NOT: ashlar.decision.map

// CHECK-LABEL: func.func @rows(
// CHECK: npu.vec.map "relu"({{.*}}choice = "map-bitmap", reason = "the fewest cycles of its transfers"{{.*}}data = "producer", data_density = 500 : i64{{.*}}form = <form = 1, levels = 0, channels = 8, bytes = 2136, pitch = 2176, typical = 1112>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, dram = {bytes_per_cycle = 8, latency = 20, burst_bytes = 16}, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @rows(%arg0: tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  %1 = npu.vec.map "abs"(%0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  return %1 : tensor<1x8x64x64xf32>
}
}

// -----

// Nothing is known to be zero: as it is, unless it is requested.
// CHECK-LABEL: func.func @dense(
// CHECK: npu.vec.map "exp"({{.*}}choice = "map-dense", reason = "no form takes fewer cycles"{{.*}}data = "unknown", data_density = 1000 : i64
// COO-LABEL: func.func @dense(
// COO: npu.vec.map "exp"({{.*}}choice = "map-coo"{{.*}}form = <form = 2, levels = 0, channels = 8,
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @dense(%arg0: tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32> {
  %0 = npu.vec.map "exp"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  %1 = npu.vec.map "abs"(%0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  return %1 : tensor<1x8x64x64xf32>
}
}

// -----

// A data movement copies elements where they lie.
// CHECK-LABEL: func.func @moved(
// CHECK: npu.vec.map "relu"({{.*}}ashlar.decision.map = #ashlar.decision<choice = "map-dense", reason = "a reader takes elements where they lie in DRAM">
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @moved(%arg0: tensor<1x128x32xf32>) -> tensor<1x32x128xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x128x32xf32>) -> tensor<1x128x32xf32>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 2, 3, 32, 2, 1, 1, 1, 128, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0>]} : (tensor<1x128x32xf32>) -> tensor<1x32x128xf32>
  %2 = npu.vec.map "abs"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
  return %2 : tensor<1x32x128xf32>
}
}
