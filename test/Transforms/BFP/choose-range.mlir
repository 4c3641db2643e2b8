// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accumulator proof: (WA - 1) + (WW - 1) + DA + DW + ceil(log2 K) + 1 <= 63.
// RUN: ashlar-opt --ashlar-bfp-assign-formats=format=w=16,block=16,range=15 --ashlar-bfp-choose-formats %s | FileCheck %s
// RUN: ashlar-opt --ashlar-bfp-assign-formats=format=bfp16 --ashlar-bfp-choose-formats %s | FileCheck %s --check-prefix=PROVEN
// RUN: not ashlar-opt --ashlar-bfp-assign-formats=format=w=16,range=15 --ashlar-bfp-choose-formats=strict-range %s 2>&1 | FileCheck %s --check-prefix=STRICT

// With D = 15 on both sides the sum of 8 products needs 64 bits, with 7 on one
// side 56; what needs no less keeps its range.
// CHECK: module attributes {bfp.format = "w=16,block=16,range=15", bfp.range_reason = "ranges lowered to 15 and 7: 'Gemm_7' sums 8 products, which with w=16,block=16,range=15 and w=16,block=16,range=15 needs 64 accumulator bits of 63"}
// CHECK: bfp.matmul {{.*}}mantissa = 16, block = 16, range = 15, axis = 1>>, {{.*}}mantissa = 16, block = 16, range = 7, axis = 0>>) -> tensor<1x2xf32>
// CHECK: bfp.matmul {{.*}}mantissa = 16, block = 16, range = 15, axis = 1>>, {{.*}}mantissa = 16, block = 16, range = 15, axis = 0>>) -> tensor<1x3xf32>

// PROVEN: module attributes {bfp.format = "w=16,block=16,range=7"} {

// STRICT: error: {{.*}}'Gemm_7' sums 8 products, which with w=16,block=16,range=15 and w=16,block=16,range=15 needs 64 accumulator bits of 63; use a smaller range or mantissa

func.func @main(%x: tensor<1x8xf32>, %w: tensor<8x2xf32>, %y: tensor<1x4xf32>, %v: tensor<4x3xf32>) -> (tensor<1x2xf32>, tensor<1x3xf32>) {
  %0 = bfp.matmul %x, %w : (tensor<1x8xf32>, tensor<8x2xf32>) -> tensor<1x2xf32> loc("Gemm_7")
  %1 = bfp.matmul %y, %v : (tensor<1x4xf32>, tensor<4x3xf32>) -> tensor<1x3xf32> loc("Gemm_8")
  return %0, %1 : tensor<1x2xf32>, tensor<1x3xf32>
}
