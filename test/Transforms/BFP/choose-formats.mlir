// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: ashlar-opt --ashlar-bfp-assign-formats --ashlar-bfp-choose-formats %s --split-input-file | FileCheck %s

// An input and a constant get explicit encodings; a result that a product reads
// is stored encoded; the graph's output stays a float.
// CHECK: module attributes {bfp.format = "w=8,block=16,range=7"}
// CHECK-LABEL: func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<1x3x8x8xf32>)
func.func @chain(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32> {
  // CHECK-DAG: %[[XE:.*]] = bfp.encode %[[X]] : tensor<1x3x8x8xf32> -> tensor<1x3x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  // CHECK-DAG: %[[WE:.*]] = bfp.encode %{{.*}} weights : tensor<4x3x1x1xf32> -> tensor<4x3x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  // CHECK-DAG: %[[VE:.*]] = bfp.encode %{{.*}} weights : tensor<4x4x1x1xf32> ->
  // CHECK: %[[A:.*]] = bfp.conv %[[XE]], %[[WE]] {{.*}} -> tensor<1x4x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  // CHECK: bfp.conv %[[A]], %[[VE]] {{.*}} -> tensor<1x4x8x8xf32>
  %w = nn.constant dense<1.0> : tensor<4x3x1x1xf32>
  %v = nn.constant dense<1.0> : tensor<4x4x1x1xf32>
  %0 = bfp.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = bfp.conv %0, %v {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  return %1 : tensor<1x4x8x8xf32>
}

// -----

// Pooling, residual add and a view hand the need on; an element-wise function
// does not.
// CHECK-LABEL: func @through
func.func @through(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x1x1xf32>) -> tensor<1x2xf32> {
  %m = nn.constant dense<1.0> : tensor<16x2xf32>
  // CHECK: nn.unary exp %{{.*}} : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  %0 = nn.unary exp %x : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  // CHECK: nn.unary abs %{{.*}} : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8x!bfp.block<{{.*}}>>
  %1 = nn.unary abs %x : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  // CHECK: nn.add {{.*}} -> tensor<1x16x8x8x!bfp.block<{{.*}}axis = 1>>
  %2 = nn.add %0, %1 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  // CHECK: nn.max_pool {{.*}} -> tensor<1x16x4x4x!bfp.block<{{.*}}axis = 1>>
  %3 = nn.max_pool %2 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  // CHECK: nn.reduce mean {{.*}} -> tensor<1x16x1x1x!bfp.block<{{.*}}axis = 1>>
  %4 = nn.reduce mean %3 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x16x4x4xf32>) -> tensor<1x16x1x1xf32>
  // CHECK: nn.reshape {{.*}} -> tensor<1x16x!bfp.block<{{.*}}axis = 1>>
  %5 = nn.reshape %4 : (tensor<1x16x1x1xf32>) -> tensor<1x16xf32>
  // CHECK: bfp.matmul {{.*}} -> tensor<1x2xf32>
  %6 = bfp.matmul %5, %m : (tensor<1x16xf32>, tensor<16x2xf32>) -> tensor<1x2xf32>
  return %6 : tensor<1x2xf32>
}

// -----

// Heads are split and merged between whole blocks: the product stores the
// blocks, and the reshapes move them.
// CHECK-LABEL: func @heads
func.func @heads(%x: tensor<1x5x64xf32>, %w: tensor<64x64xf32>, %k: tensor<1x2x32x7xf32>, %v: tensor<1x2x7x32xf32>) -> tensor<1x5x64xf32> {
  // CHECK: bfp.matmul {{.*}} -> tensor<1x5x64x!bfp.block<{{.*}}axis = 2>>
  %0 = bfp.matmul %x, %w : (tensor<1x5x64xf32>, tensor<64x64xf32>) -> tensor<1x5x64xf32>
  // CHECK-NEXT: nn.reshape {{.*}} -> tensor<1x5x2x32x!bfp.block<{{.*}}axis = 3>>
  %1 = nn.reshape %0 : (tensor<1x5x64xf32>) -> tensor<1x5x2x32xf32>
  // CHECK: nn.transpose {{.*}} -> tensor<1x2x5x32x!bfp.block<{{.*}}axis = 3>>
  %2 = nn.transpose %1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x5x2x32xf32>) -> tensor<1x2x5x32xf32>
  %3 = bfp.matmul %2, %k : (tensor<1x2x5x32xf32>, tensor<1x2x32x7xf32>) -> tensor<1x2x5x7xf32>
  // CHECK: bfp.matmul {{.*}} -> tensor<1x2x5x32x!bfp.block<{{.*}}axis = 3>>
  %4 = bfp.matmul %3, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x32xf32>) -> tensor<1x2x5x32xf32>
  %5 = nn.transpose %4 {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x2x5x32xf32>) -> tensor<1x5x2x32xf32>
  // CHECK: nn.reshape {{.*}} -> tensor<1x5x64x!bfp.block<{{.*}}axis = 2>>
  %6 = nn.reshape %5 : (tensor<1x5x2x32xf32>) -> tensor<1x5x64xf32>
  %7 = bfp.matmul %6, %w : (tensor<1x5x64xf32>, tensor<64x64xf32>) -> tensor<1x5x64xf32>
  return %7 : tensor<1x5x64xf32>
}

