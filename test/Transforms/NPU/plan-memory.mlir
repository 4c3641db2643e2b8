// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Residency by first fit, eviction of the largest, tiles, the weight ring. The
// machine has 8 partitions; a tensor<1x8x8x8xf32> takes 256 bytes of each.
//
// RUN: ashlar-opt --ashlar-npu-plan-memory --split-input-file %s | FileCheck %s

// Everything fits: a tensor takes the first place that no live tensor has, so
// the third reuses the place of the first. The result of the function lives in
// DRAM and is made in scratch above the live tensors. The ring for weights
// begins where nothing of the operation lies.
// CHECK-LABEL: func.func @main(
// CHECK: npu.placement = 0 : i64, npu.ring = 512 : i64, npu.scratch = array<i64: 256, 256, 1>, npu.tile = array<i64: 1, 8, 8, 8>
// CHECK: npu.placement = 256 : i64, npu.ring = 512 : i64, npu.scratch = array<i64: 512, 0, 1>
// CHECK: npu.placement = 0 : i64, npu.ring = {{[0-9]+}} : i64, npu.scratch = array<i64: 512, 0, 1>
// CHECK: npu.placement = -1 : i64, npu.ring = {{[0-9]+}} : i64, npu.scratch = array<i64: 256, 256, 1>
module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 65536}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%arg0: tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
  %0 = npu.vec.map "relu"(%arg0) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %1 = npu.vec.map "relu"(%0) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %2 = npu.vec.map "relu"(%1) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %3 = npu.vec.map "relu"(%2) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %3 : tensor<1x8x8x8xf32>
}
}

// -----

// Too small for both: the large tensor goes to DRAM, the small ones stay.
// CHECK-LABEL: func.func @main(
// CHECK: npu.vec.map "relu"({{.*}}npu.placement = {{[0-9]+}} : i64
// CHECK: npu.vec.map "abs"({{.*}}npu.placement = -1 : i64
// CHECK: npu.vec.map "neg"({{.*}}npu.placement = {{[0-9]+}} : i64
module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 4096}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%arg0: tensor<1x8x8x8xf32>, %arg1: tensor<1x8x16x64xf32>) -> (tensor<1x8x8x8xf32>, tensor<1x8x16x64xf32>) {
  %0 = npu.vec.map "relu"(%arg0) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %1 = npu.vec.map "abs"(%arg1) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x16x64xf32>) -> tensor<1x8x16x64xf32>
  %2 = npu.vec.map "neg"(%0) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %3 = npu.vec.map "sign"(%2) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %4 = npu.vec.map "floor"(%1) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x16x64xf32>) -> tensor<1x8x16x64xf32>
  return %3, %4 : tensor<1x8x8x8xf32>, tensor<1x8x16x64xf32>
}
}

// -----

// More staged bytes than the threshold: tiles in two slots, so that the loads
// of one overlap the work of the other. Rows are cut before columns.
// CHECK-LABEL: func.func @main(
// CHECK: npu.placement = -1 : i64, npu.ring = {{[0-9]+}} : i64, npu.scratch = array<i64: 0, {{[0-9]+}}, 2>, npu.tile = array<i64: 1, 8, {{[0-9]+}}, 64>
module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 65536}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%arg0: tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32> {
  %0 = npu.vec.map "relu"(%arg0) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  return %0 : tensor<1x8x64x64xf32>
}
}

// -----

// A transpose that keeps the axis across partitions is a view: it takes no
// memory, and its operand lives until the last reader of the view.
// CHECK-LABEL: func.func @main(
// CHECK: npu.vec.map "relu"({{.*}}npu.placement = 0 : i64
// CHECK: npu.dma.move "transpose"({{.*}}npu.alias, npu.axis = 2 : i64, npu.placement = 0 : i64
// CHECK: npu.vec.map "abs"({{.*}}npu.placement = 256 : i64
// CHECK: npu.vec.map "add"(
module attributes {npu.machine = "name: 'small'\0Axm_group: 4\0Asb: {partitions: 8, bytes_per_partition: 65536}\0Ape: {rows: 8, columns: 4}\0Aact: {lanes: 4}\0A"} {
func.func @main(%arg0: tensor<8x8x8xf32>) -> tensor<8x8x8xf32> {
  %0 = npu.vec.map "relu"(%arg0) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %1 = npu.dma.move "transpose"(%0) {npu.axis = 2 : i64, pieces = [array<i64: 0, 3, 3, 8, 2, 1, 0, 1, 8, 0, 1, 1, 1, 8, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0>]} : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %2 = npu.vec.map "abs"(%1) {npu.axis = 2 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %3 = npu.vec.map "add"(%1, %2) {npu.axis = 2 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x8x8xf32>, tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  return %3 : tensor<8x8x8xf32>
}
}
