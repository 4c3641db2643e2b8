// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions of the plan phase that do not fit their operation or machine.
//
// RUN: ashlar-opt --ashlar-npu-verify-plan --split-input-file --verify-diagnostics %s

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has tiles of 5 along axis 0 of 8, expected a multiple of 8}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [5, 16], scratch = 0, slot = 1024, slots = 1, ring = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has its 64 bytes at 4095, a partition ends at 4096}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<sb = 4095>, tiling = #npu.tiling<tile = [8, 16], scratch = 0, slot = 1024, slots = 1, ring = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has 5 slots of 1024 bytes at 0, a partition ends at 4096}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [8, 16], scratch = 0, slot = 1024, slots = 5, ring = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{expected 'slots' in [1, 1099511627776], found 0}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [8, 16], scratch = 0, slot = 1024, slots = 0, ring = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has its ring at 5000, a partition ends at 4096}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [8, 16], scratch = 0, slot = 1024, slots = 1, ring = 5000>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{is not a part of a concatenation in its memory}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<sb = 0, part = 0>, tiling = #npu.tiling<tile = [8, 16], scratch = 0, slot = 1024, slots = 1, ring = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{is a view of an operand that is not in the state buffer}}
  %0 = npu.dma.move "reshape"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<sb = 0>, tiling = #npu.tiling<tile = [8, 16], scratch = 0, slot = 1024, slots = 1, ring = 0>, route = #npu.route<view>, patterns = []} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16x1xf32>) -> tensor<8x16x1xf32> {
  // expected-error@+1 {{cannot be compressed as #npu.memory<}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "", form = <form = 1, levels = 0, channels = 8, bytes = 128, pitch = 64, typical = 10>>, tiling = #npu.tiling<tile = [8, 16, 1], scratch = 0, slot = 1024, slots = 1, ring = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16x1xf32>) -> tensor<8x16x1xf32>
  return %0 : tensor<8x16x1xf32>
}
}
