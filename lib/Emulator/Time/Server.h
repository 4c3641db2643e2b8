// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What queues share: a server works for one instruction at a time and is
// granted in program order, so that the time of every start is a maximum of
// sums, and a machine that is better in one number is never slower.

#ifndef ASHLAR_LIB_EMULATOR_TIME_SERVER_H
#define ASHLAR_LIB_EMULATOR_TIME_SERVER_H

#include "../Impl.h"
#include "ashlar/Machine/Ports.h"

namespace ashlar::emulator {

/// A moment and the instruction that made it so.
struct Moment {
  uint64_t cycle = 0;
  uint32_t instruction = noInstruction;
};

/// What one instruction needs of one server.
struct Claim {
  unsigned server = 0;
  uint64_t after = 0;  ///< Cycles from the instruction's start to its turn.
  uint64_t cycles = 0; ///< For so long the server works for it.
};

/// The servers of a machine: off-chip memory, and the banks of the state
/// buffer.
class Servers {
public:
  static constexpr unsigned dram = 0;
  static unsigned bank(size_t bank) { return 1 + static_cast<unsigned>(bank); }

  explicit Servers(const machine::Description &machine)
      : servers(1 + machine.sb.banks) {}

  /// The moment before which no instruction with \p claim starts: the server is
  /// free at its turn, and whatever comes before it has started. It is not
  /// known before that when the server will be free.
  Moment earliest(const Claim &claim) const {
    const Server &server = servers[claim.server];
    Moment moment = server.free;
    moment.cycle -= std::min(moment.cycle, claim.after);
    return moment.cycle < server.start.cycle ? server.start : moment;
  }

  /// Instruction \p index starts at \p start, not before earliest().
  void grant(const Claim &claim, uint64_t start, uint32_t index) {
    servers[claim.server] = {{start + claim.after + claim.cycles, index},
                             {start, index}};
  }

  /// Why an instruction waits for \p server.
  static StallCause cause(unsigned server) {
    return server == dram ? StallCause::DramBusy : StallCause::SbBusy;
  }

private:
  struct Server {
    Moment free;  ///< The end of the last grant.
    Moment start; ///< Of the instruction that has it.
  };

  std::vector<Server> servers;
};

/// What an instruction needs of the servers. It takes at least as long as the
/// busiest bank of SB works for it, which \p timing then does too.
inline void addClaims(machine::Timing &timing, llvm::ArrayRef<uint64_t> banks,
                      llvm::SmallVectorImpl<Claim> &claims) {
  if (timing.dram > 0)
    claims.push_back({Servers::dram, timing.setup, timing.dram});
  for (size_t bank = 0; bank < banks.size(); ++bank)
    if (banks[bank] > 0) {
      claims.push_back({Servers::bank(bank), timing.setup, banks[bank]});
      timing = machine::withPorts(timing, banks[bank]);
    }
}

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TIME_SERVER_H
