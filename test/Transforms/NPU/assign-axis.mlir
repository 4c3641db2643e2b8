// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which axis of each result lies across partitions.
//
// RUN: ashlar-opt --ashlar-npu-assign-axis --split-input-file %s | FileCheck %s

!x = tensor<1x16x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Encoded results lie across their block axis; what follows keeps the axis.
// CHECK-LABEL: func.func @encoded(
// CHECK: npu.vec.map "copy"({{.*}}#npu.layout<axis = 1
// CHECK: npu.vec.map "copy"({{.*}}#npu.layout<axis = 1
// CHECK: npu.vec.pool "max"({{.*}}#npu.layout<axis = 1
// CHECK: npu.vec.reduce "mean"({{.*}}#npu.layout<axis = 1
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @encoded(%arg0: tensor<1x16x4x4xf32>) -> tensor<1x16xf32> {
  %0 = npu.vec.map "copy"(%arg0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x16x4x4xf32>) -> !x
  %1 = npu.vec.map "copy"(%0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!x) -> tensor<1x16x4x4xf32>
  %2 = npu.vec.pool "max"(%1) {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (tensor<1x16x4x4xf32>) -> tensor<1x16x2x2xf32>
  %3 = npu.vec.reduce "mean"(%2) {axes = array<i64: 2, 3>, select_last = false} : (tensor<1x16x2x2xf32>) -> tensor<1x16xf32>
  return %3 : tensor<1x16xf32>
}
}

// -----

// Free results: channels of a feature map, else the last axis.
// CHECK-LABEL: func.func @free(
// CHECK: npu.vec.map "relu"({{.*}}#npu.layout<axis = 1{{.*}}tensor<1x3x4x4xf32>
// CHECK: npu.vec.map "relu"({{.*}}#npu.layout<axis = 1{{.*}}tensor<4x5xf32>
// CHECK: npu.vec.map "relu"({{.*}}#npu.layout<axis = -1{{.*}}tensor<f32>
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @free(%a: tensor<1x3x4x4xf32>, %b: tensor<4x5xf32>, %c: tensor<f32>) {
  %0 = npu.vec.map "relu"(%a) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %1 = npu.vec.map "relu"(%b) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %2 = npu.vec.map "relu"(%c) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<f32>) -> tensor<f32>
  return
}
}

// -----

// Reductions never lie across the axis that they sum over, a maximum not across
// one of its windows. Rows of a softmax lie where partitions hold least: across them
// (4 elements each) rather than within (5).
// CHECK-LABEL: func.func @never(
// CHECK: npu.vec.softmax({{.*}}#npu.layout<axis = 1
// CHECK: npu.vec.reduce "sum"({{.*}}#npu.layout<axis = 0
// CHECK: npu.vec.reduce "sum"({{.*}}#npu.layout<axis = -1
// CHECK: npu.vec.pool "max"({{.*}}#npu.layout<axis = 0
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @never(%a: tensor<4x5xf32>, %b: tensor<2x1x9xf32>) {
  %0 = npu.vec.softmax(%a) {axis = 1 : i64, log = false} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %1 = npu.vec.reduce "sum"(%a) {axes = array<i64: 1>, select_last = false} : (tensor<4x5xf32>) -> tensor<4xf32>
  %2 = npu.vec.reduce "sum"(%a) {axes = array<i64: 0, 1>, select_last = false} : (tensor<4x5xf32>) -> tensor<f32>
  %3 = npu.vec.pool "max"(%b) {kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, count_include_pad = false} : (tensor<2x1x9xf32>) -> tensor<2x1x7xf32>
  return
}
}

// -----

// An encoded softmax along its block axis works across it if that is the shorter
// way; otherwise it works across another axis and is laid out again.
!y = tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!z = tensor<64x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// CHECK-LABEL: func.func @work_axis(
// CHECK: npu.vec.softmax({{.*}}#npu.layout<axis = 1
// CHECK-NOT: work_axis
// CHECK: npu.vec.softmax({{.*}}#npu.layout<axis = 1, work_axis = 0
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @work_axis(%a: tensor<4x16xf32>, %b: tensor<64x16xf32>) -> (!y, !z) {
  %0 = npu.vec.softmax(%a) {axis = 1 : i64, log = false} : (tensor<4x16xf32>) -> !y
  %1 = npu.vec.softmax(%b) {axis = 1 : i64, log = false} : (tensor<64x16xf32>) -> !z
  return %0, %1 : !y, !z
}
}

// -----

