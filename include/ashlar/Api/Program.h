// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiled program in memory: load, look at, run, report. The library is
// libashlar-runtime; it has no MLIR.
//
// Nothing here prints, writes a file that was not requested, or has state
// outside of its objects: different objects may be used by different threads at
// the same time, and one Program by several, whose runs then wait for each
// other. docs/Api.md has examples.

#ifndef ASHLAR_API_PROGRAM_H
#define ASHLAR_API_PROGRAM_H

#include "ashlar/Api/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::api {

/// Version of the library that runs, "0.1.0".
const char *version();

/// Types of elements of inputs and outputs, little endian.
enum class ElementType : uint8_t {
  F32 = 0,
  F16 = 1,
  BF16 = 2,
  I8 = 3,
  U8 = 4,
  I16 = 5,
  U16 = 6,
  I32 = 7,
  U32 = 8,
  I64 = 9,
  U64 = 10,
  Bool = 11, ///< One byte, 0 or 1.
  F64 = 12,
};

/// Bytes of an element.
unsigned byteSize(ElementType type);
/// "f32", "bf16", "i8", "bool", ...
const char *typeName(ElementType type);

/// An input or output of a program.
struct TensorInfo {
  std::string name; ///< As in the ONNX model.
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
};

/// An array of the caller, row major without gaps. It is read during the call
/// that it is given to.
struct ArrayView {
  std::string_view name;
  ElementType type = ElementType::F32;
  std::span<const int64_t> shape;
  const void *data = nullptr;
  size_t bytes = 0;
};

/// An array that a run has made, row major without gaps.
struct Array {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> data;
};

/// What the host sets a DMA engine to before or after a run: a tensor and where
/// it lies in the DRAM that a program has, from address 0.
struct Descriptor {
  enum class Direction : uint8_t { ToDevice = 0, FromDevice = 1 };
  Direction direction = Direction::ToDevice;
  std::string tensor;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

struct LoadOptions {
  /// Another machine than the one it was compiled for: a built-in name or a
  /// YAML file. Empty: that of the program.
  std::string machine;
  /// Limit of host memory for the machine's memories, bytes; 0: none.
  uint64_t maxMemory = 0;
  /// Proves the program and allocates its memory at once, rather than with its
  /// first run.
  bool prepare = true;
};

struct RunOptions {
  unsigned threads = 0;         ///< 0: all of the host. Never changes a result.
  std::string kernels = "best"; ///< As --kernels of ashlar-run.
  bool timing = true;           ///< Counts cycles; without, runs are faster.
  /// Keeps the time line, for RunResult::html().
  bool timeline = false;
  /// Prices of energy: a built-in name or a YAML file; empty: the default.
  std::string energyTable;
};

/// What one run gave. Movable; independent of its program.
class RunResult {
public:
  RunResult(RunResult &&) noexcept;
  RunResult &operator=(RunResult &&) noexcept;
  ~RunResult();

  /// In the order of Program::outputs(). Several samples are stacked on axis 0.
  const std::vector<Array> &outputs() const;
  /// The same, handed over.
  std::vector<Array> takeOutputs();
  uint64_t samples() const;
  /// Cycles of the first sample; 0 if they were not counted.
  uint64_t cycles() const;
  /// Inputs or outputs that are not finite, nodes whose values saturate.
  const std::vector<std::string> &warnings() const;
  /// The report of ashlar-run as JSON (docs/ReportSchema.md).
  Result<std::string> report() const;
  /// The same as one page to look at; its time line needs
  /// RunOptions::timeline.
  Result<std::string> html() const;

  struct Impl;
  explicit RunResult(std::unique_ptr<Impl> impl);

private:
  std::unique_ptr<Impl> impl;
};

/// A compiled program. Movable, not copyable.
class Program {
public:
  /// Reads a file that ashlarc or save() wrote. Malformed: not such a file, one
  /// of another format version, a program that could go wrong.
  static Result<Program> load(const std::string &path,
                              const LoadOptions &options = {});
  /// The same from the bytes of such a file; \p name is for messages.
  static Result<Program> fromBytes(std::vector<uint8_t> bytes,
                                   const LoadOptions &options = {},
                                   const std::string &name = "program");
  Program(Program &&) noexcept;
  Program &operator=(Program &&) noexcept;
  ~Program();

  /// Writes the file whole or not at all.
  Status save(const std::string &path) const;
  /// The image of the file.
  std::span<const uint8_t> bytes() const;

  const std::vector<TensorInfo> &inputs() const;
  const std::vector<TensorInfo> &outputs() const;
  const std::string &modelName() const;
  const std::string &machineName() const; ///< Of the machine that runs it.

  /// Transfers of a run: inputs in their order, then outputs.
  std::vector<Descriptor> descriptors() const;
  /// DRAM that it uses, bytes from address 0.
  uint64_t dramBytes() const;
  /// True if a run continues what the one before it left: scale policies with
  /// a state, kept tensors.
  bool carriesState() const;
  /// The same image with memories of its own, as after loading: runs of both
  /// need not wait for each other.
  Result<Program> clone() const;

  /// Runs once. \p inputs have every input of the program, by name, in any
  /// order. Axis 0 may be n times the compiled one, the same n for all: then n
  /// samples run one after the other. Usage: unknown, missing or repeated
  /// names, options; Malformed: types, shapes, sizes, null pointers.
  Result<RunResult> run(std::span<const ArrayView> inputs,
                        const RunOptions &options = {});

  /// What the scale policies `stats` and `predict` carry from run to run
  /// becomes what it was after loading.
  void resetState();

private:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace ashlar::api

#endif // ASHLAR_API_PROGRAM_H
