// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions of the assign phase that do not fit their operation or machine.
//
// RUN: ashlar-opt --ashlar-npu-plan-memory --split-input-file --verify-diagnostics %s

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has no 'layout'}}
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<1x4x2x2xi8>, %w: tensor<4x2x1x1xi8>) -> tensor<1x4x2x2xi32> {
  // expected-error@+1 {{expects weights that are a constant or its encoding}}
  %0 = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 2 : i64, quant = #npu.quant<x_zero = 0, w_zero = 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x2x1x1xi8>) -> tensor<1x4x2x2xi32>
  return %0 : tensor<1x4x2x2xi32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<1x4x2x2xi8>, %b: tensor<4xi32>) -> tensor<1x4x2x2xi32> {
  %w = nn.constant dense<1> : tensor<4x4x1x1xi8>
  // expected-error@+1 {{expects a constant bias and scale}}
  %0 = npu.pe.conv(%x, %w bias %b) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, quant = #npu.quant<x_zero = 0, w_zero = 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>, tensor<4xi32>) -> tensor<1x4x2x2xi32>
  return %0 : tensor<1x4x2x2xi32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x7xf32> {
  // expected-error@+1 {{cannot work with axis 2 across partitions}}
  %0 = npu.vec.pool "max"(%x) {layout = #npu.layout<axis = 2>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, count_include_pad = false} : (tensor<1x4x8xf32>) -> tensor<1x4x7xf32>
  return %0 : tensor<1x4x7xf32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<1x1xf32> {
  // expected-error@+1 {{cannot work with axis 1 across partitions}}
  %0 = npu.vec.reduce "sum"(%x) {layout = #npu.layout<axis = 1>, axes = array<i64: 0, 1>, select_last = false} : (tensor<8x16xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<1x4x2x2xi8>) -> tensor<1x4x2x2xi32> {
  %w = nn.constant dense<1> : tensor<4x4x1x1xi8>
  // expected-error@+1 {{cannot keep its activations in the array}}
  %0 = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, stationary = #npu.stationary<activations>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, quant = #npu.quant<x_zero = 0, w_zero = 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x2x2xi32>
  return %0 : tensor<1x4x2x2xi32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{cannot be lane-folded, or has a reader that cannot read it so}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 1, lanes = 2, pitch = 4>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %0 : tensor<1x4x8xf32>
}
}

// -----

// 24 partitions are no whole number of blocks of 2 lanes with 8 channels.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 24, bytes_per_partition = 4096}, pe = {rows = 16, columns = 4, row_group_granularity = 8}, act = {lanes = 4}>} {
func.func @main(%x: tensor<1x4x2x8xi8>) -> tensor<1x4x2x8xi32> {
  %v = nn.constant dense<1> : tensor<12x4x1x1xi8>
  %s = nn.constant dense<1.0> : tensor<12xf32>
  %w = nn.constant dense<1> : tensor<4x12x1x1xi8>
  // expected-error@+1 {{has blocks of 8 channels in 2 lanes, which the machine's 24 partitions or the format of the result do not divide into}}
  %0 = npu.pe.conv(%x, %v scale %s) {layout = #npu.layout<axis = 1, lanes = 2, pitch = 8>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, quant = #npu.quant<x_zero = 0, w_zero = 0, y_zero = 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x8xi8>, tensor<12x4x1x1xi8>, tensor<12xf32>) -> tensor<1x12x2x8xi8>
  %1 = npu.pe.conv(%0, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, quant = #npu.quant<x_zero = 0, w_zero = 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x12x2x8xi8>, tensor<4x12x1x1xi8>) -> tensor<1x4x2x8xi32>
  return %1 : tensor<1x4x2x8xi32>
}
}

// -----

module attributes {ashlar.target = #ashlar.target<"small", xm_group = 32, sb = {partitions = 32, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{has blocks of 16 elements, 32 partitions share an exponent}}
  %0 = npu.vec.map "copy"(%x) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16xf32>) -> tensor<8x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  %1 = npu.vec.map "copy"(%0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
}

// -----

// Weights that are stored as bytes are bytes.
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<4x2xi8>) -> tensor<4x2xi32> {
  %w = nn.constant dense<[[-200, 1], [2, 55]]> : tensor<2x2xi16>
  // expected-error@+1 {{has weights from -200 to 55, which do not fit a byte with 'w_zero' 199}}
  %0 = npu.pe.matmul(%x, %w) {layout = #npu.layout<axis = 1>, quant = #npu.quant<x_zero = 0, w_zero = 199>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x2xi8>, tensor<2x2xi16>) -> tensor<4x2xi32>
  return %0 : tensor<4x2xi32>
}
}

// -----

!x = tensor<1x12x4x2x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
!w = tensor<4x12x1x1x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"a1">} {
func.func @main(%x: !x) -> tensor<1x4x4x2xf32> {
  %k = nn.constant dense<1.0> : tensor<4x12x1x1xf32>
  %w = bfp.encode %k weights : tensor<4x12x1x1xf32> -> !w
  // expected-error@+1 {{cannot read 2 rows of its operand apart: the operand is lane-folded, their exponent cells are shared, or the array is too small for them}}
  %0 = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, packed_rows = 2, rows_apart, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x4x2xf32>
  return %0 : tensor<1x4x4x2xf32>
}
}
