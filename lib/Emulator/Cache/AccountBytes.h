// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The account of a program (Time/KeptAccount.h) as bytes.

#ifndef ASHLAR_LIB_EMULATOR_CACHE_ACCOUNTBYTES_H
#define ASHLAR_LIB_EMULATOR_CACHE_ACCOUNTBYTES_H

#include "Bytes.h"
#include "ashlar/Emulator/Result.h"

namespace ashlar::emulator {

void writeAccount(const RunResult &account, Writer &out);
/// The reverse; bytes that are none make `in.good` false.
RunResult readAccount(Reader &in);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_CACHE_ACCOUNTBYTES_H
