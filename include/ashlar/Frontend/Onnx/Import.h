// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads an ONNX model file into the `nn` dialect. The file is hostile until
// proven otherwise: everything it can contain ends in a module or in an error
// of class Malformed, Unsupported, Capacity or Usage.

#ifndef ASHLAR_FRONTEND_ONNX_IMPORT_H
#define ASHLAR_FRONTEND_ONNX_IMPORT_H

#include "ashlar/Support/Error.h"
#include "ashlar/Support/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ashlar::frontend {

/// Newest default-domain operator set that is read.
inline constexpr int64_t newestOpset = 28;
/// Oldest one. Every operator is complete from version 6 on; of older ones
/// those are read that did not change until then.
inline constexpr int64_t oldestOpset = 1;

/// Where the value of a graph input that is made constant comes from.
struct ConstantInput {
  std::string file;                                 ///< .npy; or empty, then
  std::shared_ptr<const support::HostTensor> array; ///< this array.

  /// What messages call it.
  std::string name() const { return array ? "the array given" : file; }
};

/// What the command line says about a model.
struct ImportOptions {
  /// The model itself, in the place of the file at its path: the path then only
  /// names it in messages and says where its external data lies.
  std::shared_ptr<const llvm::MemoryBuffer> image;
  /// Graph input -> full shape (`--input-shape=NAME=1x3x224x224`). The last of
  /// `--input-shape=batch=1,seq=128` looks the same until the model is known:
  /// "batch=1,seq" -> 128.
  std::map<std::string, llvm::SmallVector<int64_t>> inputShapes;
  /// Named dimension of graph inputs -> size.
  std::map<std::string, int64_t> dimensions;
  /// Samples at a time (`--batch`); 0: as the model says.
  int64_t batch = 0;
  /// Graph input -> what makes it constant (`--constant=NAME=FILE`).
  std::map<std::string, ConstantInput> constants;
  /// Graph input that is a sequence -> how many elements it has; that is an
  /// optional -> 0 or 1 (`--elements=NAME=N`). Element K is the input NAME.K.
  std::map<std::string, int64_t> elements;
  /// Output -> input that it replaces for the next run
  /// (`--state=OUTPUT:INPUT`).
  std::map<std::string, std::string> states;
  /// Also the pairs that exporters name by convention (`--state=auto`).
  bool autoStates = false;
  /// Tensors of more elements than this are a capacity error.
  int64_t maxElements = int64_t(1) << 31;
  /// Constants that the model makes (ConstantOfShape, folds) may be larger than
  /// what a file of its size is allowed (`--large-constants`).
  bool largeConstants = false;
  /// Called once with what a user should know about an imported model.
  std::function<void(const std::string &)> warn;
  /// Nodes may become work of the host; else these are unsupported
  /// (`--no-host`).
  bool useHost = true;
};

/// Adds one `NAME=1x3x224x224` or `batch=1,seq=128` to the options; NAME may
/// contain '='.
llvm::Error addInputShape(ImportOptions &options, llvm::StringRef flag);
/// Adds one `OUTPUT:INPUT`, or `auto`, to the options.
llvm::Error addState(ImportOptions &options, llvm::StringRef flag);
/// Adds one `NAME=FILE.npy` to the options.
llvm::Error addConstant(ImportOptions &options, llvm::StringRef flag);

/// Adds one `NAME=N` to the elements of the options.
llvm::Error addElements(ImportOptions &options, llvm::StringRef flag);

/// A value of the model in a module.
struct NamedValue {
  std::string name;
  mlir::Value value;
  /// The axis whose extent data decide, and that extent, an i64; -1: the type
  /// has the shape. What lies beyond the extent is of no value of the model.
  int64_t extentAxis = -1;
  mlir::Value extent = {};
};

/// Values of a module by their names in the model; one value may have several.
using ValueNames = std::vector<NamedValue>;

/// Imports the model at `path`. The module holds one `func.func @main` whose
/// arguments and results carry `nn.name`; it verifies. `names`, if given,
/// becomes what the module still has of the model's values.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importOnnx(llvm::StringRef path, const ImportOptions &options,
           mlir::MLIRContext *context, ValueNames *names = nullptr);

/// What became of one ONNX node.
enum class NodeState {
  Mapped,      ///< One `nn` operation.
  Rewritten,   ///< Several operations.
  Folded,      ///< Computed at compile time.
  Removed,     ///< Nothing to do (Identity, Dropout...).
  Dead,        ///< No graph output depends on it.
  Unreached,   ///< Not checked: it depends on an unsupported node.
  Unsupported, ///< See the reason.
};

/// "mapped", "rewritten", ...
llvm::StringRef nodeStateName(NodeState state);

struct NodeStatus {
  std::string name;   ///< ONNX node name, or `Op_<index>`.
  std::string op;     ///< Operator, with its domain unless the default one.
  std::string shapes; ///< Operand types, where known.
  NodeState state = NodeState::Mapped;
  std::string detail; ///< Operations made of it, or why it is unsupported.
};

/// Lists every node of the model in graph order. Fails only where the model
/// cannot be read; unsupported nodes are part of the list.
llvm::Expected<std::vector<NodeStatus>> checkOnnx(llvm::StringRef path,
                                                  const ImportOptions &options);

/// The Markdown page of supported operators, made from the handler table.
std::string supportedOpsMarkdown();

} // namespace ashlar::frontend

#endif // ASHLAR_FRONTEND_ONNX_IMPORT_H
