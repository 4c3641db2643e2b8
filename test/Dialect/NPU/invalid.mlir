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
  // expected-error@+1 {{has a malformed access pattern array<i64: 0, 1>}}
  %0 = npu.dma.move "slice"(%x) {patterns = [array<i64: 0, 1>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_counts(%x: tensor<2xf32>) {
  // expected-error@+1 {{has a malformed access pattern}}
  %0 = npu.dma.move "slice"(%x) {patterns = [array<i64: 0, 4611686018427387904, 1, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_negative(%x: tensor<2xf32>) {
  // expected-error@+1 {{has a malformed access pattern}}
  %0 = npu.dma.move "slice"(%x) {patterns = [array<i64: -1, 0, 1, 0, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_operand(%x: tensor<2xf32>) {
  // expected-error@+1 {{pattern names operand 1, only 1 exist}}
  %0 = npu.dma.move "slice"(%x) {patterns = [array<i64: 1, 1, 1, 2, 0, 1, 0, 1, 0, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_ranks(%x: tensor<2xf32>) {
  // expected-error@+1 {{pattern start lists must have ranks 1 and 1}}
  %0 = npu.dma.move "slice"(%x) {patterns = [array<i64: 0, 1, 1, 2, 0, 1, 0, 1, 0, 0, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_source_axis(%x: tensor<2xf32>) {
  // expected-error@+1 {{pattern moves axis 1 to 0, the ranks are 1 and 1}}
  %0 = npu.dma.move "slice"(%x) {patterns = [array<i64: 0, 1, 1, 2, 1, 1, 0, 1, 0, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_result_axis(%x: tensor<2xf32>) {
  // expected-error@+1 {{pattern moves axis 0 to 9, the ranks are 1 and 1}}
  %0 = npu.dma.move "slice"(%x) {patterns = [array<i64: 0, 1, 1, 2, 0, 1, 9, 1, 0, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @pe_transpose_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects one plain element type, found 'f32' and 'f16'}}
  %0 = npu.pe.transpose(%x) {source_axis = 0 : i64, pattern = array<i64: 0, 0, 2, 0, 0, 0, 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xf32>) -> tensor<8x4xf16>
  return
}

// -----

func.func @vec_gather_c1(%x: tensor<2xf32>, %i: tensor<3xi64>) {
  // expected-error@+1 {{has axis 0 of an operand of rank 1, expected another axis next to it}}
  %0 = npu.vec.gather(%x, %i) {axis = 0 : i64} : (tensor<2xf32>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @pe_transpose_c5(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{moves byte planes and applies function 'relu', expected 'copy'}}
  %0 = npu.pe.transpose(%x) {source_axis = 0 : i64, byte_planes, pattern = array<i64: 0, 2, 2, 8, 1, 1, 0, 1, 4, 0, 1, 1, 1, 0, 0, 0, 0>, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @pe_transpose_c6(%x: tensor<4x8xi8>) {
  // expected-error@+1 {{multiplies elements of 'i8' as floats, expected f16, bf16 or f32}}
  %0 = npu.pe.transpose(%x) {source_axis = 0 : i64, float_products, pattern = array<i64: 0, 2, 2, 8, 1, 1, 0, 1, 4, 0, 1, 1, 1, 0, 0, 0, 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xi8>) -> tensor<8x4xi8>
  return
}

// -----

func.func @pe_transpose_c2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{has a malformed access pattern array<i64: 0, 9>}}
  %0 = npu.pe.transpose(%x) {source_axis = 0 : i64, pattern = array<i64: 0, 9>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @vec_gather_encoded(%x: tensor<2x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %i: tensor<3x1xi64>) {
  // expected-error@+1 {{gathers from an encoded operand}}
  %0 = npu.vec.gather(%x, %i) {axis = 0 : i64} : (tensor<2x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<3x1xi64>) -> tensor<3x16xf32>
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @pe_conv_c1_axis(%x: !x, %w: !w) {
  // expected-error@+1 {{operand 'x' must have blocks along axis 1, found 2}}
  %0 = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

func.func @pe_conv_c3(%x: tensor<1x4x2x2xi8>, %w: tensor<4x4x1x1xi8>) {
  // expected-error@+1 {{result has shape 1x4x2x3, expected 1x4x2x2}}
  %0 = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x2x3xi32>
  return
}

// -----

func.func @pe_conv_c3_group(%x: tensor<1x4x2x2xi8>, %w: tensor<4x4x1x1xi8>) {
  // expected-error@+1 {{group 0 does not divide the 4 output channels}}
  %0 = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 0 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x2x2xi32>
  return
}

// -----

func.func @pe_conv_c3_dilation(%x: tensor<1x4x2x2xi8>, %w: tensor<4x4x1x1xi8>) {
  // expected-error@+1 {{window of 4294967296 is beyond the limit of 2147483647}}
  %0 = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 4294967296>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x2x2xi32>
  return
}

// -----

func.func @pe_conv_c4(%x: tensor<1x4x2x2xi8>, %w: tensor<4x4x1x1xi8>, %b: tensor<3xi32>) {
  // expected-error@+1 {{expects bias as 4 elements of f32 or i32, found 'tensor<3xi32>'}}
  %0 = npu.pe.conv(%x, %w bias %b) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>, tensor<3xi32>) -> tensor<1x4x2x2xi32>
  return
}

// -----

func.func @pe_conv_c4_residual(%x: tensor<1x4x2x2xi8>, %w: tensor<4x4x1x1xi8>, %r: tensor<4x2x2xf32>) {
  // expected-error@+1 {{expects a residual of the result's shape, found 'tensor<4x2x2xf32>'}}
  %0 = npu.pe.conv(%x, %w residual %r) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>, tensor<4x2x2xf32>) -> tensor<1x4x2x2xf32>
  return
}

// -----

func.func @pe_conv_c5(%x: tensor<1x4x2x2xi8>, %w: tensor<4x4x1x1xi8>) {
  // expected-error@+1 {{has the unknown function 'rectify'}}
  %0 = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "rectify", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>) -> tensor<1x4x2x2xi32>
  return
}

// -----

func.func @pe_conv_c10(%x: tensor<1x4x2x2xi8>, %w: tensor<4x4x1x1xi8>, %s: tensor<4xf32>) {
  // expected-error@+1 {{expects leakyRelu of encoded factors with slopes of f32, found 'leakyRelu' of 'tensor<1x4x2x2xi8>'}}
  %0 = npu.pe.conv(%x, %w slope %s) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "leakyRelu", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xi8>, tensor<4xf32>) -> tensor<1x4x2x2xi32>
  return
}

// -----

!x = tensor<1x4x1x1x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @tcu_conv_c1(%x: !x, %w: !w) {
  // expected-error@+1 {{expects spatial rank 1 to 3, found 4}}
  %0 = npu.tcu.conv(%x, %w) {strides = array<i64: 1, 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x1x1x2x2xf32>
  return
}

// -----

!x = tensor<1x4x1x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x2x1x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @tcu_conv_c7(%x: !x, %w: !w) {
  // expected-error@+1 {{has 2 groups in three spatial dimensions, expected 1 and no scatter}}
  %0 = npu.tcu.conv(%x, %w) {strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1>, group = 2 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x1x2x2xf32>
  return
}

// -----

func.func @tcu_conv_c1_integers(%x: tensor<1x4x2x2xi8>, %w: tensor<4x4x1x1xui8>) {
  // expected-error@+1 {{expects encoded factors or integers of 8 bits with signed weights, found 'tensor<1x4x2x2xi8>' and 'tensor<4x4x1x1xui8>'}}
  %0 = npu.tcu.conv(%x, %w) {quant = #npu.quant<x_zero = 0, w_zero = 0>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xi8>, tensor<4x4x1x1xui8>) -> tensor<1x4x2x2xi32>
  return
}

// -----

func.func @tcu_conv_c2_integers(%x: tensor<1x4x2x2xui8>, %w: tensor<4x4x1x1xi8>) {
  // expected-error@+1 {{expects 'quant', the zero points of}}
  %0 = npu.tcu.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xui8>, tensor<4x4x1x1xi8>) -> tensor<1x4x2x2xi32>
  return
}

// -----

func.func @tcu_conv_c4_zero(%x: tensor<1x4x2x2xui8>, %w: tensor<4x4x1x1xi8>) {
  // expected-error@+1 {{expects factors without zero points, found #npu.quant<x_zero = 3, w_zero = 0>}}
  %0 = npu.tcu.conv(%x, %w) {quant = #npu.quant<x_zero = 3, w_zero = 0>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xui8>, tensor<4x4x1x1xi8>) -> tensor<1x4x2x2xi32>
  return
}

// -----

func.func @tcu_conv_c4_scatter(%x: tensor<1x4x2x2xui8>, %w: tensor<4x4x1x1xi8>) {
  // expected-error@+1 {{has integers in scatter mode}}
  %0 = npu.tcu.conv(%x, %w) {quant = #npu.quant<x_zero = 0, w_zero = 0>, scatter = #npu.scatter<variant = 3, algorithm = "p2", metric = "nnz", threshold = 300, time = "auto", halo = "overlap", data = <source = 2, density = [500]>>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x2x2xui8>, tensor<4x4x1x1xi8>) -> tensor<1x4x2x2xi32>
  return
}

// -----

func.func @empty(%x: tensor<2x0xf32>) {
  // expected-error@+1 {{reads the empty 'tensor<2x0xf32>'}}
  %0 = npu.vec.reduce "sum"(%x) {axes = array<i64: 1>, select_last = false} : (tensor<2x0xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @pe_matmul_c2(%a: tensor<2x4xi8>, %b: tensor<3x4xi8>) {
  // expected-error@+1 {{inner dimensions differ: 2x4 and 3x4}}
  %0 = npu.pe.matmul(%a, %b) {function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
  return
}

// -----

func.func @vec_map_c1(%x: tensor<2xf32>) {
  // expected-error@+1 {{has the unknown function 'add' of 1 operands}}
  %0 = npu.vec.map "add"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @vec_map_c3(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expects a scale and a bias of f32 that vary along one axis, found 'tensor<2x3xf32>'}}
  %0 = npu.vec.map "copy"(%x scale %x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @vec_map_c2(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{shapes 2 and 3 do not broadcast}}
  %0 = npu.vec.map "add"(%x, %y) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @vec_pool_c1(%x: tensor<1x1x4xf32>) {
  // expected-error@+1 {{has the unknown kind 'least'}}
  %0 = npu.vec.pool "least"(%x) {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, count_include_pad = false} : (tensor<1x1x4xf32>) -> tensor<1x1x3xf32>
  return
}

// -----

func.func @vec_pool_c2(%x: tensor<1x1x4xf32>) {
  // expected-error@+1 {{has a window of 0 axes over an operand of rank 3}}
  %0 = npu.vec.pool "max"(%x) {kernel = array<i64>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, count_include_pad = false} : (tensor<1x1x4xf32>) -> tensor<1x1x3xf32>
  return
}

// -----

func.func @vec_pool_c2_stride(%x: tensor<1x1x4xf32>) {
  // expected-error@+1 {{stride 0 is not positive}}
  %0 = npu.vec.pool "max"(%x) {kernel = array<i64: 2>, strides = array<i64: 0>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, count_include_pad = false} : (tensor<1x1x4xf32>) -> tensor<1x1x3xf32>
  return
}

// -----

func.func @vec_pool_c3(%x: tensor<1x1x4xf32>) {
  // expected-error@+1 {{result has shape 1x1x9, expected windows of 3}}
  %0 = npu.vec.pool "max"(%x) {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, count_include_pad = false} : (tensor<1x1x4xf32>) -> tensor<1x1x9xf32>
  return
}

// -----

func.func @vec_reduce_c1(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{expects one axis for argmax, found 2}}
  %0 = npu.vec.reduce "argmax"(%x) {axes = array<i64: 0, 1>, select_last = false} : (tensor<2x4xf32>) -> tensor<1x1xi64>
  return
}

// -----

func.func @vec_reduce_c2(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{axis 2 is out of range for rank 2}}
  %0 = npu.vec.reduce "sum"(%x) {axes = array<i64: 2>, select_last = false} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @vec_reduce_c3(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{result has shape 2x4, expected 2x1}}
  %0 = npu.vec.reduce "sum"(%x) {axes = array<i64: 1>, select_last = false} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @vec_softmax_c1(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{has axis 2 of an operand of rank 2}}
  %0 = npu.vec.softmax(%x) {axis = 2 : i64, log = false} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @vec_softmax_c2(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{result has shape 4x2, expected 2x4}}
  %0 = npu.vec.softmax(%x) {axis = 1 : i64, log = false} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @vec_gather_c2(%x: tensor<2x16xf32>, %i: tensor<3x1xf32>) {
  // expected-error@+1 {{expects indices of i32 or i64, found 'f32'}}
  %0 = npu.vec.gather(%x, %i) {axis = 0 : i64} : (tensor<2x16xf32>, tensor<3x1xf32>) -> tensor<3x16xf32>
  return
}

// -----

func.func @vec_gather_c2_type(%x: tensor<2x16xf32>, %i: tensor<3x1xi64>) {
  // expected-error@+1 {{gathers 'f32' as 'f16'}}
  %0 = npu.vec.gather(%x, %i) {axis = 0 : i64} : (tensor<2x16xf32>, tensor<3x1xi64>) -> tensor<3x16xf16>
  return
}

// -----

func.func @dma_move_c1() {
  // expected-error@+1 {{expects at least one operand}}
  %0 = npu.dma.move "concat"() {patterns = []} : () -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_c1_types(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error@+1 {{moves elements of 'f32' and of 'f16'}}
  %0 = npu.dma.move "concat"(%x, %y) {patterns = []} : (tensor<2xf32>, tensor<2xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @dma_move_c3_outside(%x: tensor<2xf32>) {
  // expected-error@+1 {{pattern writes indices 1 to 2 of axis 0, which has 2}}
  %0 = npu.dma.move "slice"(%x) {patterns = [array<i64: 0, 1, 1, 2, 0, 1, 0, 1, 0, 1>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_c3_step(%x: tensor<2xf32>) {
  // expected-error@+1 {{pattern has a loop of 2 iterations with steps 1 and 0}}
  %0 = npu.dma.move "slice"(%x) {patterns = [array<i64: 0, 1, 1, 2, 0, 1, 0, 0, 0, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_c3_far(%x: tensor<2xf32>) {
  // expected-error@+1 {{pattern starts beyond index 1099511627776}}
  %0 = npu.dma.move "slice"(%x) {patterns = [array<i64: 0, 1, 1, 2, 0, 1, 0, 1, 4611686018427387904, 0>]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dma_move_c4(%x: tensor<2xf32>) {
  // expected-error@+1 {{without patterns expects one operand of as many elements as the result}}
  %0 = npu.dma.move "reshape"(%x) {patterns = []} : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @dma_move_c5(%x: tensor<16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>) {
  // expected-error@+1 {{fills between elements of 'tensor<32x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>'}}
  %0 = npu.dma.move "pad"(%x) {patterns = [], fill = 0.0 : f64} : (tensor<16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>) -> tensor<32x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
  return
}

// -----

func.func @pe_transpose_c4(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{pattern array<i64: 0, 2, 2, 4, 0, 1, 1, 1, 8, 1, 1, 0, 1, 0, 1, 0, 0> reads beyond the operand, 'tensor<4x8xf32>'}}
  %0 = npu.pe.transpose(%x) {source_axis = 1 : i64, pattern = array<i64: 0, 2, 2, 4, 0, 1, 1, 1, 8, 1, 1, 0, 1, 0, 1, 0, 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @pe_transpose_c3(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{has source axis 2 of an operand of rank 2}}
  %0 = npu.pe.transpose(%x) {source_axis = 2 : i64, pattern = array<i64: 0, 2, 2, 4, 0, 1, 1, 1, 8, 1, 1, 0, 1, 0, 0, 0, 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}
