// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One tiny module per verifier message; functions are named after constraints.
// RUN: ashlar-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{expected 3 to 16 mantissa bits, found 2}}
func.func private @block_mantissa(tensor<4x!bfp.block<mantissa = 2, block = 16, range = 7, axis = 0>>)

// -----

// expected-error@+1 {{expected 4 to 9 mantissa bits of which the sign is not stored, found 10}}
func.func private @block_unsigned(tensor<4x!bfp.block<mantissa = 10, block = 16, range = 7, axis = 0, unsigned>>)

// -----

// expected-error@+1 {{expected 'unsigned' or 'rows'}}
func.func private @block_keyword(tensor<4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0, signed>>)

// -----

// expected-error@+1 {{expected at least 2 rows, found 1}}
func.func private @block_rows_one(tensor<4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0, rows = 1>>)

// -----

// expected-error@+1 {{expected at least 2 rows, found 0}}
func.func private @block_rows_zero(tensor<4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0, rows = 0>>)

// -----

// expected-error@+1 {{expected rows that share exponents only of weights with signs, with a block axis of 0 or 1 and blocks that are not the whole tensor, found 4 rows}}
func.func private @block_rows_unsigned(tensor<4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0, unsigned, rows = 4>>)

// -----

// expected-error@+1 {{expected rows that share exponents only of weights with signs, with a block axis of 0 or 1 and blocks that are not the whole tensor, found 4 rows}}
func.func private @block_rows_tensor(tensor<4x4x!bfp.block<mantissa = 8, block = tensor, range = 7, axis = 0, rows = 4>>)

// -----

// expected-error@+1 {{expected rows that share exponents only of weights with signs, with a block axis of 0 or 1 and blocks that are not the whole tensor, found 4 rows}}
func.func private @block_rows_axis(tensor<4x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2, rows = 4>>)

// -----

func.func @encode_c3(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{expected rows that share exponents only of weights, found '!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0, rows = 4>'}}
  %0 = bfp.encode %x : tensor<4x4xf32> -> tensor<4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0, rows = 4>>
  return
}

// -----

// expected-error@+1 {{expected a block of 8, 16, 32, 64, 'axis' or 'tensor', found 24}}
func.func private @block_length(tensor<4x!bfp.block<mantissa = 8, block = 24, range = 7, axis = 0>>)

// -----

// expected-error@+1 {{expected a positive block length, 'axis' or 'tensor', found 0}}
func.func private @block_length_zero(tensor<4x!bfp.block<mantissa = 8, block = 0, range = 7, axis = 0>>)

// -----

// expected-error@+1 {{expected a range of 0, 1, 3, 7 or 15 octaves, found 5}}
func.func private @block_range(tensor<4x!bfp.block<mantissa = 8, block = 16, range = 5, axis = 0>>)

// -----

// expected-error@+1 {{expected a block axis of at least 0, found -1}}
func.func private @block_axis(tensor<4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = -1>>)

// -----

func.func @encode_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected operand and result of one shape, found 'tensor<4xf32>' and 'tensor<5x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>'}}
  %0 = bfp.encode %x : tensor<4xf32> -> tensor<5x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
  return
}

// -----

func.func @encode_c2(%x: tensor<4xf32>) {
  // expected-error@+1 {{result #0 must be statically shaped tensor of Elements that share an exponent per block values that a memory can hold}}
  %0 = bfp.encode %x : tensor<4xf32> -> tensor<4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return
}

// -----

func.func @decode_c1(%x: tensor<4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>) {
  // expected-error@+1 {{expected operand and result of one shape}}
  %0 = bfp.decode %x : tensor<4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>> -> tensor<5xf32>
  return
}

// -----

func.func @decode_c2(%x: tensor<4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 3>>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of Elements that share an exponent per block values that a memory can hold}}
  %0 = bfp.decode %x : tensor<4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 3>> -> tensor<4xf32>
  return
}

// -----

