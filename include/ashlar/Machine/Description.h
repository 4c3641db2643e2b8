// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine as numbers: every parameter that may influence a decision of the
// compiler or a time of the emulator. Nothing in the project branches on a
// machine's name. docs/Machine.md explains each parameter.
//
// All numbers are 64 bits wide so that products of two of them cannot wrap
// after validate() has accepted the description.

#ifndef ASHLAR_MACHINE_DESCRIPTION_H
#define ASHLAR_MACHINE_DESCRIPTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <bit>
#include <cstdint>
#include <string>

namespace ashlar::machine {

/// How the time of a DRAM transfer follows from its bursts.
enum class DramModel : uint64_t {
  Ideal,      ///< Bursts at the full rate.
  Efficiency, ///< Bursts at a share of the full rate.
  Banked,     ///< Banks with open rows, activation and refresh.
};

/// Off-chip memory: one server, granted in program order.
struct Dram {
  uint64_t bytesPerCycle = 64;        ///< Bytes per cycle while transferring.
  uint64_t latency = 200;             ///< Cycles from request to first byte.
  uint64_t burstBytes = 64;           ///< Smallest transfer; a power of two.
  uint64_t bytes = uint64_t(4) << 30; ///< Capacity in bytes.
  uint64_t model = 0;                 ///< A DramModel.
  uint64_t efficiency = 100; ///< Percent of the rate; model `efficiency`.
  /// A run that starts inside a burst takes the bursts that it touches, not
  /// those of its length.
  uint64_t countsMisaligned = false;
  // The rest is for the model `banked`; times in cycles.
  uint64_t banks = 16;
  uint64_t rowBytes = 2048;        ///< Bytes of an open row.
  uint64_t activateCycles = 18;    ///< tRCD.
  uint64_t prechargeCycles = 18;   ///< tRP.
  uint64_t columnCycles = 20;      ///< tCAS.
  uint64_t refreshInterval = 3900; ///< tREFI.
  uint64_t refreshCycles = 280;    ///< tRFC.
  bool operator==(const Dram &) const = default;

