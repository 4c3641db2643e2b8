// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations refuse layouts that their code does not handle. The machine has 8
// partitions in groups of 4 that share an exponent.
//
// RUN: ashlar-opt --ashlar-npu-verify-layouts --split-input-file --verify-diagnostics %s

// A transposed view has positions at two distances; pe.load has one.
!x = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 2>
!w = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 8}, act = {lanes = 8}>} {
func.func @main(%arg0: tensor<2x3x8xf32>) -> tensor<3x2x16xf32> {
  %c = nn.constant dense<0.5> : tensor<8x16xf32>
  %w = bfp.encode %c weights : tensor<8x16xf32> -> tensor<8x16x!w>
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 2>, memory = #npu.memory<sb = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x3x8xf32>) -> tensor<2x3x8x!x>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 2>, memory = #npu.memory<sb = 0>, route = #npu.route<view>, patterns = [array<i64: 0, 3, 3, 3, 1, 1, 0, 1, 2, 0, 1, 1, 1, 8, 2, 1, 2, 1, 0, 0, 0, 0, 0, 0>]} : (tensor<2x3x8x!x>) -> tensor<3x2x8x!x>
  // expected-error@+1 {{reads operand 0 in place, but its positions do not lie at one distance, as the columns of a stationary operand have to}}
  %2 = npu.pe.matmul(%1, %w) {layout = #npu.layout<axis = 2>, memory = #npu.memory<dram = "">, stationary = #npu.stationary<activations>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<3x2x8x!x>, tensor<8x16x!w>) -> tensor<3x2x16xf32>
  return %2 : tensor<3x2x16xf32>
}
}

// -----

// The same view is fine where weights are stationary.
!x = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 2>
!w = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 8}, act = {lanes = 8}>} {
func.func @main(%arg0: tensor<2x3x8xf32>) -> tensor<3x2x16xf32> {
  %c = nn.constant dense<0.5> : tensor<8x16xf32>
  %w = bfp.encode %c weights : tensor<8x16xf32> -> tensor<8x16x!w>
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 2>, memory = #npu.memory<sb = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x3x8xf32>) -> tensor<2x3x8x!x>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 2>, memory = #npu.memory<sb = 0>, route = #npu.route<view>, patterns = [array<i64: 0, 3, 3, 3, 1, 1, 0, 1, 2, 0, 1, 1, 1, 8, 2, 1, 2, 1, 0, 0, 0, 0, 0, 0>]} : (tensor<2x3x8x!x>) -> tensor<3x2x8x!x>
  %2 = npu.pe.matmul(%1, %w) {layout = #npu.layout<axis = 2>, memory = #npu.memory<dram = "">, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<3x2x8x!x>, tensor<8x16x!w>) -> tensor<3x2x16xf32>
  return %2 : tensor<3x2x16xf32>
}
}

// -----

// Elements that move are no view.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 8}, act = {lanes = 8}>} {
func.func @main(%arg0: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 1>, memory = #npu.memory<sb = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error@+1 {{is marked as a view of its operand, whose elements lie otherwise}}
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 1>, memory = #npu.memory<sb = 0>, route = #npu.route<view>, patterns = [array<i64: 0, 2, 2, 8, 1, 1, 0, 1, 4, 0, 1, 1, 1, 0, 0, 0, 0>]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
}

// -----

// One partition holds a scalar: repeating it across partitions is not a view.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 8}, act = {lanes = 8}>} {
func.func @main(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = npu.vec.reduce "sum"(%arg0) {layout = #npu.layout<axis = -1>, memory = #npu.memory<sb = 0>, axes = array<i64: 0, 1>, select_last = false} : (tensor<4x8xf32>) -> tensor<1x1xf32>
  // expected-error@+1 {{is marked as a view of its operand, whose elements lie otherwise}}
  %1 = npu.dma.move "expand"(%0) {layout = #npu.layout<axis = 1>, memory = #npu.memory<sb = 0>, route = #npu.route<view>, patterns = [array<i64: 0, 2, 2, 4, -1, 0, 0, 1, 8, -1, 0, 1, 1, 0, 0, 0, 0>]} : (tensor<1x1xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
}

// -----

// Reduced elements lie in three nested runs: the vector unit has two.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 8}, act = {lanes = 8}>} {
func.func @main(%arg0: tensor<4x3x5x8xf32>) -> tensor<8xf32> {
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 3>, memory = #npu.memory<sb = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x3x5x8xf32>) -> tensor<4x3x5x8xf32>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 3>, memory = #npu.memory<sb = 0>, route = #npu.route<view>, patterns = [array<i64: 0, 4, 4, 5, 2, 1, 0, 1, 3, 1, 1, 1, 1, 4, 0, 1, 2, 1, 8, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<4x3x5x8xf32>) -> tensor<5x3x4x8xf32>
  // expected-error@+1 {{reads operand 0 in place, but the elements that it reduces lie in more than two nested runs}}
  %2 = npu.vec.reduce "sum"(%1) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "">, axes = array<i64: 0, 1, 2>, select_last = false} : (tensor<5x3x4x8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
}

// -----

// A part of a concatenation begins in partition 4 of a channel tile.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 8}, act = {lanes = 8}>} {
func.func @main(%arg0: tensor<1x4x2x2xf32>) -> tensor<1x8x2x2xf32> {
  // expected-error@+1 {{writes its result in place, but it is a part of a larger map and does not begin in partition 0}}
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, memory = #npu.memory<sb = 0, part = 4>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  %1 = npu.dma.move "concat"(%arg0, %0) {layout = #npu.layout<axis = 1>, memory = #npu.memory<sb = 0>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 4, 1, 1, 1, 1, 2, 2, 1, 2, 1, 2, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>, array<i64: 1, 4, 4, 1, 0, 1, 0, 1, 4, 1, 1, 1, 1, 2, 2, 1, 2, 1, 2, 3, 1, 3, 1, 0, 0, 0, 0, 0, 4, 0, 0>]} : (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<1x8x2x2xf32>
  return %1 : tensor<1x8x2x2xf32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 8}, act = {lanes = 8}>} {
func.func @main(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{has no 'layout'}}
  %0 = npu.vec.map "relu"(%arg0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
}

// -----

// The end of a channel tile of 24 partitions divides the second block of 16: the
// drain leaves floats, and the vector unit encodes.
!x = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>
!w = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 8, sb = {partitions = 24, bytes_per_partition = 4096}, pe = {rows = 24, columns = 16}, act = {lanes = 16}>} {
func.func @main(%arg0: tensor<2x16xf32>) -> tensor<2x48xf32> {
  %c = nn.constant dense<0.5> : tensor<16x48xf32>
  %w = bfp.encode %c weights : tensor<16x48xf32> -> tensor<16x48x!w>
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 1>, memory = #npu.memory<sb = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x16xf32>) -> tensor<2x16x!x>
  %1 = npu.pe.matmul(%0, %w) {layout = #npu.layout<axis = 1>, memory = #npu.memory<sb = 64>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x16x!x>, tensor<16x48x!w>) -> tensor<2x48x!x>
  %2 = npu.vec.map "copy"(%1) {layout = #npu.layout<axis = 1>, memory = #npu.memory<dram = "">, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x48x!x>) -> tensor<2x48xf32>
  return %2 : tensor<2x48xf32>
}
}

// -----

// Two heads of 8 features in 16 partitions: the product multiplies them one by
// one where they lie, against others that begin elsewhere.
!x = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 2>
!h = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 3>
!k = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 2>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 16, bytes_per_partition = 4096}, pe = {rows = 16, columns = 16}, act = {lanes = 16}>} {
func.func @main(%arg0: tensor<1x3x16xf32>, %arg1: tensor<1x2x8x5xf32>) -> tensor<1x2x3x5xf32> {
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 2>, memory = #npu.memory<sb = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x3x16xf32>) -> tensor<1x3x16x!x>
  %1 = npu.vec.map "copy"(%arg1) {layout = #npu.layout<axis = 2>, memory = #npu.memory<sb = 64>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x2x8x5xf32>) -> tensor<1x2x8x5x!k>
  %2 = npu.dma.move "reshape"(%0) {layout = #npu.layout<axis = 3>, memory = #npu.memory<sb = 0>, route = #npu.route<view>, patterns = [array<i64: 0, 3, 3, 3, 1, 1, 1, 1, 2, 2, 8, 2, 1, 8, 2, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x3x16x!x>) -> tensor<1x3x2x8x!h>
  %3 = npu.dma.move "transpose"(%2) {layout = #npu.layout<axis = 3>, memory = #npu.memory<sb = 0>, route = #npu.route<view>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 3, 1, 1, 2, 1, 2, 2, 1, 1, 1, 8, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x3x2x8x!h>) -> tensor<1x2x3x8x!h>
  %4 = npu.pe.matmul(%3, %1) {layout = #npu.layout<axis = 3>, memory = #npu.memory<dram = "">, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x2x3x8x!h>, tensor<1x2x8x5x!k>) -> tensor<1x2x3x5xf32>
  return %4 : tensor<1x2x3x5xf32>
}
}

// -----

// The second of two heads of 24 features begins in partition 8 and goes on in
// the next channel tile.
!x = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 2>
!h = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 3>
!k = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 2>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 16, bytes_per_partition = 4096}, pe = {rows = 16, columns = 16}, act = {lanes = 16}>} {
func.func @main(%arg0: tensor<1x3x48xf32>, %arg1: tensor<1x2x24x5xf32>) -> tensor<1x2x3x5xf32> {
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 2>, memory = #npu.memory<sb = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x3x48xf32>) -> tensor<1x3x48x!x>
  %1 = npu.vec.map "copy"(%arg1) {layout = #npu.layout<axis = 2>, memory = #npu.memory<sb = 64>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x2x24x5xf32>) -> tensor<1x2x24x5x!k>
  %2 = npu.dma.move "reshape"(%0) {layout = #npu.layout<axis = 3>, memory = #npu.memory<sb = 0>, route = #npu.route<view>, patterns = [array<i64: 0, 3, 3, 3, 1, 1, 1, 1, 2, 2, 24, 2, 1, 24, 2, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x3x48x!x>) -> tensor<1x3x2x24x!h>
  %3 = npu.dma.move "transpose"(%2) {layout = #npu.layout<axis = 3>, memory = #npu.memory<sb = 0>, route = #npu.route<view>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 3, 1, 1, 2, 1, 2, 2, 1, 1, 1, 24, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x3x2x24x!h>) -> tensor<1x2x3x24x!h>
  // expected-error@+1 {{reads operand 0 in place, but its elements reach across the end of a channel tile that they do not begin, and one instruction reads one}}
  %4 = npu.pe.matmul(%3, %1) {layout = #npu.layout<axis = 3>, memory = #npu.memory<dram = "">, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x2x3x24x!h>, tensor<1x2x24x5x!k>) -> tensor<1x2x3x5xf32>
  return %4 : tensor<1x2x3x5xf32>
}
}

// -----

// Weights that the program streams meet all matrices at once: heads would have
// to begin in one partition. A slice of channels may begin in any.
!x = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 2>
!h = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 3>
!w = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 16, bytes_per_partition = 4096}, pe = {rows = 16, columns = 16}, act = {lanes = 16}>} {
func.func @main(%arg0: tensor<1x3x16xf32>) -> (tensor<1x3x5xf32>, tensor<1x3x2x5xf32>) {
  %c = nn.constant dense<0.5> : tensor<8x5xf32>
  %w = bfp.encode %c weights : tensor<8x5xf32> -> tensor<8x5x!w>
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 2>, memory = #npu.memory<sb = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x3x16xf32>) -> tensor<1x3x16x!x>
  %1 = npu.dma.move "slice"(%0) {layout = #npu.layout<axis = 2>, memory = #npu.memory<sb = 0>, route = #npu.route<view>, patterns = [array<i64: 0, 3, 3, 1, 0, 1, 0, 1, 3, 1, 1, 1, 1, 8, 2, 1, 2, 1, 0, 0, 8, 0, 0, 0>]} : (tensor<1x3x16x!x>) -> tensor<1x3x8x!x>
  %2 = npu.pe.matmul(%1, %w) {layout = #npu.layout<axis = 2>, memory = #npu.memory<dram = "">, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x3x8x!x>, tensor<8x5x!w>) -> tensor<1x3x5xf32>
  %3 = npu.dma.move "reshape"(%0) {layout = #npu.layout<axis = 3>, memory = #npu.memory<sb = 0>, route = #npu.route<view>, patterns = [array<i64: 0, 3, 3, 3, 1, 1, 1, 1, 2, 2, 8, 2, 1, 8, 2, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x3x16x!x>) -> tensor<1x3x2x8x!h>
  // expected-error@+1 {{reads operand 0 in place, but two of its axes lie across partitions}}
  %4 = npu.pe.matmul(%3, %w) {layout = #npu.layout<axis = 3>, memory = #npu.memory<dram = "">, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x3x2x8x!h>, tensor<8x5x!w>) -> tensor<1x3x2x5xf32>
  return %2, %4 : tensor<1x3x5xf32>, tensor<1x3x2x5xf32>
}
}
