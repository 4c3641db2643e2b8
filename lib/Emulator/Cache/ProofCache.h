// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proofs kept between processes. A file holds what verify() found of a program
// that it accepted; whoever finds it again need not prove the program again. A
// file counts if it names, by a cryptographic digest, everything that a proof
// depends on - all bytes of the program, and the tool that proved it - and if
// nobody but the user could have written it. For the constants, which are most
// of the bytes, the state of the program's file may stand (docs/decisions, kept
// proofs).

#ifndef ASHLAR_LIB_EMULATOR_CACHE_PROOFCACHE_H
#define ASHLAR_LIB_EMULATOR_CACHE_PROOFCACHE_H

#include "../Impl.h"
#include "llvm/Support/MemoryBuffer.h"
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ashlar::emulator {

/// Files that a folder holds at most; the oldest one makes room.
inline constexpr size_t mostProofs = 256;
/// Shorter programs are proved sooner than a file is found and checked.
inline constexpr size_t leastProvedInstructions = 4096;

class ProofCache {
public:
  /// Looks at a program of \p numInstructions; nothing is kept if \p folder is
  /// empty. With several threads one of them looks for a kept proof and
  /// computes what it has to agree with, while the caller goes on; \p program
  /// stays as it is until restore() has returned.
  ProofCache(const container::Program &program, size_t numInstructions,
             llvm::StringRef folder, unsigned threads);
  ~ProofCache();
  ProofCache(const ProofCache &) = delete;
  ProofCache &operator=(const ProofCache &) = delete;

  /// Takes what a kept proof holds, the account of an earlier run if there was
  /// a timed one, and the lists of its threads; false if there is none that
  /// counts.
  bool restore(LoadedProgram::Impl &impl);
  /// Keeps what verify() has found, the account of a run and the lists of its
  /// threads, unless all of them have been restored. The folder is made if
  /// there is none.
  void store(const LoadedProgram::Impl &impl);

  /// Why a file did not count or could not be written; empty if nothing failed.
  std::string note;

private:
  using Digest = std::array<uint8_t, 32>;

  /// What is known of a program and of the file of its proof.
  struct Look {
    /// Of everything but the constants; none if it cannot be told.
    std::optional<Digest> tables;
    /// Of that and of all bytes of the constants; none if nobody has asked.
    std::optional<Digest> program;
    /// Of the tables and of the state of the file that has the constants; none
    /// if that does not tell which bytes they are.
    std::optional<Digest> source;
    /// The file; null if it is damaged or another program's.
    std::unique_ptr<llvm::MemoryBuffer> file;
    bool hasSource = false; ///< It names `source`.
    bool isForeign = false; ///< Others may write to it, or it is no file.
    std::string note;       ///< Why it does not count.
  };
  /// Reads the file and compares it; computes what that needs.
  Look look(const container::Program &program, unsigned ownThreads) const;
  void finishLook();

  std::thread lookThread;
  std::optional<Look> seen;
  std::string folder, path; ///< `path` is empty where nothing is kept.
  bool restored = false, restoredAccount = false, restoredSource = false;
  unsigned restoredLists = 0; ///< Threads of the restored lists.
  unsigned threads;
};

/// What verify() leaves for runs, as bytes.
std::vector<uint8_t> encodeProof(const LoadedProgram::Impl &impl);
/// The reverse; false, and nothing changed, if the bytes are no such thing for
/// this program.
bool decodeProof(llvm::ArrayRef<uint8_t> bytes, LoadedProgram::Impl &impl);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_CACHE_PROOFCACHE_H