// Positions by fours lie across partitions in succession, wherever views,
// element-wise operations and moves read them; a reader that requests an axis
// keeps the default one.
// CHECK-LABEL: func.func @positions(
// CHECK: npu.dma.move "concat"({{.*}}#npu.layout<axis = 1
// CHECK: npu.dma.move "slice"({{.*}}#npu.layout<axis = 1
// CHECK: npu.vec.map "exp"({{.*}}#npu.layout<axis = 1
// CHECK: npu.vec.map "relu"({{.*}}#npu.layout<axis = 1
// CHECK-LABEL: func.func @encodedReader(
// CHECK: npu.vec.map "exp"({{.*}}#npu.layout<axis = 2
// CHECK: npu.vec.map "copy"({{.*}}#npu.layout<axis = 2
!p = tensor<1x400x4xf32>
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @positions(%a: tensor<1x300x4xf32>, %b: tensor<1x100x4xf32>, %c: !p) -> (tensor<1x400x2xf32>, !p) {
  %0 = npu.dma.move "concat"(%a, %b) {patterns = [array<i64: 0, 3, 3, 1, 0, 1, 0, 1, 300, 1, 1, 1, 1, 4, 2, 1, 2, 1, 0, 0, 0, 0, 0, 0>, array<i64: 1, 3, 3, 1, 0, 1, 0, 1, 100, 1, 1, 1, 1, 4, 2, 1, 2, 1, 0, 0, 0, 0, 300, 0>]} : (tensor<1x300x4xf32>, tensor<1x100x4xf32>) -> !p
  %1 = npu.dma.move "slice"(%0) {patterns = [array<i64: 0, 3, 3, 1, 0, 1, 0, 1, 400, 1, 1, 1, 1, 2, 2, 1, 2, 1, 0, 0, 2, 0, 0, 0>]} : (!p) -> tensor<1x400x2xf32>
  %2 = npu.vec.map "exp"(%1) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x400x2xf32>) -> tensor<1x400x2xf32>
  %3 = npu.vec.map "relu"(%c) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!p) -> !p
  return %2, %3 : tensor<1x400x2xf32>, !p
}
}

// -----

!p = tensor<1x400x4xf32>
!e = tensor<1x400x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @encodedReader(%a: !p) -> !e {
  %0 = npu.vec.map "exp"(%a) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!p) -> !p
  %1 = npu.vec.map "copy"(%0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!p) -> !e
  return %1 : !e
}
}

// -----

// A normalisation of rows: the reduction gets a copy of its operand across the
// rows anyway, and 8 of 8 partitions then hold 6 elements each instead of 8 in 6.
// CHECK-LABEL: func.func @rows(
// CHECK: npu.vec.map "relu"{{.*}}layout = #npu.layout<axis = 1>
// CHECK: npu.vec.reduce "mean"{{.*}}layout = #npu.layout<axis = 0>
// CHECK: npu.vec.map "sub"{{.*}}layout = #npu.layout<axis = 0>
// CHECK: npu.vec.map "mul"{{.*}}layout = #npu.layout<axis = 0>
// CHECK: npu.vec.reduce "mean"{{.*}}layout = #npu.layout<axis = 0>
// CHECK: npu.vec.map "div"{{.*}}layout = #npu.layout<axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 65536}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @rows(%arg0: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %0 = npu.vec.map "relu"(%arg0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %1 = npu.vec.reduce "mean"(%0) {axes = array<i64: 1>, select_last = false} : (tensor<8x6xf32>) -> tensor<8x1xf32>
  %2 = npu.vec.map "sub"(%0, %1) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x6xf32>, tensor<8x1xf32>) -> tensor<8x6xf32>
  %3 = npu.vec.map "mul"(%2, %2) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %4 = npu.vec.reduce "mean"(%3) {axes = array<i64: 1>, select_last = false} : (tensor<8x6xf32>) -> tensor<8x1xf32>
  %5 = npu.vec.map "div"(%2, %4) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x6xf32>, tensor<8x1xf32>) -> tensor<8x6xf32>
  return %5 : tensor<8x6xf32>
}
}

// -----

// Rows that leave partitions fuller stay where they are.
// CHECK-LABEL: func.func @few_rows(
// CHECK: npu.vec.map "sub"{{.*}}layout = #npu.layout<axis = 1>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 65536}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @few_rows(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = npu.vec.map "relu"(%arg0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = npu.vec.reduce "mean"(%0) {axes = array<i64: 1>, select_last = false} : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %2 = npu.vec.map "sub"(%0, %1) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}
}

// -----

