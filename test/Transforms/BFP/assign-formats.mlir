// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: ashlar-opt --ashlar-bfp-assign-formats=format=bfp6 %s | FileCheck %s --check-prefix=ALL
// RUN: ashlar-opt '--ashlar-bfp-assign-formats=format={{"activations":"bfp10","weights":"bfp5,block=tensor","nodes":{"Gemm_1":{"weights":"w=12,block=axis,range=0"}}}}' %s | FileCheck %s --check-prefix=TABLE
// RUN: not ashlar-opt '--ashlar-bfp-assign-formats=format={{"nodes":{"Gemm_9":{"weights":"bfp4"}}}}' %s 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ashlar-opt '--ashlar-bfp-assign-formats=format={{"node":{}}}' %s 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not ashlar-opt --ashlar-bfp-assign-formats=format=bfp17 %s 2>&1 | FileCheck %s --check-prefix=USAGE
// RUN: ashlar-opt --ashlar-bfp-assign-formats=format=rows=4 %s | FileCheck %s --check-prefix=ROWS
// RUN: not ashlar-opt '--ashlar-bfp-assign-formats=format={{"nodes":{"Gemm_1":{"weights":"rows=4"}}}}' %s 2>&1 | FileCheck %s --check-prefix=COMPUTED

// ALL: bfp.format = "w=6,block=16,range=7"
// ALL-COUNT-2: bfp.matmul {{.*}} {bfp.activations = #bfp.format<mantissa = 6, block = 16, range = 7>, bfp.weights = #bfp.format<mantissa = 6, block = 16, range = 7>}

// TABLE: bfp.format = "activations w=10,block=16,range=7, weights w=5,block=tensor,range=7, 1 nodes of their own"
// TABLE: bfp.matmul {{.*}} {bfp.activations = #bfp.format<mantissa = 10, block = 16, range = 7>, bfp.weights = #bfp.format<mantissa = 5, block = tensor, range = 7>}
// TABLE: bfp.matmul {{.*}} {bfp.activations = #bfp.format<mantissa = 10, block = 16, range = 7>, bfp.weights = #bfp.format<mantissa = 12, block = axis, range = 0>}

// Rows are those of weights; a format for all of them leaves computed factors alone.
// ROWS: bfp.format = "activations w=8,block=16,range=7, weights w=8,block=16,range=7,rows=4"
// ROWS-COUNT-2: {bfp.activations = #bfp.format<mantissa = 8, block = 16, range = 7>, bfp.weights = #bfp.format<mantissa = 8, block = 16, range = 7, rows = 4>}
// COMPUTED: error: format of the weights of 'Gemm_1' is w=8,block=16,range=7,rows=4, but its second factor is no constant, or has more than two dimensions: rows of output channels share exponents in constants of convolutions and of matrix products with one matrix, leave rows= out

// NAME: error: expected formats for products, found 'Gemm_9', which is none
// KEY: error: formats: 'node' is not a known key, expected activations, weights, scale or nodes
// USAGE: error: {{.*}}mantissa width is 17, expected 3 to 16

func.func @main(%x: tensor<1x8xf32>, %w: tensor<8x4xf32>, %v: tensor<4x2xf32>) -> tensor<1x2xf32> {
  %0 = bfp.matmul %x, %w : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32> loc("Gemm_0")
  %1 = bfp.matmul %0, %v : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32> loc("Gemm_1")
  return %1 : tensor<1x2xf32>
}
