// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Diagnostics of the simplify and fold passes.
// RUN: ashlar-opt %s -ashlar-nn-verify-simplified -ashlar-nn-verify-folded -split-input-file -verify-diagnostics
// RUN: not ashlar-opt %s -ashlar-set-target=machine=a1 -ashlar-nn-fold-width=mode=wide -split-input-file 2>&1 | FileCheck %s

// CHECK: error: fold mode 'wide', expected auto, off, stride, lane or both

func.func @batch_norm(%arg0: tensor<1x2xf32>, %s: tensor<2xf32>) -> tensor<1x2xf32> {
  // expected-error @below {{'nn.batch_norm' op is left after folding: scale, bias, mean and var must be constant}}
  %0 = nn.batch_norm %arg0, %s, %s, %s, %s {epsilon = 0.0 : f32} : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}

// -----

func.func @conv_transpose(%arg0: tensor<1x1x4xf32>, %w: tensor<1x1x1xf32>) -> tensor<1x1x2xf32> {
  // expected-error @below {{'nn.conv_transpose' op is left after folding: its pads cut more than its input holds}}
  %0 = nn.conv_transpose %arg0, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<1x1x1xf32>) -> tensor<1x1x2xf32>
  return %0 : tensor<1x1x2xf32>
}

// -----

func.func @empty(%arg0: tensor<4x0xf32>) -> tensor<4xf32> {
  // expected-error @below {{'nn.reduce' op reads an empty tensor: no engine runs it; leave it out, or give the tensor an extent above 0}}
  %0 = nn.reduce sum %arg0 {axes = array<i64: 1>, keepdims = false} : (tensor<4x0xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @conv_weights(%arg0: tensor<1x2x4xf32>, %w: tensor<2x1x1xf32>) -> tensor<1x2x4xf32> {
  // expected-error @below {{'nn.conv' op has 2 groups of weights that are computed at run time, expected a convolution per group}}
  %0 = nn.conv %arg0, %w {group = 2 : i64, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32>
  return %0 : tensor<1x2x4xf32>
}
