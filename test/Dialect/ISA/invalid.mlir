// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of the parser and of the range verifier.
// REQUIRES: ashlar-opt
// RUN: ashlar-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{pe.load has no field 'row'}}
isa.pe.load(row = 1)

// -----

// expected-error @below {{field 'rows' is given twice}}
isa.pe.load(rows = 1, rows = 1)

// -----

// expected-error @below {{field 'type' is 'f8', which is not a valid ElemType}}
isa.pe.load(type = f8)

// -----

// expected-error @below {{field 'alpha' is 'inf', expected a binary32 number or its bits as 0x...}}
isa.vec.map(alpha = "inf")

// -----

// expected-error @below {{'isa.pe.load' op pe.load: field 'rows' is 4096, must be in [1, 4095]}}
isa.pe.load(rows = 4096)

// -----

// expected-error @below {{dma.copy: queue is 5, must be one of dma0, dma1, dma2, dma3}}
isa.dma.copy(queue = pe)

// -----

// expected-error @below {{'isa.dma.fill' op dma.fill: field 'elemBytes' is 3, must be one of 1, 2, 4, 8}}
isa.dma.fill(elemBytes = 3)

// -----

// expected-error @below {{'isa.sem.wait' op sem.wait: has 1 field values, expected 2}}
"isa.sem.wait"() {fields = array<i64: 1>} : () -> ()

// -----

isa.program "stray" dram 64 semaphores 0 {
  // expected-error @below {{'builtin.module' op must not be in a program, expected its tables and instructions only}}
  builtin.module {}
}

// -----

// expected-error @below {{'isa.binding' op expects parent op 'isa.program'}}
isa.binding input "x" : tensor<4xf32> at 0

// -----

isa.program "words" dram 64 semaphores 0 {
  // expected-error @below {{'isa.data' op expected bytes as a tensor of i8 of rank 1, found 'tensor<2xi32>'}}
  isa.data at 0 = dense<[1, 2]> : tensor<2xi32>
}

// -----

isa.program "p" dram 64 semaphores 0 {
  // expected-error @below {{expected a static shape, found 'tensor<?xf32>'}}
  isa.binding input "x" : tensor<?xf32> at 0
}

// -----

isa.program "p" dram 64 semaphores 0 {
  // expected-error @below {{has address -1, expected one in [0, 1099511627775]}}
  isa.binding input "x" : tensor<4xf32> at -1
}

// -----

// expected-error @below {{has semaphores -1, expected one in [0, 65536]}}
isa.program "p" dram 64 semaphores -1 {
}

// -----

isa.program "p" dram 64 semaphores 0 {
  // expected-error @below {{expected an axis, strides and cells of rank 1}}
  isa.planned "x" : tensor<4xf32> {base = 0 : i64, partition = 0 : i64, channel_axis = 1 : i64, tile_stride = 0 : i64, strides = array<i64: 4>, exponent_base = 0 : i64, exponent_strides = array<i64>, xr = 0 : i64}
}

// -----

isa.program "p" dram 64 semaphores 0 {
  // expected-error @below {{has lanes -1, expected one in [0, 4294967295]}}
  isa.planned "x" : tensor<4xf32> {lanes = -1 : i64, base = 0 : i64, partition = 0 : i64, channel_axis = 0 : i64, tile_stride = 0 : i64, strides = array<i64: 4>, exponent_base = 0 : i64, exponent_strides = array<i64>, xr = 0 : i64}
}
