// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two worked transposes of the source document on the hardware model.

#ifndef ASHLAR_TEST_RTL_TRANSPOSES_H
#define ASHLAR_TEST_RTL_TRANSPOSES_H

namespace ashlar::rtl {

/// Runs both in all three orders of the drain and prints what happened when;
/// false if anything differs from the document or the emulator.
bool runTransposes();

} // namespace ashlar::rtl

#endif // ASHLAR_TEST_RTL_TRANSPOSES_H
