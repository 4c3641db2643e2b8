// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results in other banks than their operands. A partition has 8 banks of 8192
// bytes, a tensor<1x8x8x8xf32> takes 256 bytes.
//
// RUN: ashlar-opt --ashlar-npu-plan-memory --split-input-file %s | FileCheck %s

// The second result lies in the second bank, the third shares a bank with
// neither its operand nor what the operation before reads.
// CHECK-LABEL: func.func @apart(
// CHECK: #npu.memory<sb = 0>
// CHECK: #npu.memory<sb = 8192>
// CHECK: #npu.memory<sb = 16384>
// CHECK: #npu.memory<dram = "{{.+}}">
module attributes {npu.tuning = #npu.tuning<banks_apart = true>, ashlar.target = #ashlar.target<"banks", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 65536, banks = 8, ports = 2}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @apart(%arg0: tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %1 = npu.vec.map "relu"(%0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %2 = npu.vec.map "relu"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %3 = npu.vec.map "relu"(%2) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %3 : tensor<1x8x8x8xf32>
}
}

// -----

// One bank: nothing to choose.
// CHECK-LABEL: func.func @one_bank(
// CHECK: #npu.memory<sb = 0>
// CHECK: #npu.memory<sb = 256>
module attributes {npu.tuning = #npu.tuning<banks_apart = true>, ashlar.target = #ashlar.target<"banks", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 65536, banks = 1, ports = 2}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @one_bank(%arg0: tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %1 = npu.vec.map "relu"(%0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %2 = npu.vec.map "relu"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %2 : tensor<1x8x8x8xf32>
}
}
