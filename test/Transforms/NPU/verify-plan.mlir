// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exit invariants of the plan phase.
//
// RUN: ashlar-opt --ashlar-npu-verify-plan --split-input-file --verify-diagnostics %s

module {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+5 {{left the plan phase without 'npu.ring'}}
  // expected-error@+4 {{left the plan phase without 'npu.axis'}}
  // expected-error@+3 {{left the plan phase without 'npu.placement'}}
  // expected-error@+2 {{left the plan phase without 'npu.tile'}}
  // expected-error@+1 {{left the plan phase without 'npu.scratch'}}
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
module {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = nn.constant dense<0.5> : tensor<16x5xf32>
  %w = bfp.encode %c weights : tensor<16x5xf32> -> tensor<16x5x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
  %0 = npu.vec.map "relu"(%x) {npu.axis = 0 : i64, npu.placement = 0 : i64, npu.ring = 0 : i64, npu.tile = array<i64: 4>, npu.scratch = array<i64: 0, 0, 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}
