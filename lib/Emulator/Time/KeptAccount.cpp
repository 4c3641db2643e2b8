// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which fields of a result are the account's.

#include "KeptAccount.h"
#include "AccountThread.h"
#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::emulator;

/// The fields of a node that the account fills: all but those that an
/// execution counts.
static void copyTimed(const NodeStats &from, NodeStats &to) {
  const NodeStats counted = to;
  to = from;
  to.saturated = counted.saturated;
  to.underflow = counted.underflow;
  to.fetched = counted.fetched;
  to.saturatedAtFetch = counted.saturatedAtFetch;
  to.nonFinite = counted.nonFinite;
  to.repaired = counted.repaired;
}

static void copyTimed(const RunResult &from, RunResult &to) {
  to.timed = from.timed;
  to.totalCycles = from.totalCycles;
  to.idleCycles = from.idleCycles;
  to.queues = from.queues;
  to.dramBusy = from.dramBusy;
  to.dramUseful = from.dramUseful;
  to.dramActivations = from.dramActivations;
  to.dramRowHits = from.dramRowHits;
  to.dramRefresh = from.dramRefresh;
  to.nodes.resize(from.nodes.size());
  for (auto [source, target] : llvm::zip_equal(from.nodes, to.nodes))
    copyTimed(source, target);
  copyTimed(from.unassigned, to.unassigned);
}

/// Times of single instructions and traces are not kept.
static bool isWhole(const Options &options) {
  return options.timing && !options.recordTimes && !options.traceDram;
}

bool emulator::addKeptAccount(const LoadedProgram::Impl &impl,
                              const Options &options, RunResult &result) {
  if (!impl.account || !isWhole(options))
    return false;
  copyTimed(*impl.account, result);
  return true;
}

void emulator::keepAccount(LoadedProgram::Impl &impl, const Options &options,
                           const RunResult &result) {
  if (!isWhole(options) || !result.timed || dataDecidesTime(impl.code))
    return;
  impl.account.emplace();
  copyTimed(result, *impl.account);
}
