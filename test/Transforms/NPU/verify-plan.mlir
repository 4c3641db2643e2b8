// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exit invariants of the plan phase.
//
// RUN: ashlar-opt --ashlar-npu-verify-plan --split-input-file --verify-diagnostics %s

module {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{left the plan phase without 'layout'}}
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

module {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{left the plan phase although only constants, their encodings and npu operations may}}
  %0 = nn.unary relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

// What may leave.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = nn.constant dense<0.5> : tensor<16x5xf32>
  %w = bfp.encode %c weights : tensor<16x5xf32> -> tensor<16x5x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<sb = 0>, tiling = #npu.tiling<tile = [4], scratch = 64, slot = 64, slots = 1, ring = 128>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

// A slot that is too small for one of the two buffers of a tile.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has a tile of 8 x 16 at 0 x 0 whose buffer of the result takes bytes 64 to 128 of the partitions, its slot of scratch memory has bytes 0 to 64}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [8, 16], scratch = 0, slot = 64, slots = 1, ring = 64>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

// Two slots in a partition that holds one and a half.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has 2 slots of 128 bytes at 3904, a partition ends at 4096}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [8, 8], scratch = 3904, slot = 128, slots = 2, ring = 4160>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

// A result over another that is still read.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<sb = 0>, tiling = #npu.tiling<tile = [8, 16], scratch = 64, slot = 64, slots = 1, ring = 192>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-error@+1 {{has its result in bytes 0 to 64 of the partitions, where bytes 0 to 64 hold that of 'npu.vec.map', which is still read}}
  %1 = npu.vec.map "relu"(%0) {layout = #npu.layout<axis = 0>, memory = #npu.memory<sb = 0>, tiling = #npu.tiling<tile = [8, 16], scratch = 64, slot = 0, slots = 1, ring = 192>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = npu.vec.map "add"(%0, %1) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [8, 16], scratch = 128, slot = 64, slots = 1, ring = 192>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
}

// -----

// Scratch memory over the operand.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<sb = 0>, tiling = #npu.tiling<tile = [8, 16], scratch = 64, slot = 64, slots = 1, ring = 128>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-error@+1 {{has scratch memory in bytes 0 to 64 of the partitions, where bytes 0 to 64 hold the result of 'npu.vec.map'}}
  %1 = npu.vec.map "relu"(%0) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [8, 16], scratch = 0, slot = 64, slots = 1, ring = 128>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
}

// -----

// A weight ring over scratch memory.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<sb = 0>, tiling = #npu.tiling<tile = [8, 16], scratch = 64, slot = 64, slots = 1, ring = 128>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-error@+1 {{has a weight ring from byte 64 of the partitions on, but tensors and scratch memory in use end at byte 128}}
  %1 = npu.vec.map "relu"(%0) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [8, 16], scratch = 64, slot = 64, slots = 1, ring = 64>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
}

// -----

// A weight ring that moves up while weights may be in it.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has a weight ring from byte 128 of the partitions on, but weights may still be in it when it begins at byte 192}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<sb = 0>, tiling = #npu.tiling<tile = [8, 16], scratch = 64, slot = 64, slots = 1, ring = 128>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = npu.vec.map "relu"(%0) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [8, 16], scratch = 64, slot = 64, slots = 1, ring = 192>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
}

// -----

// Tiles of no elements.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{must have tiles that are parts of 'tensor<8x16xf32>', found #npu.tiling<tile = [8, 0], }}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [8, 0], scratch = 0, slot = 128, slots = 1, ring = 128>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

// An axis that the result does not have.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{axis across partitions must be below the rank 2 of the result, found 2}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 2>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [8, 16], scratch = 0, slot = 128, slots = 1, ring = 128>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

// Two rows of padding and tiles of one row: the tile at row 2 is the first to read
// three rows, for which its slot has no room.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<1x8x8x16xf32>) -> tensor<1x8x10x16xf32> {
  // expected-error@+1 {{has a tile of 1 x 8 x 1 x 16 at 0 x 0 x 2 x 0 whose buffer of the result takes bytes 192 to 256 of the partitions, its slot of scratch memory has bytes 0 to 192}}
  %0 = npu.vec.pool "max"(%x) {layout = #npu.layout<axis = 1>, memory = #npu.memory<dram = "">, tiling = #npu.tiling<tile = [1, 8, 1, 16], scratch = 0, slot = 192, slots = 1, ring = 192>, kernel = array<i64: 3, 1>, strides = array<i64: 1, 1>, pads = array<i64: 2, 0, 2, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (tensor<1x8x8x16xf32>) -> tensor<1x8x10x16xf32>
  return %0 : tensor<1x8x10x16xf32>
}
}