// Windows that sum as many neighbours each keep their axis across partitions:
// no change of layout. Those that divide by what lies inside, and maxima, do
// not.
// CHECK-LABEL: func.func @sums(
// CHECK: npu.vec.map "mul"({{.*}}#npu.layout<axis = 2>
// CHECK: npu.vec.pool "sum"({{.*}}#npu.layout<axis = 2>
// CHECK: npu.vec.map "mul"({{.*}}#npu.layout<axis = 2>
// CHECK: npu.vec.pool "avg"({{.*}}#npu.layout<axis = 2>
// CHECK: npu.vec.pool "avg"({{.*}}#npu.layout<axis = 3>
// CHECK: npu.vec.pool "max"({{.*}}#npu.layout<axis = 3>
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @sums(%a: tensor<1x1x64x64xf32>, %b: tensor<1x1x64x64xf32>) {
  %0 = npu.vec.map "mul"(%a, %a) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x1x64x64xf32>, tensor<1x1x64x64xf32>) -> tensor<1x1x64x64xf32>
  %1 = npu.vec.pool "sum"(%0) {kernel = array<i64: 5, 1>, strides = array<i64: 1, 1>, pads = array<i64: 2, 0, 2, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (tensor<1x1x64x64xf32>) -> tensor<1x1x64x64xf32>
  %2 = npu.vec.map "mul"(%b, %b) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x1x64x64xf32>, tensor<1x1x64x64xf32>) -> tensor<1x1x64x64xf32>
  %3 = npu.vec.pool "avg"(%2) {kernel = array<i64: 3, 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 1>, count_include_pad = true} : (tensor<1x1x64x64xf32>) -> tensor<1x1x64x64xf32>
  %4 = npu.vec.pool "avg"(%b) {kernel = array<i64: 3, 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (tensor<1x1x64x64xf32>) -> tensor<1x1x64x64xf32>
  %5 = npu.vec.pool "max"(%b) {kernel = array<i64: 3, 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (tensor<1x1x64x64xf32>) -> tensor<1x1x64x64xf32>
  return
}
}

// -----

// Features lie across partitions, for their blocks: a mean along them goes through
// the partitions, and so does what is made of the difference. Functions of the
// results, one for each position, work across positions.
!b = tensor<1x197x384x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
!x = tensor<1x197x384xf32>
!r = tensor<1x197x1xf32>
// CHECK-LABEL: func.func @through(
// CHECK: npu.vec.map "relu"({{.*}}#npu.layout<axis = 2>
// CHECK: npu.vec.reduce "mean"({{.*}}#npu.layout<axis = 2>
// CHECK: npu.vec.map "sub"({{.*}}#npu.layout<axis = 2>
// CHECK: npu.vec.reduce "sumSquare"({{.*}}#npu.layout<axis = 2>
// CHECK: npu.vec.map "sqrt"({{.*}}#npu.layout<axis = 1>
// CHECK: npu.vec.map "mul"({{.*}}#npu.layout<axis = 1>
// CHECK: npu.vec.map "mul"({{.*}}#npu.layout<axis = 2>
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @through(%b: !b) -> !b {
  %x = npu.vec.map "relu"(%b) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!b) -> !x
  %mean = npu.vec.reduce "mean"(%x) {axes = array<i64: 2>, select_last = false} : (!x) -> !r
  %d = npu.vec.map "sub"(%x, %mean) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !r) -> !x
  %v = npu.vec.reduce "sumSquare"(%d) {axes = array<i64: 2>, select_last = false} : (!x) -> !r
  %s = npu.vec.map "sqrt"(%v) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!r) -> !r
  %t = npu.vec.map "mul"(%mean, %s) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!r, !r) -> !r
  %y = npu.vec.map "mul"(%d, %t) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !r) -> !b
  return %y : !b
}
}

// -----

// Through the partitions of a transposed map, which then is the map itself; of one
// that does not stay in the chip, rows of channels are laid anew.
!m = tensor<1x96x56x56xf32>
!n = tensor<1x56x56x96xf32>
!s = tensor<1x56x56x1xf32>
// CHECK-LABEL: func.func @view(
// CHECK: npu.dma.move "transpose"({{.*}}#npu.layout<axis = 3>
// CHECK: npu.vec.reduce "sum"({{.*}}#npu.layout<axis = 3>
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @view(%x: !m) -> (!m, !s) {
  %r = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!m) -> !m
  %t = npu.dma.move "transpose"(%r) {patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 96, 1, 1, 3, 1, 56, 2, 1, 1, 1, 56, 3, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (!m) -> !n
  %s = npu.vec.reduce "sum"(%t) {axes = array<i64: 3>, select_last = false} : (!n) -> !s
  return %r, %s : !m, !s
}
}

// -----

!m = tensor<1x96x56x56xf32>
!n = tensor<1x56x56x96xf32>
!s = tensor<1x56x56x1xf32>
// CHECK-LABEL: func.func @outside(
// CHECK: npu.dma.move "transpose"({{.*}}#npu.layout<axis = 1>
// CHECK: npu.vec.reduce "sum"({{.*}}#npu.layout<axis = 1>
module attributes {ashlar.target = #ashlar.target<"a1-edge", base = "a1-edge">} {
func.func @outside(%x: !m) -> (!m, !s) {
  %r = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!m) -> !m
  %t = npu.dma.move "transpose"(%r) {patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 96, 1, 1, 3, 1, 56, 2, 1, 1, 1, 56, 3, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (!m) -> !n
  %s = npu.vec.reduce "sum"(%t) {axes = array<i64: 3>, select_last = false} : (!n) -> !s
  return %r, %s : !m, !s
}
}
