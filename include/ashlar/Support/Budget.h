// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler may spend on a model before it has a program: bytes of
// constants that no file holds, elements evaluated at compile time, operations.
// All limits grow with the size of the file: no small file takes much memory or
// time, and no large file is refused for its own size. The numbers and their
// reasons: docs/decisions/frontend/2026-11-22-compile-budget.md.

#ifndef ASHLAR_SUPPORT_BUDGET_H
#define ASHLAR_SUPPORT_BUDGET_H

#include <algorithm>
#include <cstdint>

namespace ashlar::support {

class Budget {
public:
  /// Bytes of computed constants: a fixed amount, and an amount per byte of the
  /// file.
  static constexpr uint64_t kBaseBytes = uint64_t(32) << 20;
  static constexpr uint64_t kBytesPerByte = 1024;
  /// Elements evaluated.
  static constexpr uint64_t kBaseWork = uint64_t(1) << 25;
  static constexpr uint64_t kWorkPerByte = 64;
  /// Operations.
  static constexpr uint64_t kBaseOperations = uint64_t(1) << 14;
  static constexpr uint64_t kBytesPerOperation = 4;

  /// Instructions.
  static constexpr uint64_t kBaseInstructions = uint64_t(1) << 17;
  static constexpr uint64_t kInstructionsPerOperation = 64;
  static constexpr uint64_t kInstructionsPerByte = 4;

  explicit Budget(uint64_t modelBytes = 0)
      : bytes(kBaseBytes + capped(modelBytes) * kBytesPerByte),
        work(kBaseWork + capped(modelBytes) * kWorkPerByte),
        operations(kBaseOperations + capped(modelBytes) / kBytesPerOperation) {}

  /// Instructions of a program of `operations` that read `constantBytes`.
  static uint64_t instructions(uint64_t operations, uint64_t constantBytes) {
    return kBaseInstructions + kInstructionsPerOperation * capped(operations) +
           kInstructionsPerByte * capped(constantBytes);
  }

  /// The budget of passes that derive constants from existing ones. `doubles`:
  /// as many bytes again may be added; one pass per program may do so, because
  /// what it adds counts as stored for those after it.
  static Budget ofContents(uint64_t storedBytes, bool doubles) {
    Budget budget;
    if (doubles)
      budget.bytes += capped(storedBytes);
    budget.work += capped(storedBytes) * kWorkPerByte;
    return budget;
  }

  /// Lifts the limits of constants and of what is evaluated for them.
  void liftConstants() { bytes = work = uint64_t(1) << 62; }

  /// What is left.
  uint64_t bytesLeft() const { return bytes; }
  uint64_t workLeft() const { return work; }

  /// Bytes that there was too little for.
  uint64_t bytesRefused() const { return refused; }

  /// Takes from the budget; false, and nothing taken, if there is too little.
  bool takeBytes(uint64_t amount) {
    const bool enough = take(bytes, amount);
    refused += enough ? 0 : capped(amount);
    return enough;
  }
  bool takeWork(uint64_t amount) { return take(work, amount); }
  bool takeOperations(uint64_t amount) { return take(operations, amount); }

private:
  /// No product below may overflow.
  static uint64_t capped(uint64_t size) {
    return std::min(size, uint64_t(1) << 48);
  }
  static bool take(uint64_t &left, uint64_t amount) {
    if (amount > left)
      return false;
    left -= amount;
    return true;
  }

  uint64_t bytes, work, operations, refused = 0;
};

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_BUDGET_H
