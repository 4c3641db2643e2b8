// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage of residual operands, and what each costs: 16 x 8 x 8 elements are
// 1024 mantissas and 64 exponents, 4096 bytes of binary32, 2048 of bfloat16.
// RUN: ashlar-opt --ashlar-bfp-choose-formats %s | FileCheck %s --check-prefixes=CHECK,BFP
// RUN: ashlar-opt --ashlar-bfp-choose-formats=residual=f32 %s | FileCheck %s --check-prefixes=CHECK,F32
// RUN: ashlar-opt --ashlar-bfp-choose-formats=residual=bf16 %s | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: not ashlar-opt --ashlar-bfp-choose-formats=residual=f16 %s 2>&1 | FileCheck %s --check-prefix=WRONG

// WRONG: error: storage of residual operands is 'f16', expected bfp, bf16 or f32

// CHECK-LABEL: func @block
func.func @block(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> {
  %w = nn.constant dense<1.0> : tensor<16x16x1x1xf32>
  // BFP: %[[R:.*]] = nn.unary exp {{.*}} -> tensor<1x16x8x8x!bfp.block<
  // F32: %[[R:.*]] = nn.unary exp {{.*}} -> tensor<1x16x8x8xf32>
  // F32: bfp.encode %[[R]] : tensor<1x16x8x8xf32>
  // BF16: %[[R:.*]] = nn.unary exp {{.*}} -> tensor<1x16x8x8xbf16>
  // BF16: bfp.encode %[[R]] : tensor<1x16x8x8xbf16>
  // CHECK: bfp.conv
  // CHECK: residual(%[[R]])
  // BFP-SAME: ashlar.decision.residual = #ashlar.decision<choice = "residual-bfp", reason = "residual operand, one storage with what products read", facts = {bytes_bf16 = 3136 : i64, bytes_bfp = 1088 : i64, bytes_f32 = 5184 : i64}>
  // F32-SAME: choice = "residual-f32", reason = "residual operand, stored next to the encoding that products read"
  // BF16-SAME: choice = "residual-bf16"
  %0 = nn.unary exp %x : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %1 = bfp.conv %0, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %2 = bfp.conv %1, %w residual(%0) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %3 = bfp.conv %2, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x8x8xf32>
  return %3 : tensor<1x16x8x8xf32>
}

// What data movement reads as well keeps its float type.
// CHECK-LABEL: func @moved
func.func @moved(%x: tensor<1x16xf32>, %y: tensor<1x16xf32>) -> (tensor<1x16xf32>, tensor<16x1xf32>) {
  // BF16: nn.unary exp {{.*}} -> tensor<1x16xf32>
  // BF16: nn.unary abs {{.*}} -> tensor<1x16xbf16>
  %0 = nn.unary exp %x : (tensor<1x16xf32>) -> tensor<1x16xf32>
  %1 = nn.unary abs %y : (tensor<1x16xf32>) -> tensor<1x16xf32>
  %2 = nn.add %0, %1 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  %3 = nn.transpose %0 {perm = array<i64: 1, 0>} : (tensor<1x16xf32>) -> tensor<16x1xf32>
  return %2, %3 : tensor<1x16xf32>, tensor<16x1xf32>
}
