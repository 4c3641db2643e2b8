// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The array on words instead of aligned integers: select mode passes stored
// words through, float mode multiplies and adds in binary32.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_WORDARRAY_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_WORDARRAY_H

#include "../State/Words.h"
#include "Engine.h"
#include <string>

namespace ashlar::emulator {

/// Fills the shadow set with words.
void loadWords(Engine &engine, const isa::PeLoad &op);

/// An error text if the moving operand breaks the promise of `window`, else
/// empty. For every mode.
std::string brokenWindow(const Memory &memory, const isa::PeMatmul &op);

/// Streams through a set of words.
void multiplyWords(Engine &engine, const isa::PeMatmul &op);

/// act.drain of mode raw64.
void drainWords(Engine &engine, const isa::ActDrain &op);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_WORDARRAY_H