// -----

// Heads of 24 elements would cut blocks of 16: floats are moved.
// CHECK-LABEL: func @heads_cut
func.func @heads_cut(%x: tensor<1x5x48xf32>, %w: tensor<48x48xf32>, %k: tensor<1x2x24x7xf32>) -> tensor<1x2x5x7xf32> {
  // CHECK: bfp.matmul {{.*}} -> tensor<1x5x48xf32>
  %0 = bfp.matmul %x, %w : (tensor<1x5x48xf32>, tensor<48x48xf32>) -> tensor<1x5x48xf32>
  // CHECK: nn.reshape {{.*}} -> tensor<1x5x2x24xf32>
  %1 = nn.reshape %0 : (tensor<1x5x48xf32>) -> tensor<1x5x2x24xf32>
  // CHECK: bfp.encode {{.*}} -> tensor<1x5x2x24x!bfp.block<{{.*}}axis = 3>>
  %2 = nn.transpose %1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x5x2x24xf32>) -> tensor<1x2x5x24xf32>
  %3 = bfp.matmul %2, %k : (tensor<1x2x5x24xf32>, tensor<1x2x24x7xf32>) -> tensor<1x2x5x7xf32>
  return %3 : tensor<1x2x5x7xf32>
}

// -----

// A concat of whole blocks is a view of encoded parts.
// CHECK-LABEL: func @concat_whole
func.func @concat_whole(%x: tensor<1x16x4x4xf32>, %y: tensor<1x5x4x4xf32>, %w: tensor<8x21x1x1xf32>) -> tensor<1x8x4x4xf32> {
  // CHECK: %[[A:.*]] = nn.unary exp {{.*}} -> tensor<1x16x4x4x!bfp.block<
  // CHECK: %[[B:.*]] = nn.unary exp {{.*}} -> tensor<1x5x4x4x!bfp.block<
  // CHECK: nn.concat %[[A]], %[[B]] {{.*}} -> tensor<1x21x4x4x!bfp.block<
  %0 = nn.unary exp %x : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %1 = nn.unary exp %y : (tensor<1x5x4x4xf32>) -> tensor<1x5x4x4xf32>
  %2 = nn.concat %0, %1 {axis = 1 : i64} : (tensor<1x16x4x4xf32>, tensor<1x5x4x4xf32>) -> tensor<1x21x4x4xf32>
  %3 = bfp.conv %2, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x21x4x4xf32>, tensor<8x21x1x1xf32>) -> tensor<1x8x4x4xf32>
  return %3 : tensor<1x8x4x4xf32>
}

