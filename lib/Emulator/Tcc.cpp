// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sparse cluster.

#include "Costs.h"
#include "Engine.h"

using namespace ashlar;
using namespace ashlar::emulator;

// checkFields() refuses these instructions before they could be executed.
void Engine::execute(const isa::TccTile &) {}
void Engine::execute(const isa::DmaTile &) {}
void Engine::execute(const isa::TccInit &) {}
void Engine::execute(const isa::TccRun &) {}
Cost CostModel::of(const isa::TccTile &) { return {}; }
Cost CostModel::of(const isa::DmaTile &) { return {}; }
Cost CostModel::of(const isa::TccInit &) { return {}; }
Cost CostModel::of(const isa::TccRun &) { return {}; }
