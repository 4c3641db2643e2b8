// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One tiny module per verifier message; functions are named after constraints.
// RUN: ashlar-opt --split-input-file --verify-diagnostics %s

func.func @sequence_c1(%x: tensor<8x32xf32>) {
  // expected-error@+1 {{expected the result of an operation of npu}}
  tile.sequence %x : tensor<8x32xf32> {
  }
  return
}

// -----

func.func @for_c1(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    // expected-error@+1 {{expected from 1 to 16777216 iterations, found 0}}
    tile.for %i < 0 {
    }
  }
  return %0 : tensor<8x32xf32>
}

// -----

func.func @for_c2() {
  // expected-error@+1 {{expected to be in a sequence or a loop}}
  tile.for %i < 2 {
  }
  return
}

// -----

func.func @steps_are_in_sequences() {
  // expected-error@+1 {{expected to be in a sequence or a loop}}
  %b = tile.alloc [0] bytes 64 : <tensor<8x16xf32>, axis = 0>
  return
}

// -----

func.func @sequences_have_steps(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    // expected-error@+1 {{is not an operation on tiles}}
    %c = "nn.constant"() {value = dense<0.5> : tensor<4xf32>} : () -> tensor<4xf32>
  }
  return %0 : tensor<8x32xf32>
}

// -----

func.func @alloc_c1_bytes(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    // expected-error@+1 {{expected bytes from 0 on}}
    %b = tile.alloc [0] bytes -1 : <tensor<8x16xf32>, axis = 0>
  }
  return %0 : tensor<8x32xf32>
}

// -----

func.func @alloc_c1_addresses(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    // expected-error@+1 {{expected 1 numbers, found 2}}
    %b = tile.alloc [0, 8] bytes 64 : <tensor<8x16xf32>, axis = 0>
  }
  return %0 : tensor<8x32xf32>
}

// -----

func.func @load_c1(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    %b = tile.alloc [0] bytes 64 : <tensor<8x16xf32>, axis = 0>
    // expected-error@+1 {{has a region of other extents than 'tensor<8x16xf32>'}}
    tile.load operand 0 [0, 0] sizes [8, 8] into %b : <tensor<8x16xf32>, axis = 0>
  }
  return %0 : tensor<8x32xf32>
}

// -----

func.func @load_c1_rank(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    %b = tile.alloc [0] bytes 64 : <tensor<8x16xf32>, axis = 0>
    // expected-error@+1 {{expected 2 numbers, found 1}}
    tile.load operand 0 [0] sizes [8, 16] into %b : <tensor<8x16xf32>, axis = 0>
  }
  return %0 : tensor<8x32xf32>
}

// -----

func.func @fill_c1(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    %b = tile.alloc [0] bytes 64 : <tensor<8x16xf32>, axis = 0>
    // expected-error@+1 {{has a region of other extents than 'tensor<8x16xf32>'}}
    tile.fill operand 0 [0, 0] sizes [8, 8] bits 0 into %b : <tensor<8x16xf32>, axis = 0>
  }
  return %0 : tensor<8x32xf32>
}

// -----

func.func @view_c1(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    // expected-error@+1 {{has a region of other extents than 'tensor<8x16xf32>'}}
    %v = tile.view operand 0 [0, 0] sizes [8, 8] : <tensor<8x16xf32>, axis = 0>
  }
  return %0 : tensor<8x32xf32>
}

// -----

func.func @store_c1(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    %b = tile.alloc [0] bytes 64 : <tensor<8x16xf32>, axis = 0>
    // expected-error@+1 {{has a region of other extents than 'tensor<8x16xf32>'}}
    tile.store %b to [0, 0] sizes [8, 8] : <tensor<8x16xf32>, axis = 0>
  }
  return %0 : tensor<8x32xf32>
}

// -----

func.func @compute_c1(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    %b = tile.alloc [0] bytes 64 : <tensor<8x16xf32>, axis = 0>
    // expected-error@+1 {{reads 2 operands, but has 1 inputs}}
    tile.compute [0, 0] sizes [8, 16] reads [0, 1] (%b : !tile.buffer<tensor<8x16xf32>, axis = 0>) into %b : !tile.buffer<tensor<8x16xf32>, axis = 0>
  }
  return %0 : tensor<8x32xf32>
}

// -----

func.func @compute_negative(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    %b = tile.alloc [0] bytes 64 : <tensor<8x16xf32>, axis = 0>
    // expected-error@+1 {{has a region of a negative extent}}
    tile.compute [0, 0] sizes [8, -16] reads [] into %b : !tile.buffer<tensor<8x16xf32>, axis = 0>
  }
  return %0 : tensor<8x32xf32>
}

// -----

// expected-error@+1 {{expected fixed extents and axis 2 to be one of 'tensor<8x16xf32>'}}
func.func private @buffer_c1(!tile.buffer<tensor<8x16xf32>, axis = 2>)

// -----

// expected-error@+1 {{expected the axes of the fold to be axes of 'tensor<8x16xf32>'}}
func.func private @buffer_c2(!tile.buffer<tensor<8x16xf32>, axis = 0, fold = <count = 2, pitch = 4, axis = 3>>)

// -----

// expected-error@+2 {{failed to parse Tile_BufferType parameter 'fold'}}
// expected-error@+1 {{expected from two neighbours, a pitch from 1 and axes, 65536 at most, found count 1, pitch 4, axis 1, across 1, repeated 0}}
func.func private @fold(!tile.buffer<tensor<8x16xf32>, axis = 0, fold = <count = 1, pitch = 4, axis = 1>>)
