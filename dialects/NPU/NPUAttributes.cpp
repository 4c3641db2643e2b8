// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the planning attributes of the npu dialect may be. A module comes from a
// file as often as from a pass: each attribute is known here with its kind, its
// range and where it stands, and everything else in the namespace is refused.
// Whether decisions agree with each other is the matter of the passes'
// verifiers.

#include "dialects/BFP/BFPTypes.h"
#include "dialects/NN/NNTypes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace ashlar::npu {
namespace {

/// Largest byte offset or partition count that planning writes.
constexpr int64_t kMostBytes = int64_t(1) << 40;

enum class Kind {
  Unknown,
  Flag,       ///< unit
  Text,       ///< string
  Number,     ///< i64
  Numbers,    ///< array<i64>
  Dictionary, ///< entries of text, numbers, arrays and dictionaries
};

/// One attribute: on a module or on an operation of the dialect.
struct Rule {
  Kind kind = Kind::Unknown;
  bool onModule = false;
  int64_t least = 0, most = kMostBytes; ///< of numbers
  size_t count = 0;                     ///< of an array; 0: any
};

Rule ruleOf(StringRef name) {
  constexpr int64_t rank = nn::kMostDims;
  return llvm::StringSwitch<Rule>(name)
      .Cases({"npu.machine", "npu.profile", "npu.dense_reason"},
             Rule{Kind::Text, true})
      .Case("npu.constants", Rule{Kind::Numbers, true, 0, kMostBytes, 2})
      .Cases({"npu.plan_name", "npu.source", "npu.in_dram"}, Rule{Kind::Text})
      .Cases({"npu.alias", "npu.through_dram", "npu.swaps_blocks",
              "npu.turn_blocks", "npu.activations_stationary"},
             Rule{Kind::Flag})
      .Cases({"npu.axis", "npu.work_axis"},
             Rule{Kind::Number, false, -1, rank - 1})
      .Case("npu.placement", Rule{Kind::Number, false, -1})
      .Cases({"npu.ring", "npu.concat_part"}, Rule{Kind::Number})
      .Case("npu.column_parts", Rule{Kind::Number, false, 1, 1 << 20})
      .Case("npu.tile", Rule{Kind::Numbers})
      .Case("npu.scratch", Rule{Kind::Numbers, false, 0, kMostBytes, 3})
      .Case("npu.map_form", Rule{Kind::Numbers, false, 0, kMostBytes, 6})
      .Case("npu.lanes", Rule{Kind::Numbers, false, 1, 1 << 20, 2})
      .Cases({"npu.scatter", "npu.zeros", "npu.tcu"}, Rule{Kind::Dictionary})
      .Default(Rule());
}

StringRef describe(Kind kind) {
  switch (kind) {
  case Kind::Unknown:
    break;
  case Kind::Flag:
    return "a unit attribute";
  case Kind::Text:
    return "a string";
  case Kind::Number:
    return "an i64";
  case Kind::Numbers:
    return "an array<i64>";
  case Kind::Dictionary:
    return "a dictionary of strings, floats, i64, arrays and dictionaries";
  }
  return "nothing";
}

bool isNumber(Attribute attr) {
  auto number = dyn_cast<IntegerAttr>(attr);
  return number && number.getType().isSignlessInteger(64);
}

/// Entries that the readers of dictionaries may ask for by their class.
bool isPlain(Attribute attr) {
  if (auto dictionary = dyn_cast<DictionaryAttr>(attr))
    return llvm::all_of(dictionary, [](NamedAttribute entry) {
      return isPlain(entry.getValue());
    });
  auto number = dyn_cast<FloatAttr>(attr);
  return isa<StringAttr, UnitAttr, DenseI64ArrayAttr, DenseI32ArrayAttr>(
             attr) ||
         isNumber(attr) || (number && number.getType().isF32()) ||
         (isa<BoolAttr>(attr));
}

bool isOfKind(Attribute attr, Kind kind) {
  switch (kind) {
  case Kind::Unknown:
    return false;
  case Kind::Flag:
    return isa<UnitAttr>(attr);
  case Kind::Text:
    return isa<StringAttr>(attr);
  case Kind::Number:
    return isNumber(attr);
  case Kind::Numbers:
    return isa<DenseI64ArrayAttr>(attr);
  case Kind::Dictionary:
    return isa<DictionaryAttr>(attr) && isPlain(attr);
  }
  return false;
}

InFlightDiagnostic complain(Operation *op, NamedAttribute attr) {
  return op->emitOpError() << "attribute '" << attr.getName().getValue()
                           << "' ";
}

/// Kind, count and range.
LogicalResult checkRule(Operation *op, NamedAttribute attr, const Rule &rule) {
  if (!isOfKind(attr.getValue(), rule.kind))
    return complain(op, attr) << "must be " << describe(rule.kind) << ", found "
                              << attr.getValue();
  SmallVector<int64_t> numbers;
  if (auto number = dyn_cast<IntegerAttr>(attr.getValue()))
    numbers.push_back(number.getInt());
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attr.getValue()))
    numbers.append(list.asArrayRef().begin(), list.asArrayRef().end());
  if (rule.count && numbers.size() != rule.count)
    return complain(op, attr) << "must have " << rule.count
                              << " numbers, found " << numbers.size();
  for (int64_t number : numbers)
    if (number < rule.least || number > rule.most)
      return complain(op, attr) << "must be in [" << rule.least << ", "
                                << rule.most << "], found " << number;
  return success();
}

