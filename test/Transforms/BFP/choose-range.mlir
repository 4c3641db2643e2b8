// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accumulator proof: (W - 1) + (W - 1) + D + D + ceil(log2 K) + 1 <= 63.
// RUN: ashlar-opt --ashlar-bfp-choose-formats=format=w=16,block=16,range=15 %s | FileCheck %s
// RUN: ashlar-opt --ashlar-bfp-choose-formats=format=bfp16 %s | FileCheck %s --check-prefix=PROVEN
// RUN: not ashlar-opt "--ashlar-bfp-choose-formats=format=w=16,range=15 strict-range" %s 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: not ashlar-opt --ashlar-bfp-choose-formats=format=bfp17 %s 2>&1 | FileCheck %s --check-prefix=USAGE

// With D = 15 the sum of 8 products needs 64 bits, with D = 7 it needs 48.
// CHECK: module attributes {bfp.format = "w=16,block=16,range=7", bfp.range_reason = "range lowered from 15 to 7: 'Gemm_7' sums 8 products, which with w=16,block=16,range=15 needs 64 accumulator bits of 63"}
// CHECK: !bfp.block<mantissa = 16, block = 16, range = 7, axis = 1>

// PROVEN: module attributes {bfp.format = "w=16,block=16,range=7"} {

// STRICT: error: {{.*}}'Gemm_7' sums 8 products, which with w=16,block=16,range=15 needs 64 accumulator bits of 63; use a smaller range or mantissa

// USAGE: error: {{.*}}mantissa{{.*}}17

func.func @main(%x: tensor<1x8xf32>, %w: tensor<8x2xf32>) -> tensor<1x2xf32> {
  %0 = bfp.matmul %x, %w : (tensor<1x8xf32>, tensor<8x2xf32>) -> tensor<1x2xf32> loc("Gemm_7")
  return %0 : tensor<1x2xf32>
}
