// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parsed model file and its graph after inlining: a flat list of nodes in
// execution order with unique value names.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_MODEL_H
#define ASHLAR_LIB_FRONTEND_ONNX_MODEL_H

#include "Files/TensorFiles.h"
#include "Proto.h"
#include "State/RowUpdates.h"
#include "Types/NarrowNames.h"

#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Support/Budget.h"
#include "ashlar/Support/Error.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ashlar::frontend {

/// Version of each imported domain; the default domain is the empty name.
using Opsets = std::map<std::string, int64_t>;

/// A value of the scope around it that a graph attribute reads.
struct CapturedValue {
  std::string name; ///< As the graph writes it.
  std::string flat;
};

/// A node outside any function: names are unique in the whole list.
struct FlatNode {
  std::string name; ///< Unique; `Op_<index>` if the file gives none.
  std::string op;
  std::string domain; ///< Empty for the default domain.
  int64_t opset = 0;  ///< Version of `domain` where the node was written.
  std::vector<std::string> inputs, outputs;
  std::vector<const onnx::AttributeProto *> attributes;
  /// Values from outside that its graph attributes read.
  std::vector<CapturedValue> captured;
  /// What the names of values and nodes begin with that the node becomes: no
  /// other name does. Empty for a node that stands for no others.
  std::string inside;
  /// Where the node was written; set if it has graph attributes.
  std::shared_ptr<const Opsets> opsets;
  unsigned depth = 0; ///< Functions and graphs around it.
  bool live = false;  ///< A graph output depends on it.
};

/// A model file. Owns what the nodes point to.
struct Model {
  std::string path;   ///< As given, for messages.
  std::string folder; ///< Of `path`, for external data.
  onnx::ModelProto proto;
  /// Where elements lie that `proto` does not hold.
  TensorFiles files;
  std::vector<FlatNode> nodes; ///< Execution order.
  /// Attributes of inlined function bodies.
  std::deque<onnx::AttributeProto> attributes;
  support::Budget budget; ///< What import may still make.
  /// What is odd about the file and has been read nevertheless.
  std::vector<std::string> remarks;
  /// Says these, and how many bytes of constants stay work of the machine, if
  /// any do.
  void warnAll(llvm::function_ref<void(const std::string &)> warn) const;
  bool useHost = true;   ///< Nodes may become work of the host.
  uint64_t checksum = 0; ///< Of the file's bytes.
  RowUpdates updates;    ///< Values that add rows to another one.
  /// How many rows of a tensor are filled that the program keeps; null of any
  /// other value.
  std::function<mlir::Value(mlir::Value past)> filledRows;
  /// Nodes that other nodes turned out to stand for, and the functions whose
  /// bodies they come from (Flow/Expansion.h).
  std::deque<FlatNode> expanded;
  std::deque<onnx::FunctionProto> bodies;
  /// Values of types that are kept in wider ones.
  NarrowNames narrow;
};

/// Everything that the node reads: its operands and what its graph attributes
/// capture.
std::vector<std::string> operandsOf(const FlatNode &node);

/// Parses the file (or what the options have in its place), checks its
/// structure, inlines functions, sorts the nodes and marks the live ones.
llvm::Expected<std::unique_ptr<Model>> loadModel(llvm::StringRef path,
                                                 const ImportOptions &options);

/// Parses only; `bytes` is the content of `path`, which lies in `folder`. A
/// usage error if the command line writes what the model keeps next to it.
llvm::Error parseModel(llvm::StringRef bytes, Model &model);
/// The file at `path`, read and parsed only: what tools that write a changed
/// model start from. Parse errors name the file.
llvm::Expected<Model> readModel(llvm::StringRef path);
/// importOnnx() of a model that `edit` changes after it was read.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importEdited(llvm::StringRef path, const ImportOptions &options,
             mlir::MLIRContext *context,
             llvm::function_ref<llvm::Error(Model &)> edit,
             ValueNames *names = nullptr);
/// Fills `nodes` from the graph, with functions inlined.
llvm::Error flatten(Model &model);
/// Checks names and sorts `nodes`.
llvm::Error sortNodes(Model &model);

/// The name of a node that is number \p index in its graph: its own, or
/// `Op_<index>` if the file gives none.
std::string nodeName(const onnx::NodeProto &node, size_t index);

/// Replaces what would garble a message and cuts what would flood it.
std::string printable(llvm::StringRef text);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_MODEL_H
