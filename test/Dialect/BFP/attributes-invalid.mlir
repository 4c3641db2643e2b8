// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// #bfp.format, and the attributes that the dialect allows on operations.
// RUN: ashlar-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{attribute 'bfp.formats' is not an attribute of the bfp dialect}}
module attributes {bfp.formats = "bfp8"} {
}

// -----

// expected-error@+1 {{attribute 'bfp.format' must be a text, found 8 : i64}}
module attributes {bfp.format = 8} {
}

// -----

// expected-error@+1 {{attribute 'bfp.weights' is allowed only on products}}
module attributes {bfp.weights = #bfp.format<mantissa = 8, block = 16, range = 7>} {
}

// -----

func.func @asked(%x: tensor<1x8xf32>, %w: tensor<8x4xf32>) -> tensor<1x4xf32> {
  // expected-error@+1 {{attribute 'bfp.weights' must be a #bfp.format, found "bfp8"}}
  %0 = bfp.matmul %x, %w {bfp.weights = "bfp8"} : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

// expected-error@+1 {{format_c1: mantissa width is 2, expected 3 to 16}}
module attributes {test = #bfp.format<mantissa = 2, block = 16, range = 7>} {
}

// -----

// expected-error@+1 {{format_c1: block length is 24, expected 8, 16, 32, 64, axis or tensor}}
module attributes {test = #bfp.format<mantissa = 8, block = 24, range = 7>} {
}

// -----

// expected-error@+1 {{format_c1: block length is 4294967312, expected 8, 16, 32, 64, axis or tensor}}
module attributes {test = #bfp.format<mantissa = 8, block = 4294967312, range = 7>} {
}

// -----

// expected-error@+1 {{expected a positive block length, 'axis' or 'tensor', found 0}}
module attributes {test = #bfp.format<mantissa = 8, block = 0, range = 7>} {
}

// -----

// expected-error@+1 {{format_c1: exponent range is 2, expected 0, 1, 3, 7 or 15}}
module attributes {test = #bfp.format<mantissa = 8, block = 16, range = 2>} {
}

// -----

// expected-error@+1 {{format_c1: unsigned=auto with a mantissa width of 9, expected at most 8}}
module attributes {test = #bfp.format<mantissa = 9, block = 16, range = 7, unsigned = auto>} {
}

// -----

// expected-error@+1 {{format_c1: rows of weights share exponents with block=tensor}}
module attributes {test = #bfp.format<mantissa = 8, block = tensor, range = 7, rows = quadrant>} {
}

// -----

// expected-error@+1 {{expected at least 2 rows or 'quadrant', found 1}}
module attributes {test = #bfp.format<mantissa = 8, block = 16, range = 7, rows = 1>} {
}

// -----

// expected-error@+1 {{expected 'rows'}}
module attributes {test = #bfp.format<mantissa = 8, block = 16, range = 7, columns = 2>} {
}
