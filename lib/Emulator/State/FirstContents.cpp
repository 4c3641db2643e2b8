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
    thread = std::thread([this] {
      copyConstants(this->program, this->memory);
      others.wait(Others::Unknown);
      if (others == Others::Allocated)
        this->memory.populateOnChip();
    });
  } catch (const std::system_error &) {
    // No thread: then in finish().
  }
}

FirstContents::~FirstContents() {
  if (!thread.joinable())
    return;
  if (others == Others::Unknown)
    tell(Others::Missing);
  thread.join();
}

void FirstContents::tell(Others state) {
  others = state;
  others.notify_one();
}

void FirstContents::allocated() { tell(Others::Allocated); }

void FirstContents::finish() {
  if (thread.joinable())
    thread.join();
  else
    copyConstants(program, memory);
}