  DramModel kind() const { return static_cast<DramModel>(model); }
};

/// The copy engines.
struct Dma {
  uint64_t queues = 4;                ///< DMA0 .. DMA(queues-1).
  uint64_t onchipBytesPerCycle = 128; ///< Bytes per cycle and queue.
  uint64_t setupCycles = 0;   ///< Per descriptor, before its first byte.
  uint64_t onchipLatency = 0; ///< Cycles of a transfer inside the chip.
  /// Contiguous runs that a queue gathers or scatters on chip per cycle; 0: any
  /// number.
  uint64_t runsPerCycle = 0;
  /// Rate at which a queue decodes a stream whose zeros are left out, in stored
  /// codes per cycle; 0: queues read dense streams only.
  uint64_t decodedCodesPerCycle = 128;
  bool operator==(const Dma &) const = default;
};

/// State buffer: addressed by (partition, byte).
struct StateBuffer {
  uint64_t partitions = 128;
  uint64_t bytesPerPartition = 65536;
  /// Banks of each partition, ranges of bankBytes() bytes; 0: no two accesses
  /// ever compete.
  uint64_t banks = 0;
  uint64_t ports = 1;      ///< Accesses per bank and cycle.
  uint64_t portBytes = 16; ///< Bytes of one access; a power of two.
  uint64_t bytes() const { return partitions * bytesPerPartition; }
  /// Bytes of one bank, whole accesses; the last bank may be smaller.
  uint64_t bankBytes() const {
    if (!banks)
      return bytesPerPartition;
    const uint64_t share = (bytesPerPartition + banks - 1) / banks;
    return (share + portBytes - 1) / portBytes * portBytes;
  }
  bool operator==(const StateBuffer &) const = default;
};

/// The dense cluster: R rows (contraction) by C columns (results).
struct PeArray {
  uint64_t rows = 128;
  uint64_t columns = 64;
  uint64_t cellDigitBits = 8;       ///< Bits per multiplier digit and pass.
  uint64_t rowGroupGranularity = 8; ///< Row groups are multiples of this.
  uint64_t loadRowsPerCycle = 1;    ///< Stationary rows loaded per cycle.
  uint64_t shadowSet = true;        ///< A second stationary set to load into.
  /// A stream waits for the rows that one of fewer row groups before it still
  /// uses (groupPause()); false: they never meet.
  uint64_t groupsWait = false;
  /// N:M weights: of patternGroup neighbouring rows (M; 0: cells have no
  /// multiplexers) a column stores at most patternKept (N) words with their
  /// places, so that M / N positions are multiplied side by side.
  uint64_t patternGroup = 0;
  uint64_t patternKept = 2;
  /// Rows per cycle from which a load chooses the words to keep.
  uint64_t patternRowsPerCycle = 2;
  /// Widest mantissas, sign included, of which a cell multiplies two moving
  /// ones by its own in a cycle, with a sum for each; 0: it has one sum.
  uint64_t narrowBits = 0;
  bool hasPattern() const { return patternGroup > 0; }
  /// Positions of a step of a stream through N:M weights; 1 without.
  uint64_t patternPositions() const {
    return hasPattern() ? patternGroup / patternKept : 1;
  }
  /// Bits that say which of the M rows a word belongs to.
  uint64_t patternPlaceBits() const {
    return hasPattern()
               ? static_cast<uint64_t>(std::bit_width(patternGroup)) - 1
               : 0;
  }
  bool operator==(const PeArray &) const = default;
};

/// Accumulators under the array: per column, banks of entries.
struct Psum {
  uint64_t banks = 4;
  uint64_t entriesPerBank = 512; ///< Per column.
  uint64_t bits = 64;
  /// Entries that a column takes per cycle; 0: those of all row groups.
  uint64_t writePorts = 0;
  uint64_t readBytesPerCycle = 0; ///< Of a drain; 0: what its lanes take.
  uint64_t entries() const { return banks * entriesPerBank; }
  bool operator==(const Psum &) const = default;
};

/// The drain engine; costs are cycles per result and lane.
struct Act {
  uint64_t lanes = 64;
  uint64_t latency = 32; ///< Cycles.
  uint64_t costCheap = 1;
  uint64_t costMedium = 1;
  uint64_t costExpensive = 1;
  uint64_t costVeryExpensive = 1;
  /// Maxima that the line of a lane holds for pools in drains of the sparse
  /// cluster (act.pool); 0: ACT compares nothing.
  uint64_t poolColumns = 64;
  bool operator==(const Act &) const = default;
};

/// The vector unit; costs are cycles per element and partition.
struct Vec {
  uint64_t lanes = 128;
  uint64_t latency = 32; ///< Cycles.
  uint64_t costCheap = 1;
  uint64_t costMedium = 2;
  uint64_t costExpensive = 4;
  uint64_t costVeryExpensive = 8;
  /// Columns of PSUM that vec.drain takes per cycle through an epilogue of its
  /// own; 0: the unit does not read PSUM.
  uint64_t psumLanes = 0;
  bool operator==(const Vec &) const = default;
};

/// The sparse cluster with its feature-map units (FMU) and weight memory (WM).
struct Sparse {
  uint64_t tcus = 16;                 ///< 0: the machine has no sparse cluster.
  uint64_t lanes = 128;               ///< Multipliers per TCU.
  uint64_t narrowTcus = 0;            ///< The last so many units are narrow:
  uint64_t narrowLanes = 64;          ///< Multipliers of each of them.
  uint64_t coefficientsPerStep = 2;   ///< U.
  uint64_t fmuBytes = 65536;          ///< Per buffer set and TCU.
  uint64_t fmuSets = 2;               ///< Buffer sets per TCU.
  uint64_t wmBytes = 524288;          ///< Weight memory.
  uint64_t wmBanks = 16;              ///< Equal parts, each with its own port.
  uint64_t wmBroadcast = 2;           ///< Entries per cycle and bank.
  uint64_t accumulatorEntries = 8192; ///< 64-bit entries per TCU.
  uint64_t accumulateLatency = 1;     ///< Cycles until a sum can grow again.
  uint64_t tileTables = 16;           ///< Tables of an entry per TCU.
  uint64_t countEntries = 65536;      ///< 32-bit counters of non-zeros.
  uint64_t countsPerCycle = 32;       ///< Counters that a cut sums up.
  uint64_t partCycles = 32;           ///< Of a cut besides sums and look-ups.
  uint64_t queueDepth = 0; ///< Products that may wait when scattering; 0: P.
  /// Network between compute units and memory units: 0 static, each unit its
  /// own; 1 also the previous one (2x2 switches); 2 any, through a mesh; 3 any,
  /// through a Benes network.
  uint64_t binding = 0;
  /// Banks of a unit's accumulators, entry e in bank e mod banks, one sum per
  /// bank and cycle; a power of two, or 0: any sums meet in any cycle.
  uint64_t accumulatorBanks = 0;
  /// Positions of a feature map that a unit searches for non-zeros per cycle
  /// when scattering; 0: any number.
  uint64_t scanPositions = 0;
  /// Bytes per cycle that a memory unit takes from a load; 0: all that come.
  uint64_t fmuWriteBytes = 0;
  /// Bytes per cycle of a link between memory and compute units that
  /// `tcc.bind` connects; 0: routes only have length.
  uint64_t routeBytes = 0;
  /// Positions, rows and columns together, that the window of a scattering unit
  /// of variant A moves per cycle; 0: to any place from one step to the next.
  uint64_t windowShift = 0;
  bool operator==(const Sparse &) const = default;

