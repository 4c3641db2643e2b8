// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zero points belong to the meaning of a product: none can be omitted, be
// given to what has none, or leave the range of its type.
// RUN: ashlar-opt --split-input-file --verify-diagnostics %s

func.func @missing(%a: tensor<2x4xi8>, %b: tensor<4x3xi8>) {
  // expected-error@+1 {{expects 'quant', the zero points of 'tensor<2x4xi8>' and 'tensor<4x3xi8>'}}
  %0 = npu.pe.matmul(%a, %b) {function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi32>
  return
}

// -----

func.func @missing_x(%a: tensor<2x4xi8>, %b: tensor<4x3xi8>) {
  // expected-error@+1 {{expects 'x_zero' in 'quant' for 'tensor<2x4xi8>'}}
  %0 = npu.pe.matmul(%a, %b) {quant = #npu.quant<w_zero = 1>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi32>
  return
}

// -----

func.func @missing_w(%a: tensor<2x4xi8>, %b: tensor<4x3xui8>) {
  // expected-error@+1 {{expects 'w_zero' in 'quant' for 'tensor<4x3xui8>'}}
  %0 = npu.pe.matmul(%a, %b) {quant = #npu.quant<x_zero = 1>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xi8>, tensor<4x3xui8>) -> tensor<2x3xi32>
  return
}

// -----

func.func @missing_y(%x: tensor<1x2x3x3xui8>, %w: tensor<2x2x1x1xi8>, %s: tensor<2xf32>) {
  // expected-error@+1 {{expects 'y_zero' in 'quant' for 'tensor<1x2x3x3xui8>'}}
  %0 = npu.pe.conv(%x, %w scale %s) {quant = #npu.quant<x_zero = 0, w_zero = 0>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x2x3x3xui8>, tensor<2x2x1x1xi8>, tensor<2xf32>) -> tensor<1x2x3x3xui8>
  return
}

// -----

func.func @unscaled(%x: tensor<1x2x3x3xui8>, %w: tensor<2x2x1x1xi8>) {
  // expected-error@+1 {{expects a scale, no residual and copy or relu to make 'tensor<1x2x3x3xui8>'}}
  %0 = npu.pe.conv(%x, %w) {quant = #npu.quant<x_zero = 0, w_zero = 0, y_zero = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x2x3x3xui8>, tensor<2x2x1x1xi8>) -> tensor<1x2x3x3xui8>
  return
}

// -----

func.func @unrounded(%a: tensor<2x4xi8>, %b: tensor<4x3xi8>) {
  // expected-error@+1 {{has a 'y_zero' in 'quant', but 'y' is 'tensor<2x3xi32>'}}
  %0 = npu.pe.matmul(%a, %b) {quant = #npu.quant<x_zero = 1, w_zero = 1, y_zero = 1>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi32>
  return
}

// -----

func.func @range(%a: tensor<2x4xi8>, %b: tensor<4x3xi8>) {
  // expected-error@+1 {{expects 'x_zero' in [-128, 127], found 200}}
  %0 = npu.pe.matmul(%a, %b) {quant = #npu.quant<x_zero = 200, w_zero = 1>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi32>
  return
}

// -----

func.func @wide(%a: tensor<2x4xi16>, %b: tensor<4x3xi8>) {
  // expected-error@+1 {{has a 'x_zero' in 'quant', but 'x' is 'tensor<2x4xi16>'}}
  %0 = npu.pe.matmul(%a, %b) {quant = #npu.quant<x_zero = 1, w_zero = 1>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xi16>, tensor<4x3xi8>) -> tensor<2x3xi32>
  return
}

// -----

!x = tensor<2x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<16x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
func.func @encoded(%a: !x, %b: !w) {
  // expected-error@+1 {{has 'quant' #npu.quant<x_zero = 0>, but its factors are encoded}}
  %0 = npu.pe.matmul(%a, %b) {quant = #npu.quant<x_zero = 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<2x4xf32>
  return
}

// -----

func.func @step_missing(%a: tensor<4xui8>) {
  // expected-error@+1 {{requires attribute 'step'}}
  %0 = "npu.vec.requantise"(%a) {op = "relu", limited = false, a_scale = 0.5 : f32, a_zero = 3 : i64, b_scale = 1.0 : f32, b_zero = 0 : i64, zero_point = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4xui8>) -> tensor<4xui8>
  return
}

// -----

func.func @step_range(%a: tensor<4xui8>) {
  // expected-error@+1 {{expected a zero point of the type of a, found 300 for 'tensor<4xui8>'}}
  %0 = npu.vec.requantise "relu"(%a) {limited = false, a_scale = 0.5 : f32, a_zero = 300 : i64, b_scale = 1.0 : f32, b_zero = 0 : i64, step = 1.0 : f32, zero_point = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4xui8>) -> tensor<4xui8>
  return
}

// -----

func.func @limits(%a: tensor<4xui8>) {
  // expected-error@+1 {{expected no limits of a function of one operand}}
  %0 = npu.vec.requantise "relu"(%a) {limited = true, a_scale = 0.5 : f32, a_zero = 3 : i64, b_scale = 1.0 : f32, b_zero = 0 : i64, step = 1.0 : f32, zero_point = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4xui8>) -> tensor<4xui8>
  return
}
