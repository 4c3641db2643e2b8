// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function behind an identity multiplication is applied by its drain; the
// bits are those of a copy and a vector pass (T16 of the transpose
// specification). The module has no node names.
// RUN: ashlarc %s --compile-from=simplify --transpose=pe -o %t.pe.ash
// RUN: ashlarc %s --compile-from=simplify --transpose=copy -o %t.copy.ash
// RUN: ashlar-run %t.copy.ash --random-inputs=3 --outputs=%t.npz --quiet
// RUN: ashlar-run %t.pe.ash --random-inputs=3 --expect=%t.npz --quiet
// RUN: ashlar-dis %t.pe.ash | FileCheck %s
// RUN: ashlar-dis %t.copy.ash | FileCheck %s --check-prefix=COPY

// CHECK: pe.matmul {{.*}}mode=select {{.*}}window=identity
// CHECK: act.drain {{.*}}mode=raw64 function=leakyRelu alpha=0.25 {{.*}}typed=1
// CHECK-NOT: vec.map
// COPY-NOT: pe.matmul
// COPY: vec.map {{.*}}leakyRelu
module attributes {ashlar.phase = "simplify", nn.model_name = "fused"} {
func.func @main(%a: tensor<1x32x65xf32> {nn.name = "a"}) -> (tensor<1x64x31xf32> {nn.name = "y"}) {
  %0 = nn.max_pool %a {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x32x65xf32>) -> tensor<1x32x64xf32>
  %1 = nn.transpose %0 {perm = array<i64: 0, 2, 1>} : (tensor<1x32x64xf32>) -> tensor<1x64x32xf32>
  %2 = nn.unary leakyRelu %1 {alpha = 0.25 : f32} : (tensor<1x64x32xf32>) -> tensor<1x64x32xf32>
  %3 = nn.max_pool %2 {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x64x32xf32>) -> tensor<1x64x31xf32>
  return %3 : tensor<1x64x31xf32>
}
}
