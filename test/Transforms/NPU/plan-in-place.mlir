// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results made in the memory of their operand. The machine has 8 partitions; a
// row of 64 floats takes 256 bytes of each, one of 64 half floats 128. A
// data movement is cut into four tiles of 16 rows; two loops over the channels keep
// them whole, as blocks do.
//
// RUN: ashlar-opt --ashlar-npu-plan-memory --split-input-file %s | FileCheck %s

// Rows become shorter: reading stays ahead of writing from the same place on.
// Tile 1 reads from byte 4096 when tile 0 has written 2048.
// CHECK-LABEL: func.func @shrinks(
// CHECK: npu.vec.map "relu"({{.*}}#npu.memory<sb = 0
// CHECK: npu.dma.move {{.*}}choice = "in-place", reason = "no tile reaches what later ones read: the result begins 0 bytes in front of its operand, at most 2048 after it would do"{{.*}}#npu.memory<sb = 0
// CHECK-SAME: tile = [1, 8, 16, 64]
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 65536}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @shrinks(%arg0: tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf16> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  %1 = npu.dma.move "reshape"(%0) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 4, 1, 2, 1, 2, 2, 1, 1, 1, 1, 64, 2, 1, 2, 1, 64, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf16>
  %2 = npu.vec.map "abs"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf16>) -> tensor<1x8x64x64xf16>
  return %2 : tensor<1x8x64x64xf16>
}
}

// -----

// Rows become longer, and the operand lies at the begin of the memory: the
// third tile would have overwritten what the fourth reads.
// CHECK-LABEL: func.func @grows(
// CHECK: npu.vec.map "relu"({{.*}}#npu.memory<sb = 0
// CHECK: npu.dma.move {{.*}}choice = "own-area", reason = "a tile would overwrite what later ones read: the result would have to begin 6144 bytes in front of its operand, 0 are free"{{.*}}#npu.memory<sb = 8192
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 65536}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @grows(%arg0: tensor<1x8x64x64xf16>) -> tensor<1x8x64x64xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf16>) -> tensor<1x8x64x64xf16>
  %1 = npu.dma.move "reshape"(%0) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 4, 1, 2, 1, 2, 2, 1, 1, 1, 1, 64, 2, 1, 2, 1, 64, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x8x64x64xf16>) -> tensor<1x8x64x64xf32>
  %2 = npu.vec.map "abs"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  return %2 : tensor<1x8x64x64xf32>
}
}

// -----

// The same with 8192 free bytes in front of the operand: it lies at the tail of
// the area in which its result grows.
// CHECK-LABEL: func.func @tail(
// CHECK: npu.vec.map "relu"({{.*}}#npu.memory<sb = 0
// CHECK: npu.vec.map "floor"({{.*}}#npu.memory<sb = 8192
// CHECK: npu.dma.move {{.*}}choice = "in-place", reason = "no tile reaches what later ones read: the result begins 8192 bytes in front of its operand, at most -6144 after it would do"{{.*}}#npu.memory<sb = 0
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 65536}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @tail(%arg0: tensor<1x8x64x64xf16>, %arg1: tensor<1x8x32x64xf32>) -> (tensor<1x8x64x64xf32>, tensor<1x8x32x64xf32>) {
  %0 = npu.vec.map "relu"(%arg1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x32x64xf32>) -> tensor<1x8x32x64xf32>
  %1 = npu.vec.map "floor"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf16>) -> tensor<1x8x64x64xf16>
  %2 = npu.vec.map "neg"(%0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x32x64xf32>) -> tensor<1x8x32x64xf32>
  %3 = npu.dma.move "reshape"(%1) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 4, 1, 2, 1, 2, 2, 1, 1, 1, 1, 64, 2, 1, 2, 1, 64, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x8x64x64xf16>) -> tensor<1x8x64x64xf32>
  %4 = npu.vec.map "abs"(%3) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  return %4, %2 : tensor<1x8x64x64xf32>, tensor<1x8x32x64xf32>
}
}

// -----

// An operand that is read again keeps its memory.
// CHECK-LABEL: func.func @again(
// CHECK: npu.dma.move {{.*}}choice = "own-area", reason = "its operand is read again later"{{.*}}#npu.memory<sb = 16384
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 65536}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @again(%arg0: tensor<1x8x64x64xf32>) -> (tensor<1x8x64x64xf16>, tensor<1x8x64x64xf32>) {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  %1 = npu.dma.move "reshape"(%0) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 4, 1, 2, 1, 2, 2, 1, 1, 1, 1, 64, 2, 1, 2, 1, 64, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf16>
  %2 = npu.vec.map "abs"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf16>) -> tensor<1x8x64x64xf16>
  %3 = npu.vec.map "neg"(%0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  return %2, %3 : tensor<1x8x64x64xf16>, tensor<1x8x64x64xf32>
}
}

// -----

// Squares of 64 x 64 floats take 2048 bytes of a partition, half of it: their
// blocks of 8 x 8 are swapped through scratch.
// CHECK-LABEL: func.func @squares(
// CHECK: npu.vec.map "relu"({{.*}}#npu.memory<sb = 0
// CHECK: npu.dma.move "transpose"({{.*}}choice = "in-place", reason = "2048 bytes of a partition do not fit next to the 2048 of the operand: square blocks are swapped"{{.*}}#npu.memory<sb = 0>{{.*}}route = #npu.route<swap_blocks>{{.*}}scratch = 2048, slot = 64, slots = {{[1-4]}}
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @squares(%arg0: tensor<1x64x64xf32>) -> tensor<1x64x64xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 2, 3, 64, 2, 1, 1, 1, 64, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0>]} : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %2 = npu.vec.map "abs"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  return %2 : tensor<1x64x64xf32>
}
}

// -----

// No squares: the transpose does not fit next to its operand, which goes to DRAM
// with the bytes that decided it.
// CHECK-LABEL: func.func @oblong(
// CHECK: npu.vec.map "relu"({{.*}}dram = "evicted: its 2048 bytes of a partition are the most of what is live at '{{.*}}', where {{[0-9]+}} are available"
// CHECK: npu.vec.map "abs"({{.*}}dram = "graph output"
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @oblong(%arg0: tensor<1x128x32xf32>) -> tensor<1x32x128xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x128x32xf32>) -> tensor<1x128x32xf32>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 2, 3, 32, 2, 1, 1, 1, 128, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0>]} : (tensor<1x128x32xf32>) -> tensor<1x32x128xf32>
  %2 = npu.vec.map "abs"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
  return %2 : tensor<1x32x128xf32>
}
}
