// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operation prints and parses; the examples of the descriptions.
//
// RUN: ashlar-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @conv(
// CHECK: nn.conv %{{.*}}, %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
func.func @conv(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %0 = nn.conv %x, %w, %b {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  return %0 : tensor<1x4x8x8xf32>
}

// CHECK-LABEL: func.func @conv_transpose(
// CHECK: nn.conv_transpose %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>, tensor<3x2x2x2xf32>) -> tensor<1x2x8x8xf32>
func.func @conv_transpose(%x: tensor<1x3x4x4xf32>, %w: tensor<3x2x2x2xf32>) -> tensor<1x2x8x8xf32> {
  %0 = nn.conv_transpose %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>, tensor<3x2x2x2xf32>) -> tensor<1x2x8x8xf32>
  return %0 : tensor<1x2x8x8xf32>
}

// CHECK-LABEL: func.func @matmul(
// CHECK: nn.matmul %{{.*}}, %{{.*}} : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>
func.func @matmul(%a: tensor<2x5x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x5x4xf32> {
  %0 = nn.matmul %a, %b : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>
  return %0 : tensor<2x5x4xf32>
}

// CHECK-LABEL: func.func @im2col(
// CHECK: nn.im2col %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x27x8x8xf32>
func.func @im2col(%x: tensor<1x3x8x8xf32>) -> tensor<1x27x8x8xf32> {
  %0 = nn.im2col %x {dilations = array<i64: 1, 1>, kernel = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x27x8x8xf32>
  return %0 : tensor<1x27x8x8xf32>
}

// CHECK-LABEL: func.func @max_pool(
// CHECK: nn.max_pool %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x7x7xf32>) -> tensor<1x3x4x4xf32>
func.func @max_pool(%x: tensor<1x3x7x7xf32>) -> tensor<1x3x4x4xf32> {
  %0 = nn.max_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x7x7xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// CHECK-LABEL: func.func @avg_pool(
// CHECK: nn.avg_pool %{{.*}} {count_include_pad = true, dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
func.func @avg_pool(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32> {
  %0 = nn.avg_pool %x {count_include_pad = true, dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// CHECK-LABEL: func.func @reduce(
// CHECK: nn.reduce mean %{{.*}} {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32>
func.func @reduce(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32> {
  %0 = nn.reduce mean %x {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32>
  return %0 : tensor<1x3x1x1xf32>
}

// CHECK-LABEL: func.func @arg_reduce(
// CHECK: nn.arg_reduce max %{{.*}} {axis = 1 : i64, keepdims = false} : (tensor<1x10xf32>) -> tensor<1xi64>
func.func @arg_reduce(%x: tensor<1x10xf32>) -> tensor<1xi64> {
  %0 = nn.arg_reduce max %x {axis = 1 : i64, keepdims = false} : (tensor<1x10xf32>) -> tensor<1xi64>
  return %0 : tensor<1xi64>
}

// CHECK-LABEL: func.func @softmax(
// CHECK: nn.softmax %{{.*}} {axis = 1 : i64} : (tensor<1x10xf32>) -> tensor<1x10xf32>
func.func @softmax(%x: tensor<1x10xf32>) -> tensor<1x10xf32> {
  %0 = nn.softmax %x {axis = 1 : i64} : (tensor<1x10xf32>) -> tensor<1x10xf32>
  return %0 : tensor<1x10xf32>
}

// CHECK-LABEL: func.func @log_softmax(
// CHECK: nn.log_softmax %{{.*}} {axis = 1 : i64} : (tensor<1x10xf32>) -> tensor<1x10xf32>
func.func @log_softmax(%x: tensor<1x10xf32>) -> tensor<1x10xf32> {
  %0 = nn.log_softmax %x {axis = 1 : i64} : (tensor<1x10xf32>) -> tensor<1x10xf32>
  return %0 : tensor<1x10xf32>
}

// CHECK-LABEL: func.func @compare(
// CHECK: nn.compare less %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
func.func @compare(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xi1> {
  %0 = nn.compare less %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  return %0 : tensor<2x3xi1>
}

// CHECK-LABEL: func.func @where(
// CHECK: nn.where %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @where(%c: tensor<2x3xi1>, %a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.where %c, %a, %b : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @unary(
// CHECK: nn.unary clip %{{.*}} {beta = 6.000000e+00 : f32} : (tensor<4xf32>) -> tensor<4xf32>
func.func @unary(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.unary clip %x {beta = 6.000000e+00 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @cast(
// CHECK: nn.cast %{{.*}} : (tensor<4xf32>) -> tensor<4xui8>
func.func @cast(%x: tensor<4xf32>) -> tensor<4xui8> {
  %0 = nn.cast %x : (tensor<4xf32>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}

// CHECK-LABEL: func.func @interleave(
// CHECK: nn.interleave %{{.*}}, %{{.*}} {factors = array<i64: 1, 2>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
func.func @interleave(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>) -> tensor<3x8xf32> {
  %0 = nn.interleave %a, %b {factors = array<i64: 1, 2>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @concat(
// CHECK: nn.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x3xf32>) -> tensor<1x5xf32>
func.func @concat(%a: tensor<1x2xf32>, %b: tensor<1x3xf32>) -> tensor<1x5xf32> {
  %0 = nn.concat %a, %b {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x3xf32>) -> tensor<1x5xf32>
  return %0 : tensor<1x5xf32>
}

// CHECK-LABEL: func.func @slice(
// CHECK: nn.slice %{{.*}} {starts = array<i64: 0, 4>, steps = array<i64: 1, -2>} : (tensor<2x5xf32>) -> tensor<2x3xf32>
func.func @slice(%x: tensor<2x5xf32>) -> tensor<2x3xf32> {
  %0 = nn.slice %x {starts = array<i64: 0, 4>, steps = array<i64: 1, -2>} : (tensor<2x5xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @pad(
// CHECK: nn.pad %{{.*}} {high = array<i64: 0, 2>, low = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x8xf32>
func.func @pad(%x: tensor<2x5xf32>) -> tensor<2x8xf32> {
  %0 = nn.pad %x {high = array<i64: 0, 2>, low = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @reshape(
// CHECK: nn.reshape %{{.*}} : (tensor<2x6xf32>) -> tensor<3x4xf32>
func.func @reshape(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %0 = nn.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @transpose(
// CHECK: nn.transpose %{{.*}} {perm = array<i64: 1, 0>} : (tensor<2x6xf32>) -> tensor<6x2xf32>
func.func @transpose(%x: tensor<2x6xf32>) -> tensor<6x2xf32> {
  %0 = nn.transpose %x {perm = array<i64: 1, 0>} : (tensor<2x6xf32>) -> tensor<6x2xf32>
  return %0 : tensor<6x2xf32>
}

// CHECK-LABEL: func.func @broadcast(
// CHECK: nn.broadcast %{{.*}} : (tensor<1x3xf32>) -> tensor<4x2x3xf32>
func.func @broadcast(%x: tensor<1x3xf32>) -> tensor<4x2x3xf32> {
  %0 = nn.broadcast %x : (tensor<1x3xf32>) -> tensor<4x2x3xf32>
  return %0 : tensor<4x2x3xf32>
}

// CHECK-LABEL: func.func @gather(
// CHECK: nn.gather %{{.*}} {axis = 1 : i64, indices = array<i64: 0, 0, 2>} : (tensor<2x6xf32>) -> tensor<2x3xf32>
func.func @gather(%x: tensor<2x6xf32>) -> tensor<2x3xf32> {
  %0 = nn.gather %x {axis = 1 : i64, indices = array<i64: 0, 0, 2>} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @take(
// CHECK: nn.take %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<9x4xf32>, tensor<3x1xi64>) -> tensor<3x4xf32>
func.func @take(%x: tensor<9x4xf32>, %i: tensor<3x1xi64>) -> tensor<3x4xf32> {
  %0 = nn.take %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<3x1xi64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @add(
// CHECK: nn.add %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @add(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @sub(
// CHECK: nn.sub %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @sub(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.sub %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @mul(
// CHECK: nn.mul %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @mul(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.mul %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @div(
// CHECK: nn.div %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @div(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.div %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @max(
// CHECK: nn.max %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @max(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.max %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @min(
// CHECK: nn.min %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @min(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.min %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @pow(
// CHECK: nn.pow %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @pow(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.pow %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @prelu(
// CHECK: nn.prelu %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @prelu(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.prelu %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @mod(
// CHECK: nn.mod %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @mod(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.mod %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @logical(
// CHECK: nn.logical and %{{.*}}, %{{.*}} : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
func.func @logical(%a: tensor<2x3xi1>, %b: tensor<3xi1>) -> tensor<2x3xi1> {
  %0 = nn.logical and %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  return %0 : tensor<2x3xi1>
}

// CHECK-LABEL: func.func @batch_norm(
// CHECK: nn.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 9.99999974E-6 : f32} : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
func.func @batch_norm(%x: tensor<1x3x8x8xf32>, %p: tensor<3xf32>) -> tensor<1x3x8x8xf32> {
  %0 = nn.batch_norm %x, %p, %p, %p, %p {epsilon = 9.99999974E-6 : f32} : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
  return %0 : tensor<1x3x8x8xf32>
}

// CHECK-LABEL: func.func @constant(
// CHECK: nn.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
func.func @constant() -> tensor<2xf32> {
  %0 = nn.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