  bool exists() const { return tcus > 0; }
  /// Units with `lanes` multipliers: the first ones.
  uint64_t wideTcus() const { return tcus - narrowTcus; }
  /// Multipliers of a unit.
  uint64_t lanesOf(uint64_t unit) const {
    return unit < wideTcus() ? lanes : narrowLanes;
  }
  /// Multipliers of all units.
  uint64_t multipliers() const {
    return wideTcus() * lanes + narrowTcus * narrowLanes;
  }
};

/// The instruction stream, which reaches the queues in program order.
struct Fetch {
  uint64_t bytesPerCycle = 0;  ///< 0: every instruction is there at cycle 0.
  uint64_t bufferBytes = 4096; ///< Instructions that wait, per queue.
  bool operator==(const Fetch &) const = default;
};

/// Scale-exponent registers.
struct ScaleRegisters {
  uint64_t registers = 1024;
  bool operator==(const ScaleRegisters &) const = default;
};

/// Statistics registers.
struct StatisticsRegisters {
  uint64_t registers = 16;
  bool operator==(const StatisticsRegisters &) const = default;
};

/// The part of the host processor that executes host functions: one core that
/// reads and writes DRAM.
struct Host {
  uint64_t callCycles = 0;     ///< Of a call, before its first byte.
  uint64_t stepCycles = 1;     ///< Of a step of a function (Machine/Host.h).
  uint64_t bytesPerCycle = 64; ///< That the core reads or writes.
  bool operator==(const Host &) const = default;
};

/// A whole machine. The defaults are the built-in `a1-ideal`, whose ports,
/// set-ups, functions and instruction fetch are free.
struct Description {
  std::string name = "a1-ideal";
  Dram dram;
  Dma dma;
  StateBuffer sb;
  uint64_t xmGroup = 8; ///< SB partitions that share one exponent cell.
  PeArray pe;
  Psum psum;
  Act act;
  Vec vec;
  Sparse sparse;
  Fetch fetch;
  Host host;
  ScaleRegisters xr;
  StatisticsRegisters sr;
  uint64_t clockHz = 1000000000; ///< Only for reports.

  /// Exponent cells, one byte each: ceil(partitions / xmGroup) rows.
  uint64_t xmBytes() const {
    return (sb.partitions + xmGroup - 1) / xmGroup * sb.bytesPerPartition;
  }

  /// Checks every parameter against its limits and against the others.
  /// Malformed: zero, absurd or contradicting values; Capacity: memories
  /// larger than an instruction can address. Every finding is listed.
  llvm::Error validate() const;

  bool operator==(const Description &) const = default;
};

/// Parses and validates a YAML description. Omitted parameters are those of
/// its `base`, else of `a1`; a missing name is the stem of the path \p name.
/// Unknown or repeated fields, wrong types: Malformed, "\p name:LINE: ...".
llvm::Expected<Description> parseYaml(llvm::StringRef text,
                                      llvm::StringRef name);

/// The description as YAML with units in comments; the same description gives
/// the same bytes, and parseYaml() of it gives the same description.
std::string toYaml(const Description &description);

/// A usage error if the machine has no sparse cluster, which \p what requests.
llvm::Error requireCluster(const Description &machine, llvm::StringRef what);

/// Names of the built-in machines, in display order.
llvm::ArrayRef<llvm::StringRef> builtinNames();

/// A built-in machine by name, or a YAML file by path. A name that is neither
/// is a Usage error that lists the built-in ones.
llvm::Expected<Description> load(llvm::StringRef nameOrPath);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_DESCRIPTION_H
