// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planning attributes that no pass writes: one tiny module per message.
// RUN: ashlar-opt --split-input-file --verify-diagnostics %s

func.func @unknown(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.colour' is none of the npu dialect}}
  %0 = npu.vec.map "relu"(%x) {npu.colour = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @type(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.axis' must be an i64, found "1"}}
  %0 = npu.vec.map "relu"(%x) {npu.axis = "1", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @width(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.ring' must be an i64, found 1 : i128}}
  %0 = npu.vec.map "relu"(%x) {npu.ring = 1 : i128, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @range(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.placement' must be in [-1, 1099511627776], found -2}}
  %0 = npu.vec.map "relu"(%x) {npu.placement = -2 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @count(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.scratch' must have 3 numbers, found 2}}
  %0 = npu.vec.map "relu"(%x) {npu.scratch = array<i64: 0, 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @place() {
  // expected-error@+1 {{attribute 'npu.axis' stands only on operations of the npu dialect}}
  %0 = nn.constant dense<0.0> : tensor<2xf32> {npu.axis = 0 : i64}
  return
}

// -----

// expected-error@+1 {{attribute 'npu.machine' must be a string, found 1 : i64}}
module attributes {npu.machine = 1 : i64} {
}

// -----

func.func @axis_rank(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.axis' must be below the rank 2 of the result, found 2}}
  %0 = npu.vec.map "relu"(%x) {npu.axis = 2 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @axis_block(%x: tensor<16x16xf32>) {
  // expected-error@+1 {{attribute 'npu.axis' must be the block axis 1, found 0}}
  %0 = npu.vec.map "copy"(%x) {npu.axis = 0 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<16x16xf32>) -> tensor<16x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return
}

// -----

func.func @axis_matmul(%a: tensor<2x4xi8>, %b: tensor<4x3xi8>) {
  // expected-error@+1 {{attribute 'npu.axis' must be the last axis 1, found 0}}
  %0 = npu.pe.matmul(%a, %b) {npu.axis = 0 : i64, quant = #npu.quant<x_zero = 0, w_zero = 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi32>
  return
}

// -----

func.func @axis_gather(%x: tensor<2x16xf32>, %i: tensor<3x1xi64>) {
  // expected-error@+1 {{attribute 'npu.axis' must be another axis than that of the indices, found 0}}
  %0 = npu.vec.gather(%x, %i) {npu.axis = 0 : i64, axis = 0 : i64} : (tensor<2x16xf32>, tensor<3x1xi64>) -> tensor<3x16xf32>
  return
}

// -----

func.func @work_axis(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.work_axis' must be absent but on pools, reductions and softmax, found 0}}
  %0 = npu.vec.map "relu"(%x) {npu.work_axis = 0 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @tile(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.tile' must be the extents of a part of 'tensor<2x4xf32>', found array<i64: 2, 0>}}
  %0 = npu.vec.map "relu"(%x) {npu.tile = array<i64: 2, 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @lanes(%x: tensor<1x4x8xf32>) {
  // expected-error@+1 {{attribute 'npu.lanes' must have a pitch of at least the channels of a map, found array<i64: 2, 3>}}
  %0 = npu.vec.map "relu"(%x) {npu.lanes = array<i64: 2, 3>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return
}

// -----

func.func @map_form(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{attribute 'npu.map_form' must have cells of channels and bytes in a map of rank 3 or 4}}
  %0 = npu.vec.map "relu"(%x) {npu.map_form = array<i64: 1, 0, 1, 64, 64, 10>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @stationary(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.activations_stationary' stands only on products of the dense array}}
  %0 = npu.vec.map "relu"(%x) {npu.activations_stationary, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @scatter(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.scatter' stands only on npu.tcu.conv}}
  %0 = npu.vec.map "relu"(%x) {npu.scatter = {}, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @alias(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.alias' stands only on npu.dma.move}}
  %0 = npu.vec.map "relu"(%x) {npu.alias, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// Decisions are judged before the operation's own attributes.
func.func @incomplete(%x: tensor<2x16xf32>, %i: tensor<3x1xi64>) {
  // expected-error@+1 {{requires attribute 'axis'}}
  %0 = "npu.vec.gather"(%x, %i) {npu.axis = 1 : i64} : (tensor<2x16xf32>, tensor<3x1xi64>) -> tensor<3x16xf32>
  return
}
