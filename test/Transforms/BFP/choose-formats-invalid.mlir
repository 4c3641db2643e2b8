// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: ashlar-opt --ashlar-bfp-choose-formats --split-input-file --verify-diagnostics %s

func.func @nan_f32(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  // expected-error@unknown {{expected finite elements in constant 'fc.weight', found NaN or an infinity at element 2}}
  %w = nn.constant dense<[[1.0, 2.0], [0x7fc00000, 4.0]]> : tensor<2x2xf32> loc("fc.weight")
  %0 = bfp.matmul %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}

// -----

func.func @infinity_f16(%x: tensor<1x2xf16>) -> tensor<1x2xf16> {
  // expected-error@+1 {{found NaN or an infinity at element 1}}
  %w = nn.constant dense<[[1.0, 0xfc00], [3.0, 4.0]]> : tensor<2x2xf16>
  %0 = bfp.matmul %x, %w : (tensor<1x2xf16>, tensor<2x2xf16>) -> tensor<1x2xf16>
  return %0 : tensor<1x2xf16>
}

// -----

func.func @infinity_bf16(%x: tensor<1x2xbf16>) -> tensor<1x2xbf16> {
  // expected-error@+1 {{found NaN or an infinity at element 0}}
  %w = nn.constant dense<[[0x7f80, 1.0], [3.0, 4.0]]> : tensor<2x2xbf16>
  %0 = bfp.matmul %x, %w : (tensor<1x2xbf16>, tensor<2x2xbf16>) -> tensor<1x2xbf16>
  return %0 : tensor<1x2xbf16>
}

// -----

func.func @infinity_f64(%x: tensor<1x2xf64>) -> tensor<1x2xf64> {
  // expected-error@+1 {{found NaN or an infinity at element 3}}
  %w = nn.constant dense<[[1.0, 2.0], [3.0, 0x7ff0000000000000]]> : tensor<2x2xf64>
  %0 = bfp.matmul %x, %w : (tensor<1x2xf64>, tensor<2x2xf64>) -> tensor<1x2xf64>
  return %0 : tensor<1x2xf64>
}

// -----

// What is not encoded may be anything: a mask of infinities.
func.func @mask(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %m = nn.constant dense<[[0xff800000, 0.0]]> : tensor<1x2xf32>
  %0 = nn.add %x, %m : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
}