// -----

// A concat of broken blocks happens on floats; the encode follows. A part that
// is encoded for another reader is decoded first.
// CHECK-LABEL: func @concat_broken
func.func @concat_broken(%x: tensor<1x5x4x4xf32>, %y: tensor<1x16x4x4xf32>, %w: tensor<8x21x1x1xf32>, %v: tensor<8x5x1x1xf32>)
    -> (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) {
  // CHECK: %[[A:.*]] = nn.unary exp {{.*}} -> tensor<1x5x4x4x!bfp.block<
  // CHECK: %[[B:.*]] = nn.unary exp {{.*}} -> tensor<1x16x4x4xf32>
  // CHECK: %[[AF:.*]] = bfp.decode %[[A]]
  // CHECK: %[[C:.*]] = nn.concat %[[AF]], %[[B]] {{.*}} -> tensor<1x21x4x4xf32>
  // CHECK: %[[CE:.*]] = bfp.encode %[[C]] :
  // CHECK: bfp.conv %[[CE]]
  // CHECK: bfp.conv %[[A]]
  %0 = nn.unary exp %x : (tensor<1x5x4x4xf32>) -> tensor<1x5x4x4xf32>
  %1 = nn.unary exp %y : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %2 = nn.concat %0, %1 {axis = 1 : i64} : (tensor<1x5x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x21x4x4xf32>
  %3 = bfp.conv %2, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x21x4x4xf32>, tensor<8x21x1x1xf32>) -> tensor<1x8x4x4xf32>
  %4 = bfp.conv %0, %v {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x5x4x4xf32>, tensor<8x5x1x1xf32>) -> tensor<1x8x4x4xf32>
  return %3, %4 : tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>
}

// -----

// Slices between blocks are views, others are data movement of floats.
// CHECK-LABEL: func @slices
func.func @slices(%x: tensor<1x48xf32>, %w: tensor<32x2xf32>, %v: tensor<24x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  // CHECK: %[[A:.*]] = nn.unary exp {{.*}} -> tensor<1x48x!bfp.block<
  // CHECK: nn.slice %[[A]] {{.*}} -> tensor<1x32x!bfp.block<
  // CHECK: %[[F:.*]] = bfp.decode %[[A]]
  // CHECK: %[[S:.*]] = nn.slice %[[F]] {{.*}} -> tensor<1x24xf32>
  // CHECK: bfp.encode %[[S]] :
  %0 = nn.unary exp %x : (tensor<1x48xf32>) -> tensor<1x48xf32>
  %1 = nn.slice %0 {starts = array<i64: 0, 16>, steps = array<i64: 1, 1>} : (tensor<1x48xf32>) -> tensor<1x32xf32>
  %2 = nn.slice %0 {starts = array<i64: 0, 24>, steps = array<i64: 1, 1>} : (tensor<1x48xf32>) -> tensor<1x24xf32>
  %3 = bfp.matmul %1, %w : (tensor<1x32xf32>, tensor<32x2xf32>) -> tensor<1x2xf32>
  %4 = bfp.matmul %2, %v : (tensor<1x24xf32>, tensor<24x2xf32>) -> tensor<1x2xf32>
  return %3, %4 : tensor<1x2xf32>, tensor<1x2xf32>
}

// -----

// Needed along two dimensions: a float with two encodings.
// CHECK-LABEL: func @two_axes
func.func @two_axes(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // CHECK: %[[A:.*]] = nn.unary exp {{.*}} -> tensor<16x16xf32>
  // CHECK-DAG: %[[L:.*]] = bfp.encode %[[A]] : {{.*}} -> tensor<16x16x!bfp.block<{{.*}}axis = 1>>
  // CHECK-DAG: %[[R:.*]] = bfp.encode %[[A]] : {{.*}} -> tensor<16x16x!bfp.block<{{.*}}axis = 0>>
  // CHECK: bfp.matmul %[[L]], %[[R]]
  %0 = nn.unary exp %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = bfp.matmul %0, %0 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}