RankedTensorType resultType(Operation *op) {
  return op->getNumResults() == 1
             ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
             : RankedTensorType();
}

/// The axis across partitions that `op` works across or leaves its result in.
LogicalResult checkAxis(Operation *op, NamedAttribute attr) {
  int64_t axis = cast<IntegerAttr>(attr.getValue()).getInt();
  RankedTensorType type = resultType(op);
  int64_t rank = type.getRank();
  bool works = attr.getName() == "npu.work_axis";
  auto expect = [&](bool valid, const Twine &what) -> LogicalResult {
    if (valid)
      return success();
    return complain(op, attr) << "must be " << what << ", found " << axis;
  };
  if (axis >= rank)
    return complain(op, attr) << "must be below the rank " << rank
                              << " of the result, found " << axis;
  if (works)
    return expect(isa<VecPoolOp, VecReduceOp, VecSoftmaxOp>(op),
                  "absent but on pools, reductions and softmax");
  if (bfp::BlockType block = bfp::getBlockType(type))
    if (failed(expect(axis == block.getAxis(),
                      "the block axis " + Twine(block.getAxis()))))
      return failure();
  if (isa<PeConvOp, TcuConvOp>(op))
    return expect(axis == 1, "1, the channels");
  if (isa<PeMatmulOp>(op))
    return expect(axis == rank - 1, "the last axis " + Twine(rank - 1));
  if (isa<PeTransposeOp>(op))
    return expect(axis >= 0, "an axis");
  // The operation itself is verified later: it may lack its own attributes.
  if (auto gather = dyn_cast<VecGatherOp>(op); gather && gather.getAxisAttr())
    return expect(axis >= 0 && axis != gather.getAxisAttr().getInt(),
                  "another axis than that of the indices");
  return success();
}

/// Tiles are parts of the result.
LogicalResult checkTile(Operation *op, NamedAttribute attr) {
  ArrayRef<int64_t> tile = cast<DenseI64ArrayAttr>(attr.getValue());
  ArrayRef<int64_t> shape = resultType(op).getShape();
  bool fits = tile.size() == shape.size();
  for (size_t i = 0; fits && i < tile.size(); ++i)
    fits = tile[i] <= shape[i] && (tile[i] > 0 || shape[i] == 0);
  if (fits)
    return success();
  return complain(op, attr) << "must be the extents of a part of "
                            << resultType(op) << ", found " << attr.getValue();
}

/// A fold puts rows of a map side by side: it has channels and a last axis.
LogicalResult checkLanes(Operation *op, NamedAttribute attr) {
  ArrayRef<int64_t> lanes = cast<DenseI64ArrayAttr>(attr.getValue());
  ArrayRef<int64_t> shape = resultType(op).getShape();
  if (shape.size() < 3 || lanes[1] < shape[1])
    return complain(op, attr)
           << "must have a pitch of at least the channels of a map, found "
           << attr.getValue() << " for " << resultType(op);
  return success();
}

/// Cells of a compressed map: a form of the instruction set, and sizes.
LogicalResult checkMapForm(Operation *op, NamedAttribute attr) {
  ArrayRef<int64_t> form = cast<DenseI64ArrayAttr>(attr.getValue());
  auto rank = resultType(op).getRank();
  if ((rank != 3 && rank != 4) || form[2] < 1 || form[3] < 1 || form[4] < 1)
    return complain(op, attr)
           << "must have cells of channels and bytes in a map of rank 3 or 4, "
              "found "
           << attr.getValue() << " for " << resultType(op);
  return success();
}

} // namespace

LogicalResult NPUDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attr) {
  StringRef name = attr.getName();
  Rule rule = ruleOf(name);
  if (rule.kind == Kind::Unknown)
    return complain(op, attr) << "is none of the npu dialect";
  bool inPlace = rule.onModule ? isa<ModuleOp>(op)
                               : isa_and_present<NPUDialect>(op->getDialect());
  if (!inPlace || (!rule.onModule && !resultType(op)))
    return complain(op, attr)
           << "stands only on "
           << (rule.onModule ? "modules" : "operations of the npu dialect");
  if (failed(checkRule(op, attr, rule)))
    return failure();
  if (name == "npu.axis" || name == "npu.work_axis")
    return checkAxis(op, attr);
  if (name == "npu.tile")
    return checkTile(op, attr);
  if (name == "npu.lanes")
    return checkLanes(op, attr);
  if (name == "npu.map_form")
    return checkMapForm(op, attr);
  if ((name == "npu.activations_stationary" || name == "npu.turn_blocks") &&
      !isa<PeConvOp, PeMatmulOp>(op))
    return complain(op, attr) << "stands only on products of the dense array";
  if (name == "npu.scatter" && !isa<TcuConvOp>(op))
    return complain(op, attr) << "stands only on npu.tcu.conv";
  if ((name == "npu.alias" || name == "npu.through_dram" ||
       name == "npu.swaps_blocks") &&
      !isa<DmaMoveOp>(op))
    return complain(op, attr) << "stands only on npu.dma.move";
  return success();
}

} // namespace ashlar::npu