func.func @conv_c1(%x: tensor<1x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error@+1 {{expected x, w and result of one rank from 3 to 5, found 2, 2 and 2}}
  %0 = bfp.conv %x, %w {strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<1x8xf32>
  return
}

// -----

func.func @conv_c2_count(%x: tensor<1x4x8xf32>, %w: tensor<8x4x1xf32>) {
  // expected-error@+1 {{expected 2 pads, found 1}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x4x8xf32>, tensor<8x4x1xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

func.func @conv_c2_sign(%x: tensor<1x4x8xf32>, %w: tensor<8x4x1xf32>) {
  // expected-error@+1 {{expected strides of at least 1, found 0}}
  %0 = bfp.conv %x, %w {strides = array<i64: 0>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x8xf32>, tensor<8x4x1xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

func.func @conv_c3_group(%x: tensor<1x4x8xf32>, %w: tensor<8x4x1xf32>) {
  // expected-error@+1 {{expected a group of at least 1, found 0}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 0 : i64} : (tensor<1x4x8xf32>, tensor<8x4x1xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

func.func @conv_c3(%x: tensor<1x4x8xf32>, %w: tensor<8x3x1xf32>) {
  // expected-error@+1 {{expected w of [multiple of 1, 4 / 1, ...], found 'tensor<8x3x1xf32>'}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x8xf32>, tensor<8x3x1xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

func.func @conv_c4_channels(%x: tensor<1x4x8xf32>, %w: tensor<8x4x1xf32>) {
  // expected-error@+1 {{expected a result of [1, 8, ...], found 'tensor<1x9x8xf32>'}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x8xf32>, tensor<8x4x1xf32>) -> tensor<1x9x8xf32>
  return
}

// -----

func.func @conv_c4_extent(%x: tensor<1x4x8xf32>, %w: tensor<8x4x3xf32>) {
  // expected-error@+1 {{expected a result extent of 6 in spatial dimension 0, found 8}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x8xf32>, tensor<8x4x3xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

!act = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>
func.func @conv_c5_mixed(%x: tensor<1x4x8x!act>, %w: tensor<8x4x1xf32>) {
  // expected-error@+1 {{expected both factors encoded or both floats}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x8x!act>, tensor<8x4x1xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

!act = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>
!out = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>
func.func @conv_c5_axis(%x: tensor<1x4x8x!act>, %w: tensor<8x4x1x!out>) {
  // expected-error@+1 {{expected the second factor encoded along dimension 1, found 0}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x8x!act>, tensor<8x4x1x!out>) -> tensor<1x8x8xf32>
  return
}

// -----

func.func @conv_c6(%x: tensor<1x4x8xf32>, %w: tensor<8x4x1xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{expected bias of shape [8], found 'tensor<4xf32>'}}
  %0 = bfp.conv %x, %w bias(%b) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x8xf32>, tensor<8x4x1xf32>, tensor<4xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

func.func @conv_c7(%x: tensor<1x4x8xf32>, %w: tensor<8x4x1xf32>, %r: tensor<1x8x1xf32>) {
  // expected-error@+1 {{expected a residual of the result's shape, found 'tensor<1x8x1xf32>' for 'tensor<1x8x8xf32>'}}
  %0 = bfp.conv %x, %w residual(%r) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x8xf32>, tensor<8x4x1xf32>, tensor<1x8x1xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

func.func @conv_c8(%x: tensor<1x4x8xf32>, %w: tensor<8x4x1xf32>) {
  // expected-error@+1 {{expected a unary function of docs/Numerics.md, found 'relu7'}}
  %0 = bfp.conv %x, %w {function = "relu7", strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x8xf32>, tensor<8x4x1xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

!bad = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 3>
func.func @conv_result_axis(%x: tensor<1x4x8xf32>, %w: tensor<8x4x1xf32>) {
  // expected-error@+1 {{result #0 must be statically shaped tensor of floating-point or Elements that share an exponent per block values that a memory can hold}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x8xf32>, tensor<8x4x1xf32>) -> tensor<1x8x8x!bad>
  return
}

// -----

func.func @matmul_c1(%a: tensor<4xf32>, %b: tensor<4x2xf32>) {
  // expected-error@+1 {{expected factors of rank 2 or more, found 1 and 2}}
  %0 = bfp.matmul %a, %b : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @matmul_c2(%a: tensor<3x4xf32>, %b: tensor<5x2xf32>) {
  // expected-error@+1 {{expected equal contraction extents, found 4 and 5}}
  %0 = bfp.matmul %a, %b : (tensor<3x4xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @matmul_c3_leading(%a: tensor<2x3x4xf32>, %b: tensor<3x4x2xf32>) {
  // expected-error@+1 {{expected leading dimensions that broadcast}}
  %0 = bfp.matmul %a, %b : (tensor<2x3x4xf32>, tensor<3x4x2xf32>) -> tensor<2x3x2xf32>
  return
}

// -----

func.func @matmul_c3(%a: tensor<2x3x4xf32>, %b: tensor<1x4x2xf32>) {
  // expected-error@+1 {{expected a result of shape [2, 3, 2], found 'tensor<2x3x3xf32>'}}
  %0 = bfp.matmul %a, %b : (tensor<2x3x4xf32>, tensor<1x4x2xf32>) -> tensor<2x3x3xf32>
  return
}

// -----

!last = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>
func.func @matmul_c4(%a: tensor<3x4x!last>, %b: tensor<4x2x!last>) {
  // expected-error@+1 {{expected the second factor encoded along dimension 0, found 1}}
  %0 = bfp.matmul %a, %b : (tensor<3x4x!last>, tensor<4x2x!last>) -> tensor<3x2xf32>
  return
}

// -----

func.func @matmul_c5(%a: tensor<3x4xf32>, %b: tensor<4x2xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected scale of shape [2], found 'tensor<3xf32>'}}
  %0 = bfp.matmul %a, %b scale(%s) : (tensor<3x4xf32>, tensor<4x2xf32>, tensor<3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @matmul_c6(%a: tensor<3x4xf32>, %b: tensor<4x2xf32>, %r: tensor<2x2xf32>) {
  // expected-error@+1 {{expected a residual of the result's shape}}
  %0 = bfp.matmul %a, %b residual(%r) : (tensor<3x4xf32>, tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @matmul_c7(%a: tensor<3x4xf32>, %b: tensor<4x2xf32>) {
  // expected-error@+1 {{expected a unary function of docs/Numerics.md, found 'add'}}
  %0 = bfp.matmul %a, %b {function = "add"} : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @affine_c1(%x: tensor<2x1xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected an operand of the result's shape, found 'tensor<2x1xf32>' for 'tensor<2x3xf32>'}}
  %0 = bfp.affine "copy"(%x scale %s) : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @affine_c2(%x: tensor<2x3xf32>, %s: tensor<2x3xf32>) {
  // expected-error@+1 {{expected a scale and a bias that vary along one axis, found 'tensor<2x3xf32>'}}
  %0 = bfp.affine "copy"(%x bias %s) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @affine_c3(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{expected a scale or a bias}}
  %0 = bfp.affine "copy"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @affine_c4(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected a unary function of docs/Numerics.md, found 'add'}}
  %0 = bfp.affine "add"(%x scale %s) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @affine_exponent(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error @below {{expected no exponent of 'relu'}}
  %0 = bfp.affine "relu"(%x scale %s exponent %s) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @requantise_conv_c1(%x: tensor<1x4x3x3xi32>, %w: tensor<2x4x1x1xi8>, %s: tensor<2xf32>) {
  // expected-error@+1 {{expected factors of 8 or 16 bits, found 'tensor<1x4x3x3xi32>'}}
  %0 = bfp.requantise_conv %x, %w, %s {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, zero_point = 0 : i64} : (tensor<1x4x3x3xi32>, tensor<2x4x1x1xi8>, tensor<2xf32>) -> tensor<1x2x3x3xi8>
  return
}

// -----

func.func @requantise_conv_c2(%x: tensor<1x4x3x3xui8>, %w: tensor<2x4x1x1xi8>, %s: tensor<2xf32>) {
  // expected-error@+1 {{expected a result of shape [1, 2, 3, 3]}}
  %0 = bfp.requantise_conv %x, %w, %s {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, zero_point = 0 : i64} : (tensor<1x4x3x3xui8>, tensor<2x4x1x1xi8>, tensor<2xf32>) -> tensor<1x2x3x2xi8>
  return
}

// -----

func.func @requantise_conv_c3(%x: tensor<1x4x3x3xui8>, %w: tensor<2x4x1x1xi8>, %s: tensor<4xf32>) {
  // expected-error@+1 {{expected scale and bias of 2 elements, found 'tensor<4xf32>'}}
  %0 = bfp.requantise_conv %x, %w, %s {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, zero_point = 0 : i64} : (tensor<1x4x3x3xui8>, tensor<2x4x1x1xi8>, tensor<4xf32>) -> tensor<1x2x3x3xi8>
  return
}

// -----

func.func @requantise_conv_c4(%x: tensor<1x4x3x3xui8>, %w: tensor<2x4x1x1xi8>, %s: tensor<2xf32>) {
  // expected-error@+1 {{expected copy or relu, found 'tanh'}}
  %0 = bfp.requantise_conv %x, %w, %s {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, function = "tanh", zero_point = 0 : i64} : (tensor<1x4x3x3xui8>, tensor<2x4x1x1xi8>, tensor<2xf32>) -> tensor<1x2x3x3xi8>
  return
}

// -----

func.func @requantise_conv_c5(%x: tensor<1x4x3x3xui8>, %w: tensor<2x4x1x1xi8>, %s: tensor<2xf32>) {
  // expected-error@+1 {{expected a zero point of the result's type, found 200}}
  %0 = bfp.requantise_conv %x, %w, %s {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, zero_point = 200 : i64} : (tensor<1x4x3x3xui8>, tensor<2x4x1x1xi8>, tensor<2xf32>) -> tensor<1x2x3x3xi8>
  return
}

// -----

func.func @requantise_c1(%x: tensor<2xi16>) {
  // expected-error@+1 {{expected a of 8 bits or f32, found 'tensor<2xi16>'}}
  %0 = bfp.requantise "copy"(%x) : (tensor<2xi16>) -> tensor<2xi8>
  return
}

// -----

func.func @requantise_c1_floats(%x: tensor<2xf32>) {
  // expected-error@+1 {{expected a tensor of integers}}
  %0 = bfp.requantise "copy"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @requantise_c2(%x: tensor<3xui8>) {
  // expected-error@+1 {{expected operands that broadcast to the result}}
  %0 = bfp.requantise "copy"(%x) : (tensor<3xui8>) -> tensor<2xui8>
  return
}

// -----

func.func @requantise_c3(%x: tensor<2xui8>) {
  // expected-error@+1 {{expected a function of 2 operands, found 'pow'}}
  %0 = bfp.requantise "pow"(%x, %x) : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  return
}

// -----

func.func @requantise_c3_count() {
  // expected-error@+1 {{expected one or two operands, found 0}}
  %0 = bfp.requantise "copy"() : () -> tensor<2xui8>
  return
}

// -----

func.func @requantise_c4(%x: tensor<2xui8>) {
  // expected-error@+1 {{expected a zero point of the type of a, found -1}}
  %0 = bfp.requantise "copy"(%x) {a_zero = -1 : i64} : (tensor<2xui8>) -> tensor<2xui8>
  return
}

// -----

func.func @requantise_c4_step(%x: tensor<2xui8>) {
  // expected-error@+1 {{expected a finite scale above 0 of the result}}
  %0 = bfp.requantise "copy"(%x) {step = 0.0 : f32} : (tensor<2xui8>) -> tensor<2xui8>
  return
}

// -----

func.func @requantise_c5(%x: tensor<2xui8>) {
  // expected-error@+1 {{expected no limits of a function of one operand}}
  %0 = bfp.requantise "copy"(%x) {limited} : (tensor<2xui8>) -> tensor<2xui8>
  return
}

// -----

func.func @integer_matmul_c1(%a: tensor<4x6xi16>, %b: tensor<6x5xi8>) {
  // expected-error@+1 {{expected integers of 8 bits, found 'tensor<4x6xi16>'}}
  %0 = bfp.integer_matmul %a, %b {a_zero = 0 : i64, b_zero = 0 : i64} : (tensor<4x6xi16>, tensor<6x5xi8>) -> tensor<4x5xi32>
  return
}

// -----

func.func @integer_matmul_c2(%a: tensor<4x6xui8>, %b: tensor<7x5xi8>) {
  // expected-error@+1 {{expected equal contraction extents, found 6 and 7}}
  %0 = bfp.integer_matmul %a, %b {a_zero = 0 : i64, b_zero = 0 : i64} : (tensor<4x6xui8>, tensor<7x5xi8>) -> tensor<4x5xi32>
  return
}

// -----

func.func @integer_matmul_c3(%a: tensor<4x6xui8>, %b: tensor<6x5xi8>) {
  // expected-error@+1 {{expected a zero point in [-128, 127], found 128}}
  %0 = bfp.integer_matmul %a, %b {a_zero = 255 : i64, b_zero = 128 : i64} : (tensor<4x6xui8>, tensor<6x5xi8>) -> tensor<4x5xi32>
  return
}

// -----

func.func @conv_c9_float(%x: tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %w: tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) {
  // expected-error@+1 {{expected for an integer epilogue a result in blocks}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>,  integer_epilogue} : (tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) -> tensor<1x8x8xf32>
  return
}

// -----

func.func @conv_c9_axis(%x: tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %w: tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) {
  // expected-error@+1 {{expected for an integer epilogue}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>,  integer_epilogue} : (tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) -> tensor<1x8x8x!bfp.block<mantissa = 8, block = axis, range = 7, axis = 1>>
  return
}

// -----

func.func @conv_c9_scale(%x: tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %w: tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %s: tensor<8xf32>) {
  // expected-error@+1 {{, a scale}}
  %0 = bfp.conv %x, %w scale(%s) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>,  integer_epilogue} : (tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8xf32>) -> tensor<1x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return
}

// -----

func.func @conv_c9_residual(%x: tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %w: tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %r: tensor<1x8x8xf32>) {
  // expected-error@+1 {{a residual of 'tensor<1x8x8xf32>'}}
  %0 = bfp.conv %x, %w residual(%r) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>,  integer_epilogue} : (tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<1x8x8xf32>) -> tensor<1x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return
}

// -----

func.func @conv_c9_function(%x: tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %w: tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) {
  // expected-error@+1 {{, 'tanh'}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, function = "tanh", integer_epilogue} : (tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) -> tensor<1x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return
}

// -----

func.func @conv_c9_limit(%x: tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %w: tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) {
  // expected-error@+1 {{, 'clip'}}
  %0 = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, function = "clip", alpha = 0x7FC00000 : f32, integer_epilogue} : (tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) -> tensor<1x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return
}

// -----

func.func @matmul_c8(%a: tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %b: tensor<16x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>) {
  // expected-error@+1 {{expected for an integer epilogue}}
  %0 = bfp.matmul %a, %b {integer_epilogue} : (tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<16x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>) -> tensor<4x8xf32>
  return
}

// -----

func.func @conv_c10_function(%x: tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %w: tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %s: tensor<8xf32>) {
  // expected-error@+1 {{expected leakyRelu with a slope, found 'relu'}}
  %0 = bfp.conv %x, %w slope(%s) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, function = "relu"} : (tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

func.func @conv_c10_shape(%x: tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %w: tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %s: tensor<4xf32>) {
  // expected-error@+1 {{expected slope of shape [8], found 'tensor<4xf32>'}}
  %0 = bfp.conv %x, %w slope(%s) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, function = "leakyRelu"} : (tensor<1x4x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<8x4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<4xf32>) -> tensor<1x8x8xf32>
  return
}

// -----

func.func @matmul_c9(%a: tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %b: tensor<16x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>, %s: tensor<8xf32>) {
  // expected-error@+1 {{expected leakyRelu with a slope, found 'copy'}}
  %0 = bfp.matmul %a, %b slope(%s) : (tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<16x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @arithmetic_c1(%a: tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) {
  // expected-error@+1 {{expected add, sub, mul or div, found 'max'}}
  %0 = bfp.arithmetic "max"(%a, %a) : (tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) -> tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return
}

// -----

func.func @arithmetic_c2(%a: tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %b: tensor<3x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) {
  // expected-error@+1 {{3x16}}
  %0 = bfp.arithmetic "add"(%a, %b) : (tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<3x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) -> tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return
}

// -----

func.func @arithmetic_c3(%a: tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %b: tensor<4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) {
  // expected-error@+1 {{expected operands with blocks along the dimension of the result's blocks and all of its extent}}
  %0 = bfp.arithmetic "add"(%a, %b) : (tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<4x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) -> tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return
}

// -----

func.func @arithmetic_c3_axis(%a: tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %b: tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>) {
  // expected-error@+1 {{expected operands with blocks along the dimension of the result's blocks}}
  %0 = bfp.arithmetic "add"(%a, %b) : (tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>) -> tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return
}