// -----

// An output that a product reads as well keeps its type.
// CHECK-LABEL: func @output_read
func.func @output_read(%x: tensor<16x16xf32>, %w: tensor<16x2xf32>) -> (tensor<16x16xf32>, tensor<16x2xf32>) {
  // CHECK: %[[A:.*]] = nn.unary exp {{.*}} -> tensor<16x16xf32>
  // CHECK: %[[E:.*]] = bfp.encode %[[A]]
  // CHECK: %[[M:.*]] = bfp.matmul %[[E]]
  // CHECK: return %[[A]], %[[M]]
  %0 = nn.unary exp %x : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = bfp.matmul %0, %w : (tensor<16x16xf32>, tensor<16x2xf32>) -> tensor<16x2xf32>
  return %0, %1 : tensor<16x16xf32>, tensor<16x2xf32>
}

// -----

// Attention: a transpose moves whole blocks, so what is transposed is encoded
// before it; a first factor that is constant is an event, not weights.
// CHECK-LABEL: func @constant_left
func.func @constant_left(%x: tensor<16x4xf32>) -> tensor<4x8xf32> {
  // CHECK: bfp.encode %{{[^ ]*}} : tensor<8x16xf32> -> tensor<8x16x!bfp.block<{{.*}}axis = 1>>
  // CHECK: bfp.encode %{{[^ ]*}} weights : tensor<8x8xf32> -> tensor<8x8x!bfp.block<{{.*}}axis = 0>>
  // CHECK: bfp.matmul {{.*}} -> tensor<8x4xf32>
  // CHECK: bfp.encode %{{[^ ]*}} : tensor<8x4xf32> -> tensor<8x4x!bfp.block<{{.*}}axis = 0>>
  // CHECK: nn.transpose {{.*}}axis = 0>>) -> tensor<4x8x!bfp.block<{{.*}}axis = 1>>
  %c = nn.constant dense<2.0> : tensor<8x16xf32>
  %d = nn.constant dense<2.0> : tensor<8x8xf32>
  %0 = bfp.matmul %c, %x : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = nn.transpose %0 {perm = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %2 = bfp.matmul %1, %d : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// A residual that a fused product adds is stored as the product's result is.
// CHECK-LABEL: func @fused_residual
func.func @fused_residual(%x: tensor<1x16x4x4xf32>, %w: tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32> {
  // CHECK: %[[R:.*]] = nn.unary abs {{.*}} -> tensor<1x16x4x4x!bfp.block<
  // CHECK: bfp.conv %{{.*}}, %{{.*}} residual(%[[R]]) {{.*}} -> tensor<1x16x4x4x!bfp.block<
  // CHECK: %[[Q:.*]] = nn.unary neg {{.*}} -> tensor<1x16x4x4xf32>
  // CHECK: bfp.conv %{{.*}}, %{{.*}} residual(%[[Q]]) {{.*}} -> tensor<1x16x4x4xf32>
  %r = nn.unary abs %x : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %0 = bfp.conv %x, %w residual(%r) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>, tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %q = nn.unary neg %x : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %1 = bfp.conv %0, %w residual(%q) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>, tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  return %1 : tensor<1x16x4x4xf32>
}

// -----

// A product makes blocks along its output channels only.
// CHECK-LABEL: func @second_factor
func.func @second_factor(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %a: tensor<2x4xf32>) -> tensor<2x8xf32> {
  // CHECK: %[[V:.*]] = bfp.matmul {{.*}} -> tensor<4x8xf32>
  // CHECK-NEXT: %[[E:.*]] = bfp.encode %[[V]] : tensor<4x8xf32> -> tensor<4x8x!bfp.block<{{.*}}axis = 0>>
  // CHECK-NEXT: bfp.matmul %{{.*}}, %[[E]]
  %0 = bfp.matmul %x, %w : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = bfp.matmul %a, %0 : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}
