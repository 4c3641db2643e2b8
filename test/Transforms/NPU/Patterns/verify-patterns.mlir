// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N:M weights that a file states and the machine does not keep.
//
// RUN: ashlar-opt --ashlar-npu-plan-memory --split-input-file --verify-diagnostics %s

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<1x4x2x2xi8>) -> tensor<1x4x2x2xi32> {
  %w = nn.constant dense<1> : tensor<4x4x1x1xi8>
  // expected-error@+1 {{has N:M weights, the machine keeps none (pe.pattern_group is 0)}}
  %0 = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, pattern = #npu.pattern<kept = 2, group = 4>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, quant = #npu.quant<x_zero = 0, w_zero = 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x2x2xi32>
  return %0 : tensor<1x4x2x2xi32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4, pattern_group = 8, pattern_kept = 2}, act = {lanes = 4}>} {
func.func @main(%x: tensor<1x4x2x2xi8>) -> tensor<1x4x2x2xi32> {
  %w = nn.constant dense<1> : tensor<4x4x1x1xi8>
  // expected-error@+1 {{has 2:4 weights, the machine keeps 2 of 8 rows (pe.pattern_kept, pe.pattern_group)}}
  %0 = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, pattern = #npu.pattern<kept = 2, group = 4>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, quant = #npu.quant<x_zero = 0, w_zero = 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x2x2xi32>
  return %0 : tensor<1x4x2x2xi32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4, pattern_group = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<1x4x2x2xi8>) -> tensor<1x4x2x2xi32> {
  %w = nn.constant dense<1> : tensor<4x4x1x1xi8>
  // expected-error@+1 {{expects 'group' to be a power of two and 'kept' a smaller divisor of it, found 3 of 4}}
  %0 = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, pattern = #npu.pattern<kept = 3, group = 4>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, quant = #npu.quant<x_zero = 0, w_zero = 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x2x2xi32>
  return %0 : tensor<1x4x2x2xi32>
}
}
