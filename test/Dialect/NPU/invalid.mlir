// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One tiny module per verifier message; functions are named after constraints.
// RUN: ashlar-opt --split-input-file --verify-diagnostics %s

!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @pe_conv_c1_x(%x: tensor<1x4x2x2xf32>, %w: !w) {
  // expected-error@+1 {{operand 'x' must have a !bfp.block element type, found 'f32'}}
  %0 = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xf32>, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @pe_conv_c1_w(%x: !x, %w: tensor<4x4x1x1xf32>) {
  // expected-error@+1 {{operand 'w' must have a !bfp.block element type, found 'f32'}}
  %0 = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, tensor<4x4x1x1xf32>) -> tensor<1x4x2x2xf32>
  return
}

// -----

func.func @pe_conv_rank(%x: tensor<1x4xf32>, %w: tensor<4x4xf32>) {
  // expected-error@+1 {{expects spatial rank 1 to 3, found 0}}
  %0 = npu.pe.conv(%x, %w) {strides = array<i64>, pads = array<i64>, dilations = array<i64>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @pe_conv_attributes(%x: tensor<1x4x2x2xf32>, %w: tensor<4x4x1x1xf32>) {
  // expected-error@+1 {{expects 2 strides and dilations and 4 pads}}
  %0 = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x2x2xf32>
  return
}

// -----

func.func @pe_matmul_c1(%a: tensor<2x4xf32>, %b: tensor<4x3xf32>) {
  // expected-error@+1 {{operand 'x' must have a !bfp.block element type, found 'f32'}}
  %0 = npu.pe.matmul(%a, %b) {function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @vec_map_none() {
  // expected-error@+1 {{expects 1 or 2 inputs, found 0}}
  %0 = npu.vec.map "copy"() {alpha = 0.0 : f32, beta = 0.0 : f32} : () -> tensor<2xf32>
  return
}

// -----

func.func @vec_map_three(%x: tensor<2xf32>) {
  // expected-error@+1 {{expects 1 or 2 inputs, found 3}}
  %0 = npu.vec.map "add"(%x, %x, %x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_short(%x: tensor<2xf32>) {
  // expected-error@+1 {{has a malformed copy piece array<i64: 0, 1>}}
  %0 = npu.dma.move "slice"(%x) {pieces = [array<i64: 0, 1>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_counts(%x: tensor<2xf32>) {
  // expected-error@+1 {{has a malformed copy piece}}
  %0 = npu.dma.move "slice"(%x) {pieces = [array<i64: 0, 4611686018427387904, 1, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_negative(%x: tensor<2xf32>) {
  // expected-error@+1 {{has a malformed copy piece}}
  %0 = npu.dma.move "slice"(%x) {pieces = [array<i64: -1, 0, 1, 0, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_operand(%x: tensor<2xf32>) {
  // expected-error@+1 {{piece names operand 1, only 1 exist}}
  %0 = npu.dma.move "slice"(%x) {pieces = [array<i64: 1, 1, 1, 2, 0, 1, 0, 1, 0, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_ranks(%x: tensor<2xf32>) {
  // expected-error@+1 {{piece start lists must have ranks 1 and 1}}
  %0 = npu.dma.move "slice"(%x) {pieces = [array<i64: 0, 1, 1, 2, 0, 1, 0, 1, 0, 0, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_source_axis(%x: tensor<2xf32>) {
  // expected-error@+1 {{piece moves axis 1 to 0, the ranks are 1 and 1}}
  %0 = npu.dma.move "slice"(%x) {pieces = [array<i64: 0, 1, 1, 2, 1, 1, 0, 1, 0, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_result_axis(%x: tensor<2xf32>) {
  // expected-error@+1 {{piece moves axis 0 to 9, the ranks are 1 and 1}}
  %0 = npu.dma.move "slice"(%x) {pieces = [array<i64: 0, 1, 1, 2, 0, 1, 9, 1, 0, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @pe_transpose_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects one plain element type, found 'f32' and 'f16'}}
  %0 = npu.pe.transpose(%x) {source_axis = 0 : i64, piece = array<i64: 0, 0, 2, 0, 0, 0, 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xf32>) -> tensor<8x4xf16>
  return
}

// -----

func.func @vec_gather_c1(%x: tensor<2xf32>, %i: tensor<3xi64>) {
  // expected-error@+1 {{has axis 0 of an operand of rank 1, expected another axis beside it}}
  %0 = npu.vec.gather(%x, %i) {axis = 0 : i64} : (tensor<2xf32>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @pe_transpose_c2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{has a malformed copy piece array<i64: 0, 9>}}
  %0 = npu.pe.transpose(%x) {source_axis = 0 : i64, piece = array<i64: 0, 9>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @vec_gather_encoded(%x: tensor<2x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %i: tensor<3x1xi64>) {
  // expected-error@+1 {{gathers from an encoded operand}}
  %0 = npu.vec.gather(%x, %i) {axis = 0 : i64} : (tensor<2x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<3x1xi64>) -> tensor<3x16xf32>
  return
}
