// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that fills every table of the container.

#ifndef ASHLAR_TEST_UNIT_CONTAINER_SAMPLEPROGRAM_H
#define ASHLAR_TEST_UNIT_CONTAINER_SAMPLEPROGRAM_H

#include "ashlar/Container/Container.h"
#include "ashlar/Isa/Instruction.h"

namespace ashlar::container {

inline Program sampleProgram() {
  Program program;
  program.machine = llvm::cantFail(machine::load("a1-tiny"));
  program.modelName = "sample";
  program.producer = "test";
  program.inputs = {{"x", support::ElementType::F32, {1, 4}, 0}};
  program.outputs = {{"y", support::ElementType::I8, {2, 3}, 64}};
  program.dramBytes = 4096;
  llvm::SmallVector<uint64_t> code;
  isa::SemSignal signal;
  isa::SemWait wait;
  wait.queue = isa::Queue::Vec;
  for (const isa::Instruction &inst : std::vector<isa::Instruction>{
           isa::DmaCopy(), signal, wait, isa::VecMap()})
    llvm::cantFail(isa::encode(inst, code));
  program.code.assign(code.begin(), code.end());
  program.addConstant(128, {1, 2, 3, 4, 5});
  program.addConstant(256, std::vector<uint8_t>(100, 0xaa));
  program.nodes = {{"Conv_0", "Conv", "pe", {"Relu_1", "Add_2"}, 12, {"t1"}},
                   {"Add_3", "Add", "vec", {}, 0, {}}};
  program.nodeOfInstruction = {0, Program::noNode, 1, 1};
  program.numericPlanJson = "{\"schema\":\"ashlar-plan\"}";
  program.decisionsJson = "[]";
  TensorPlacement sb;
  sb.name = "t1";
  sb.encoded = true;
  sb.mantissa = 8, sb.block = 16, sb.range = 7, sb.blockAxis = 1, sb.xr = 5;
  sb.shape = {1, 12, 4};
  sb.strides = {0, 0, 1};
  sb.channelAxis = 1;
  sb.tileStride = 64;
  sb.afterInstruction = 3;
  TensorPlacement dram;
  dram.name = "t2";
  dram.memory = PlacementMemory::Dram;
  dram.shape = {2, 8};
  dram.strides = {32, 4};
  dram.baseOffset = 1024;
  // Two groups of channels, three rows: six cells.
  TensorPlacement cells = dram;
  cells.name = "t3";
  cells.type = support::ElementType::I8;
  cells.shape = {1, 12, 3, 8};
  cells.strides = {288, 24, 8, 1};
  cells.baseOffset = 2048;
  cells.cellChannels = 8, cells.cellBytes = 96, cells.cellPitch = 128;
  program.dumps = {sb, dram, cells};
  program.semaphores = 1;
  program.proofs = {{"Conv_0", 27, 40}};
  return program;
}

} // namespace ashlar::container

#endif // ASHLAR_TEST_UNIT_CONTAINER_SAMPLEPROGRAM_H
