// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planned tensors while instructions change places: a tensor can be copied out
// after the last of the instructions that had written its memory, and before
// the first that writes it again.

#ifndef ASHLAR_LIB_EMULATOR_TIME_PLANNEDTENSORS_H
#define ASHLAR_LIB_EMULATOR_TIME_PLANNEDTENSORS_H

#include "../Impl.h"
#include "ashlar/Emulator/Order.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace ashlar::emulator {

/// Where the planned tensors of a program lie, and which of those places its
/// instructions write: the same in every order of the instructions.
class TensorRooms {
public:
  /// Of a decoded program whose instructions are inside their memories.
  explicit TensorRooms(const LoadedProgram::Impl &impl);

  uint32_t count() const { return numRooms; }
  /// The rooms of tensor \p index.
  llvm::ArrayRef<uint32_t> of(uint32_t index) const { return lies[index]; }
  /// The rooms that instruction \p index writes.
  llvm::ArrayRef<uint32_t> writtenBy(uint32_t index) const {
    return llvm::ArrayRef(written).slice(
        firstWritten[index], firstWritten[index + 1] - firstWritten[index]);
  }

private:
  uint32_t numRooms = 0;
  std::vector<llvm::SmallVector<uint32_t, 3>> lies;
  std::vector<uint32_t> firstWritten; ///< Per instruction, of `written`.
  std::vector<uint32_t> written;
};

class PlannedTensors {
public:
  explicit PlannedTensors(const LoadedProgram::Impl &impl)
      : PlannedTensors(impl, TensorRooms(impl), {}) {}
  /// \p impl has the tensors of the program of \p known. Its instructions are
  /// those with the numbers \p origins there, noInstruction for semaphores; if
  /// empty, they are the same.
  PlannedTensors(const LoadedProgram::Impl &impl, const TensorRooms &known,
                 llvm::ArrayRef<uint32_t> origins);

  /// Whether every tensor that instruction \p index overwrites is complete.
  bool mayRun(uint32_t index);
  /// Instruction \p index is the one with number \p place now.
  void ran(uint32_t index, uint32_t place) { places[index] = place; }
  uint32_t count() const { return static_cast<uint32_t>(after.size()); }
  /// Appends dependences that keep every tensor from being overwritten before
  /// it is complete. Tensor t is step \p first + t.
  void addDependences(uint32_t first,
                      std::vector<Dependences::Pair> &pairs) const;
  /// Per tensor the number of the last instruction that it waited for; all
  /// instructions have run.
  std::vector<uint32_t> take() const;

private:
  /// Memory that tensors have, one after the other. Its writers up to the
  /// instruction that a tensor is complete after are the tensor's makers, those
  /// that follow overwrite it.
  struct Room {
    std::vector<uint32_t> writers; ///< Instructions, ascending.
    std::vector<uint32_t> tensors; ///< By the end of their making, ascending.
    size_t written = 0;            ///< Leading writers that have run.
    size_t complete = 0;           ///< Leading tensors that are complete.
  };
  static constexpr uint32_t notYet = ~uint32_t(0);

  bool isComplete(uint32_t tensor);
  void waitForMakers(uint32_t tensor);
  llvm::ArrayRef<uint32_t> writtenBy(uint32_t index) const {
    return llvm::ArrayRef(roomsWritten)
        .slice(firstRoom[index], firstRoom[index + 1] - firstRoom[index]);
  }

  std::vector<Room> rooms;
  /// Per tensor its last maker, or what it is copied out after.
  std::vector<uint32_t> after;
  std::vector<llvm::SmallVector<uint32_t, 3>> lies; ///< Rooms of a tensor.
  std::vector<uint32_t> firstRoom; ///< Per instruction, of roomsWritten.
  std::vector<uint32_t> roomsWritten;
  std::vector<uint32_t> places; ///< Of instructions, or notYet.
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TIME_PLANNEDTENSORS_H
