// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of the ashlar dialect in text and back.
// RUN: ashlar-opt %s | ashlar-opt | FileCheck %s

// CHECK: module attributes {ashlar.phase = "quantise"} {
module attributes {ashlar.phase = "quantise"} {
  func.func @records(%x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: nn.unary sigmoid %{{.*}} {ashlar.decision = #ashlar.decision<choice = "a", reason = "fewer cycles", alternatives = {a = 1 : i64, b = 2 : i64}, facts = {bytes = 64 : i64}>}
    %0 = nn.unary sigmoid %x {ashlar.decision = #ashlar.decision<choice = "a", reason = "fewer cycles", alternatives = {a = 1, b = 2}, facts = {bytes = 64}>} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: nn.unary sigmoid %{{.*}} {ashlar.decision.topic = #ashlar.decision<choice = "a", reason = "asked for">, ashlar.macs = 12 : i64}
    %1 = nn.unary sigmoid %0 {ashlar.decision.topic = #ashlar.decision<choice = "a", reason = "asked for">, ashlar.macs = 12} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: nn.unary sigmoid %{{.*}} {ashlar.scale = #ashlar.scale<"stats(k=3,n=512)">}
    %2 = nn.unary sigmoid %1 {ashlar.scale = #ashlar.scale<"stats(n=512,k=3)">} : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
