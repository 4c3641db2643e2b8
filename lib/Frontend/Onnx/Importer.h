// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns a loaded model into a module. One instance per import.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_IMPORTER_H
#define ASHLAR_LIB_FRONTEND_ONNX_IMPORTER_H

#include "Flow/Flow.h"
#include "Model.h"
#include "Node.h"
#include "State/States.h"

#include "ashlar/Frontend/Onnx/Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>

namespace ashlar::frontend {

class Importer : private FlowHost {
public:
  /// Operands in \p places become positions of rows.
  Importer(Model &model, const ImportOptions &options,
           mlir::MLIRContext *context, PlaceUses places = {});

  /// Reads inputs and nodes. Unsupported nodes end up in statuses(), not in
  /// the error.
  llvm::Error run();
  /// Adds the results, removes what is unused, and verifies.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> finish();
  /// After finish(): the values that `module` still has, sorted by name.
  ValueNames valueNames(mlir::ModuleOp module) const;
  /// One error for all unsupported nodes, or success.
  llvm::Error unsupportedNodes() const;

  /// After finish(): operands that must become positions, if the module is to
  /// be right. The import is to be repeated if they were not given.
  const PlaceUses &placesNeeded() const { return neededPlaces; }

  std::vector<NodeStatus> takeStatuses() { return std::move(statuses); }

  /// Results of unsupported nodes without a declared type are taken to be of
  /// the first operand's type, as most are. Only for searches that can bear a
  /// wrong guess.
  bool guessTypes = false;

  /// If set, told of every graph input and every result of a node.
  std::function<void(StringRef name, Value value)> onValue;

private:
  llvm::Error checkOpsets() const;
  llvm::Error checkOptions() const;
  llvm::Error readConstants();
  llvm::Error addInputs();
  /// Codes of a narrow type become its values, and back.
  llvm::Error decodeInput(const std::string &name);
  llvm::Error encodeOutput(const onnx::ValueInfoProto &output, Value &result);
  llvm::Error importNode(const FlatNode &node);
  /// A node under Flow, whose operands are there.
  llvm::Error importFlow(const FlatNode &node, NodeStatus &status);
  llvm::Error checkExtents(const FlatNode &node);
  /// The values of a node's operands; null where one is omitted, is a list or
  /// hangs on an unsupported node, of which `unreached` tells the last.
  llvm::Expected<SmallVector<Value>> operandValues(const FlatNode &node,
                                                   bool &unreached);

  llvm::Error run(const FlatNode &node) override;
  void keep(const std::string &name) override;
  llvm::Error alias(const std::string &name, const std::string &of) override;
  llvm::Expected<std::optional<std::vector<int64_t>>>
  integers(const std::string &name) override;
  llvm::Expected<std::optional<int64_t>>
  atMost(const std::string &name) override;
  llvm::Error choose(const std::string &name, const std::string &condition,
                     const std::string &yes, const std::string &no) override;
  llvm::Error setGuard(const std::string &condition) override;
  llvm::Expected<std::optional<OperandKind>>
  kind(const std::string &name) override;
  std::string remedy(const std::string &name) override;

  llvm::Error runHandler(const FlatNode &node, SmallVector<Value> inputs,
                         NodeStatus &status);
  llvm::BitVector usedOutputs(const FlatNode &node) const;
  /// Gives the outputs of an unsupported node their declared types, so that
  /// the nodes after it can be checked too.
  void addPlaceholders(const FlatNode &node);
  /// The value called `name`; null if it hangs on an unsupported node.
  llvm::Expected<Value> lookup(StringRef name);
  mlir::Location nameLoc(StringRef name);
  void define(StringRef name, Value value);
  llvm::Error addResults();
  void addExtents(SmallVector<Value> &results,
                  SmallVector<mlir::DictionaryAttr> &attributes);
  std::string freshName(std::string name) const;
  /// The argument that tells how many rows of caches are filled.
  Value filledRows();
  /// Whether --state keeps this input.
  bool isKept(Value input) const;
  llvm::Expected<Value> positionOf(const std::string &name, int64_t capacity);
  Value positionArgument(SmallVector<Value> &results,
                         SmallVector<mlir::DictionaryAttr> &attributes,
                         int64_t &index);
  int64_t positionResult(Value value, SmallVector<Value> &results,
                         SmallVector<mlir::DictionaryAttr> &attributes,
                         StringRef of);
  /// Outputs that replace inputs become results that the module keeps.
  llvm::Error keepStates(SmallVector<Value> &results,
                         SmallVector<mlir::DictionaryAttr> &attributes);
  SmallVector<mlir::DictionaryAttr>
  nameAttrs(ArrayRef<const onnx::ValueInfoProto *> declarations);

  Model &model;
  ImportOptions options; ///< After run(): resolveShapes().
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  llvm::StringMap<Value> values;
  llvm::StringMap<onnx::TensorProto *> initializers;
  llvm::StringMap<const onnx::TypeProto *> declared;
  Flow flow;
  QuantisedValues quantised;
  RunTimeExtents extents;
  Value guard; ///< Nodes count where this boolean is true; null: always.
  llvm::StringSet<> readNames; ///< Read by live nodes or graph outputs.
  std::vector<NodeStatus> statuses;
  std::vector<StatePair> states;
  PlaceUses places, neededPlaces;
  std::map<std::pair<std::string, int64_t>, Value> positions;
  Value position; ///< How many rows of caches are filled; null: nothing asks.
};

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_IMPORTER_H
