// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants and pages, side by side with the loader.

#include "FirstContents.h"
#include "llvm/ADT/STLExtras.h"
#include <system_error>

using namespace ashlar;
using namespace ashlar::emulator;

void emulator::copyConstants(const container::Program &program,
                             Memory &memory) {
  for (const container::Segment &segment : program.constants)
    llvm::copy(segment.bytes, memory.dram(segment.dramOffset));
}

FirstContents::FirstContents(const container::Program &program, Memory &memory,
                             unsigned threads)
    : program(program), memory(memory) {
  if (threads < 2)
    return;
  try {
    thread = std::thread([this, all = hasAll.get_future()]() mutable {
      copyConstants(this->program, this->memory);
      if (all.get())
        this->memory.populateOnChip();
    });
  } catch (const std::system_error &) {
    // No thread: then in finish().
  }
}

FirstContents::~FirstContents() {
  if (!thread.joinable())
    return;
  if (!told)
    hasAll.set_value(false);
  thread.join();
}

void FirstContents::allocated() {
  told = true;
  hasAll.set_value(true);
}

void FirstContents::finish() {
  if (thread.joinable())
    thread.join();
  else
    copyConstants(program, memory);
}
