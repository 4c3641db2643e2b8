// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One module per exit invariant of the quantise phase.
// RUN: ashlar-opt --ashlar-bfp-verify-plan --split-input-file --verify-diagnostics %s

// expected-error@+1 {{expected one function 'main', found 0 functions}}
module {
}

// -----

// expected-error@+1 {{expected one function 'main', found 'other'}}
func.func @other() {
  return
}

// -----

// expected-error@+2 {{expected 'nn.name' on argument 0}}
// expected-error@+1 {{expected a plain type of result 0, found 'tensor<4x!bfp.block}}
func.func @main(%x: tensor<4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>)
    -> (tensor<4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>> {nn.name = "y"}) {
  return %x : tensor<4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
}

// -----

func.func @main(%x: tensor<1x2xi32> {nn.name = "x"}, %w: tensor<2x2xi32> {nn.name = "w"}) -> (tensor<1x2xi32> {nn.name = "y"}) {
  // expected-error@unknown {{unsupported: a product of elements 'i32' and 'i32' has no number format; expected floating point, or integers of 8 or 16 bits and constant weights of an integer convolution}}
  %0 = nn.matmul %x, %w : (tensor<1x2xi32>, tensor<2x2xi32>) -> tensor<1x2xi32> loc("MatMulInteger_0")
  return %0 : tensor<1x2xi32>
}

// -----

func.func @main(%x: tensor<1x2xf32> {nn.name = "x"}, %w: tensor<2x2xf32> {nn.name = "w"}) -> (tensor<1x2xf32> {nn.name = "y"}) {
  // expected-error@+1 {{expected encoded factors, found 'tensor<1x2xf32>' and 'tensor<2x2xf32>'}}
  %0 = bfp.matmul %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}

// -----

!a = !bfp.block<mantissa = 16, block = 16, range = 15, axis = 1>
!b = !bfp.block<mantissa = 16, block = 16, range = 15, axis = 0>
func.func @main(%x: tensor<1x8xf32> {nn.name = "x"}, %w: tensor<8x2xf32> {nn.name = "w"}) -> (tensor<1x2xf32> {nn.name = "y"}) {
  %0 = bfp.encode %x : tensor<1x8xf32> -> tensor<1x8x!a>
  %1 = bfp.encode %w : tensor<8x2xf32> -> tensor<8x2x!b>
  // expected-error@+1 {{expected at most 63 accumulator bits, found 64 for 8 products}}
  %2 = bfp.matmul %0, %1 : (tensor<1x8x!a>, tensor<8x2x!b>) -> tensor<1x2xf32>
  return %2 : tensor<1x2xf32>
}

// -----

!b = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>
func.func @main(%w: tensor<8x2xf32> {nn.name = "w"}) -> (tensor<8x2xf32> {nn.name = "y"}) {
  // expected-error@+1 {{expected weights encoded from a constant}}
  %0 = bfp.encode %w weights : tensor<8x2xf32> -> tensor<8x2x!b>
  %1 = bfp.decode %0 : tensor<8x2x!b> -> tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// -----

!b = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>
func.func @main() -> (tensor<8x2xf32> {nn.name = "y"}) {
  %w = nn.constant dense<1.0> : tensor<8x2xf32>
  // expected-error@+1 {{expected weights read as second factor only}}
  %0 = bfp.encode %w weights : tensor<8x2xf32> -> tensor<8x2x!b>
  // expected-note@+1 {{read here}}
  %1 = bfp.decode %0 : tensor<8x2x!b> -> tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// -----

!b = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>
func.func @main(%x: tensor<1x32xf32> {nn.name = "x"}) -> (tensor<32xf32> {nn.name = "y"}) {
  %0 = bfp.encode %x : tensor<1x32xf32> -> tensor<1x32x!b>
  // expected-error@+1 {{expected movement to keep the storage}}
  %1 = nn.reshape %0 : (tensor<1x32x!b>) -> tensor<32xf32>
  return %1 : tensor<32xf32>
}

// -----

!a = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>
func.func @main(%x: tensor<1x32xf32> {nn.name = "x"}) -> (tensor<4x8xf32> {nn.name = "y"}) {
  %0 = bfp.encode %x : tensor<1x32xf32> -> tensor<1x32x!a>
  // expected-error@+1 {{expected movement to keep blocks whole}}
  %1 = nn.reshape %0 : (tensor<1x32x!a>) -> tensor<4x8x!a>
  %2 = bfp.decode %1 : tensor<4x8x!a> -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

!a = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>
func.func @main(%x: tensor<1x8xf32> {nn.name = "x"}) -> (tensor<1x16xf32> {nn.name = "y"}) {
  %0 = bfp.encode %x : tensor<1x8xf32> -> tensor<1x8x!a>
  // expected-error@+1 {{expected movement to keep blocks whole}}
  %1 = nn.concat %0, %0 {axis = 1 : i64} : (tensor<1x8x!a>, tensor<1x8x!a>) -> tensor<1x16x!a>
  %2 = bfp.decode %1 : tensor<1x16x!a> -> tensor<1x16xf32>
  return %2 : tensor<1x16xf32>
}

// -----

!a = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>
func.func @main(%x: tensor<1x32xf32> {nn.name = "x"}) -> (tensor<1x16xf32> {nn.name = "y"}) {
  %0 = bfp.encode %x : tensor<1x32xf32> -> tensor<1x32x!a>
  // expected-error@+1 {{expected movement to keep blocks whole}}
  %1 = nn.slice %0 {starts = array<i64: 0, 8>, steps = array<i64: 1, 1>} : (tensor<1x32x!a>) -> tensor<1x16x!a>
  %2 = bfp.decode %1 : tensor<1x16x!a> -> tensor<1x16xf32>
  return %2 : tensor<1x16xf32>
}

// -----

!a = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 4>
func.func @main(%x: tensor<1x32xf32> {nn.name = "x"}) -> (tensor<1x32xf32> {nn.name = "y"}) {
  // expected-error@+1 {{result #0 must be statically shaped tensor of floats, integers or blocks}}
  %0 = nn.unary relu %x : (tensor<1x32xf32>) -> tensor<1x32x!a>
  %1 = nn.unary relu %0 : (tensor<1x32x!a>) -> tensor<1x32xf32>
  return %1 : tensor<1x32xf32>
}

// -----

// plan_c6: scale policies are for what encodes.
module {
  func.func @main(%x: tensor<1x16xf32> {nn.name = "x"}) -> (tensor<1x16xf32> {nn.name = "y"}) {
    %0 = bfp.encode %x {ashlar.scale = #ashlar.scale<"fixed(e=1)">} : tensor<1x16xf32> -> tensor<1x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
    // expected-error @+1 {{expected a scale policy on what encodes}}
    %1 = bfp.decode %0 {ashlar.scale = #ashlar.scale<"fixed(e=1)">} : tensor<1x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>> -> tensor<1x16xf32>
    return %1 : tensor<1x16xf32>
  }
}
