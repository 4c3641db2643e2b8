// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One tiny module per verifier message; functions are named after constraints.
// RUN: ashlar-opt --split-input-file --verify-diagnostics %s

func.func @nonzero_c1(%x: tensor<f32>) {
  // expected-error@+1 {{expected 1 to 8 dimensions, found 0}}
  %0 = nn.nonzero %x : (tensor<f32>) -> tensor<0x1xi64>
  return
}

// -----

func.func @nonzero_c1_empty(%x: tensor<2x0xf32>) {
  // expected-error@+1 {{expected at least one element, found shape 2x0}}
  %0 = nn.nonzero %x : (tensor<2x0xf32>) -> tensor<2x0xi64>
  return
}

// -----

func.func @nonzero_c2(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{result is 'tensor<2x6xi32>', expected i64 of shape 2x6}}
  %0 = nn.nonzero %x : (tensor<2x3xf32>) -> tensor<2x6xi32>
  return
}

// -----

func.func @arg_sort_c1(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis 2 is out of range for rank 2}}
  %0 = nn.arg_sort %x {axis = 2 : i64, descending = true} : (tensor<2x3xf32>) -> tensor<2x3xi64>
  return
}

// -----

func.func @arg_sort_c2(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{4 elements are kept of 3}}
  %0 = nn.arg_sort %x {axis = 1 : i64, descending = true} : (tensor<2x3xf32>) -> tensor<2x4xi64>
  return
}

// -----

func.func @unique_c1(%x: tensor<6xf32>) {
  // expected-error@+1 {{expected rows, found shape 6}}
  %0 = nn.unique %x {sorted = true} : (tensor<6xf32>) -> tensor<3x6xi64>
  return
}

// -----

func.func @unique_c2(%x: tensor<6x2xf32>) {
  // expected-error@+1 {{result is 'tensor<3x5xi64>', expected i64 of shape 3x6}}
  %0 = nn.unique %x {sorted = true} : (tensor<6x2xf32>) -> tensor<3x5xi64>
  return
}

// -----

func.func @nms_c1(%b: tensor<1x6x4xf32>, %s: tensor<1x2x5xf32>, %m: tensor<1xi64>, %t: tensor<1xf32>) {
  // expected-error@+1 {{expected boxes [B, N, 4] and scores [B, C, N], found 1x6x4 and 1x2x5}}
  %0 = nn.nms %b, %s, %m, %t, %t {center = false, filtered = true} : (tensor<1x6x4xf32>, tensor<1x2x5xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32>) -> tensor<6x3xi64>
  return
}

// -----

func.func @nms_c1_parameter(%b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %m: tensor<2xi64>, %t: tensor<1xf32>) {
  // expected-error@+1 {{expects parameters of one element, found 'tensor<2xi64>'}}
  %0 = nn.nms %b, %s, %m, %t, %t {center = false, filtered = true} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<2xi64>, tensor<1xf32>, tensor<1xf32>) -> tensor<6x3xi64>
  return
}

// -----

func.func @nms_c2(%b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %m: tensor<1xi64>, %t: tensor<1xf32>) {
  // expected-error@+1 {{7 boxes of a class are kept of 6}}
  %0 = nn.nms %b, %s, %m, %t, %t {center = false, filtered = true} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32>) -> tensor<14x3xi64>
  return
}
