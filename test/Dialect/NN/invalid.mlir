// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One module per verifier message; functions carry the constraint's label.
//
// RUN: ashlar-opt %s --split-input-file --verify-diagnostics

func.func @conv_c1(%x: tensor<1x3xf32>, %w: tensor<4x3xf32>) {
  // expected-error @below {{input has rank 2, expected 3 to 5}}
  %0 = nn.conv %x, %w {dilations = array<i64>, pads = array<i64>, strides = array<i64>} : (tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @conv_c2(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @below {{stride 0 is not positive}}
  %0 = nn.conv %x, %w {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 0>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_c3(%x: tensor<1x3x8xf32>, %w: tensor<4x2x3xf32>) {
  // expected-error @below {{input has 3 channels, weights 4x2x3 expect 2 in 1 groups}}
  %0 = nn.conv %x, %w {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x3x8xf32>, tensor<4x2x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_c4(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{bias has shape 5, expected 4}}
  %0 = nn.conv %x, %w, %b {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<5xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_c5(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @below {{result has shape 1x4x7, expected 1x4x6}}
  %0 = nn.conv %x, %w {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x7xf32>
  return
}

// -----

func.func @matmul_c2(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{inner dimensions differ: 2x3 and 4x5}}
  %0 = nn.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @add_c1(%a: tensor<2x3xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{shapes 2x3 and 4 do not broadcast}}
  %0 = nn.add %a, %b : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<1x1x8xf32>) {
  // expected-error @below {{result has shape 1x1x5, expected 1x1x4 or one window more where the last is cut}}
  %0 = nn.max_pool %x {dilations = array<i64: 1>, kernel = array<i64: 2>, pads = array<i64: 0, 0>, strides = array<i64: 2>} : (tensor<1x1x8xf32>) -> tensor<1x1x5xf32>
  return
}

// -----

func.func @reduce_c1(%x: tensor<2x3xf32>) {
  // expected-error @below {{axes are not strictly increasing at 0}}
  %0 = nn.reduce sum %x {axes = array<i64: 1, 0>, keepdims = true} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @softmax_c1(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %0 = nn.softmax %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_c2(%x: tensor<1x3x8xf32>, %p: tensor<4xf32>) {
  // expected-error @below {{parameter has shape 4, expected 3}}
  %0 = nn.batch_norm %x, %p, %p, %p, %p {epsilon = 1.0 : f32} : (tensor<1x3x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x3x8xf32>
  return
}

// -----

func.func @interleave_c1(%a: tensor<3x4xf32>) {
  // expected-error @below {{1 operands, expected 2}}
  %0 = nn.interleave %a {factors = array<i64: 1, 2>} : (tensor<3x4xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @interleave_c1_factors(%a: tensor<3x4xf32>) {
  // expected-error @below {{factor 0 of dimension 1 is out of range}}
  %0 = nn.interleave %a {factors = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<3x0xf32>
  return
}

// -----

func.func @interleave_c1_rank(%a: tensor<3x4xf32>) {
  // expected-error @below {{factors have 1 entries, expected one for each dimension}}
  %0 = nn.interleave %a {factors = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @interleave_c1_shapes(%a: tensor<3x4xf32>, %b: tensor<3x5xf32>) {
  // expected-error @below {{operands 3x4 and 3x5 do not interleave}}
  %0 = nn.interleave %a, %b {factors = array<i64: 1, 2>} : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @interleave_c2(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>) {
  // expected-error @below {{expected 3x8}}
  %0 = nn.interleave %a, %b {factors = array<i64: 1, 2>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @concat_c2(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>) {
  // expected-error @below {{operands 2x3 and 3x3 do not concatenate along axis 1}}
  %0 = nn.concat %a, %b {axis = 1 : i64} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<5xf32>) {
  // expected-error @below {{slice from 3 by 1, 3 elements, leaves dimension 0 of size 5}}
  %0 = nn.slice %x {starts = array<i64: 3>, steps = array<i64: 1>} : (tensor<5xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @pad_c2(%x: tensor<5xf32>) {
  // expected-error @below {{interior padding needs mode constant, found edge}}
  %0 = nn.pad %x {high = array<i64: 0>, interior = array<i64: 1>, low = array<i64: 0>, mode = 2 : i32} : (tensor<5xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @pad_c4(%x: tensor<5xf32>) {
  // expected-error @below {{mode reflect cannot add 5 elements to the 5 of dimension 0}}
  %0 = nn.pad %x {high = array<i64: 0>, low = array<i64: 5>, mode = 1 : i32} : (tensor<5xf32>) -> tensor<10xf32>
  return
}

// -----

func.func @reshape_c1(%x: tensor<5xf32>) {
  // expected-error @below {{operand has 5 elements, result 6}}
  %0 = nn.reshape %x : (tensor<5xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<2x3xf32>) {
  // expected-error @below {{perm is not a permutation at 0}}
  %0 = nn.transpose %x {perm = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @broadcast_c1(%x: tensor<2xf32>) {
  // expected-error @below {{shapes 2 and 3 do not broadcast}}
  %0 = nn.broadcast %x : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @gather_c1(%x: tensor<2xf32>) {
  // expected-error @below {{index 2 is out of range for size 2}}
  %0 = nn.gather %x {axis = 0 : i64, indices = array<i64: 2>} : (tensor<2xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @take_c1(%x: tensor<9x4xf32>, %i: tensor<3xi64>) {
  // expected-error @below {{indices have 1 dimensions, expected 2}}
  %0 = nn.take %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return
}

// -----

func.func @take_c2(%x: tensor<9x4xf32>, %i: tensor<3x2xi64>) {
  // expected-error @below {{dimension 1 of the indices is 2, expected 1 or 4}}
  %0 = nn.take %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<3x2xi64>) -> tensor<3x4xf32>
  return
}

// -----

func.func @take_c3(%x: tensor<0x4xf32>, %i: tensor<3x1xi64>) {
  // expected-error @below {{dimension 0 is empty, but has 3 indices}}
  %0 = nn.take %x, %i {axis = 0 : i64} : (tensor<0x4xf32>, tensor<3x1xi64>) -> tensor<3x4xf32>
  return
}

// -----

func.func @tensor_elements(%x: tensor<1048576x1048577xf32>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of floats, integers or blocks with at most 2^40 elements in 64 dimensions, but got 'tensor<1048576x1048577xf32>'}}
  %0 = nn.unary relu %x : (tensor<1048576x1048577xf32>) -> tensor<1048576x1048577xf32>
  return
}

// -----

func.func @tensor_type(%x: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of floats, integers or blocks with at most 2^40 elements in 64 dimensions, but got 'tensor<2xcomplex<f32>>'}}
  %0 = nn.unary relu %x : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return
}

// -----

func.func @conv_c2_limit(%x: tensor<1x1x4xf32>, %w: tensor<1x1x1xf32>) {
  // expected-error@+1 {{window of 2147483648 is beyond the limit of 2147483647}}
  %0 = nn.conv %x, %w {strides = array<i64: 2147483648>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  return
}

// -----

func.func @pad_c3_limit(%x: tensor<2xf32>) {
  // expected-error@+1 {{padding of 4611686018427387904 is beyond the limit of 1099511627776}}
  %0 = nn.pad %x {low = array<i64: 4611686018427387904>, high = array<i64: -4611686018427387904>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @constant_c2() {
  // expected-error@+1 {{repeats one number 16777217 times, at most 16777216 are possible}}
  %0 = nn.constant dense<1.0> : tensor<16777217xf32>
  return
}
