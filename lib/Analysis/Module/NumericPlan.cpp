// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the numeric plan (schema "ashlar-plan", docs/NumericPlan.md). One
// tensor, event or operation per line, keys in alphabetical order: the same
// module gives the same bytes.

#include "ashlar/Analysis/Module/NumericPlan.h"

#include "PlanOps.h"

#include "ashlar/Analysis/Module/ModuleForm.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Numerics/Statistics.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Npy.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;
namespace json = llvm::json;

namespace ashlar::analysis {

namespace {
/// The parts of a plan, each built by a function of its own.
class PlanWriter {
public:
  PlanWriter(ModuleOp module, func::FuncOp function)
      : module(module), function(function), names(function), events(function) {}

  std::string write();

private:
  void writeList(llvm::raw_ostream &os, StringRef key,
                 ArrayRef<json::Value> items, bool last = false);
  std::vector<json::Value> describeTensors();
  std::vector<json::Value> describeEvents();
  std::vector<json::Value> describeOps();
  std::vector<json::Value> describeInputs();
  std::vector<json::Value> describeOutputs();
  json::Object describeTensor(Value value, StringRef kind);
  void addFormat(json::Object &tensor, Value value, bfp::BlockType type);
  json::Object describeOp(Operation *op);

  /// ONNX strings are bytes; JSON's are UTF-8.
  static std::string text(StringRef bytes) { return json::fixUTF8(bytes); }
  std::string nameOf(Value value) const { return text(names.getName(value)); }
  Block &body() { return function.getBody().front(); }

  ModuleOp module;
  func::FuncOp function;
  PlanNames names;
  bfp::EncodeEvents events;
};
} // namespace

static json::Value describeBlock(bfp::BlockType type) {
  if (type.isWholeAxis())
    return "axis";
  if (type.isWholeTensor())
    return "tensor";
  return type.getBlock();
}

/// The dimension of weights that output channels run along.
static int64_t getChannelAxis(bfp::EncodeOp weights) {
  for (Operation *user : weights->getUsers())
    if (isa<bfp::MatmulOp>(user))
      return 1;
  return 0;
}

void PlanWriter::addFormat(json::Object &tensor, Value value,
                           bfp::BlockType type) {
  tensor["type"] = "bfp";
  tensor["format"] = json::Object{{"mantissa", type.getMantissa()},
                                  {"block", describeBlock(type)},
                                  {"range", type.getRange()},
                                  {"axis", type.getAxis()}};
  if (type.getIsUnsigned())
    (*tensor["format"].getAsObject())["unsigned"] = true;
  if (type.sharesRows())
    (*tensor["format"].getAsObject())["rows"] = type.getRows();
  if (std::optional<unsigned> event = events.getEvent(value)) {
    tensor["event"] = *event;
    tensor["policy"] = numerics::scaleKindName(
        bfp::getScalePolicy(events.getEvents()[*event].root.getDefiningOp())
            .kind);
  } else if (auto weights = value.getDefiningOp<bfp::EncodeOp>()) {
    tensor["scale"] = "per_output_channel";
    tensor["channel_axis"] = getChannelAxis(weights);
  }
}

/// The parameters of a policy that is not `runmax`.
static json::Object describePolicy(const numerics::ScalePolicy &policy) {
  json::Object object{{"kind", numerics::scaleKindName(policy.kind)}};
  if (policy.kind == numerics::ScaleKind::Error)
    object["tolerance"] = policy.tolerance;
  else if (policy.isStateful())
    object["k_sixteenths"] = policy.sixteenths;
  if (policy.kind == numerics::ScaleKind::Stats ||
      policy.kind == numerics::ScaleKind::Error)
    object["samples"] = policy.samples;
  if (policy.kind == numerics::ScaleKind::Predict)
    object["depth"] = policy.depth;
  if (policy.ceiling)
    object["lead"] = "ceil";
  if (policy.isStored()) {
    object["at"] = "store";
    object["overflow"] = numerics::storeOverflowName(policy.overflow);
  }
  return object;
}

json::Object PlanWriter::describeTensor(Value value, StringRef kind) {
  auto type = cast<RankedTensorType>(value.getType());
  json::Object tensor{{"name", nameOf(value)},
                      {"kind", kind},
                      {"shape", json::Array(type.getShape())}};
  if (bfp::BlockType block = bfp::getBlockType(type))
    addFormat(tensor, value, block);
  else if (std::optional<support::ElementType> element =
               nn::toElementType(type.getElementType()))
    tensor["type"] = support::name(*element);
  if (kind == "constant")
    tensor["file"] = (names.getFileStem(value) + ".npy").str();
  return tensor;
}

std::vector<json::Value> PlanWriter::describeTensors() {
  std::vector<json::Value> tensors;
  for (Value argument : body().getArguments())
    tensors.push_back(describeTensor(argument, "input"));
  for (Operation &op : body())
    for (Value result : op.getResults()) {
      if (names.getName(result).empty())
        continue;
      bool returned = llvm::any_of(result.getUsers(), [](Operation *user) {
        return isa<func::ReturnOp>(user);
      });
      tensors.push_back(describeTensor(result, isPlanConstant(result)
                                                   ? "constant"
                                               : returned ? "output"
                                                          : "value"));
    }
  return tensors;
}

std::vector<json::Value> PlanWriter::describeEvents() {
  std::vector<json::Value> result;
  int64_t state = 0;
  for (auto [id, event] : llvm::enumerate(events.getEvents())) {
    json::Object object{{"id", static_cast<int64_t>(id)},
                        {"tensor", nameOf(event.root)}};
    if (!event.parts.empty()) {
      json::Array parts;
      for (unsigned part : event.parts)
        parts.push_back(part);
      object["max_of"] = std::move(parts);
    }
    numerics::ScalePolicy policy =
        bfp::getScalePolicy(event.root.getDefiningOp());
    if (policy.kind != numerics::ScaleKind::RunMax)
      object["policy"] = describePolicy(policy);
    if (policy.exponent)
      object["exponent"] = *policy.exponent;
    if (policy.isStateful()) {
      // E, and for predict the history that it comes from.
      object["state"] = state;
      state += policy.kind == numerics::ScaleKind::Predict
                   ? 1 + numerics::historyRegisters(policy.depth)
                   : 1;
    }
    result.push_back(std::move(object));
  }
  return result;
}

json::Object PlanWriter::describeOp(Operation *op) {
  PlanOp plan = describeOperation(op);
  json::Object inputs;
  for (auto [role, operand] : llvm::zip_equal(plan.roles, op->getOperands()))
    inputs[role] = nameOf(operand);
  SmallVector<std::string> nodes = getNodeNames(op->getLoc());
  Value result = op->getResult(0);
  json::Object object{{"op", plan.kind},
                      {"name", nodes.empty() ? nameOf(result) : text(nodes[0])},
                      {"inputs", std::move(inputs)},
                      {"output", nameOf(result)},
                      {"attrs", std::move(plan.attrs)}};
  if (nodes.size() > 1) {
    json::Array absorbed;
    for (const std::string &node : ArrayRef(nodes).drop_front())
      absorbed.push_back(text(node));
    object["absorbed"] = std::move(absorbed);
  }
  if (plan.function)
    object["function"] = std::move(*plan.function);
  return object;
}

std::vector<json::Value> PlanWriter::describeOps() {
  std::vector<json::Value> ops;
  for (Operation &op : body().without_terminator())
    if (op.getNumResults() == 1 && !isa<nn::ConstantOp>(op) &&
        !isPlanConstant(op.getResult(0)))
      ops.push_back(describeOp(&op));
  return ops;
}

std::vector<json::Value> PlanWriter::describeInputs() {
  std::vector<json::Value> inputs;
  for (Value argument : body().getArguments())
    inputs.push_back(nameOf(argument));
  return inputs;
}

std::vector<json::Value> PlanWriter::describeOutputs() {
  std::vector<json::Value> outputs;
  const llvm::DenseSet<unsigned> extents = extentsOf(function);
  for (auto [index, value] :
       llvm::enumerate(body().getTerminator()->getOperands())) {
    if (extents.contains(index))
      continue;
    auto name = function.getResultAttrOfType<StringAttr>(index, nn::nameAttr);
    outputs.push_back(json::Object{{"name", name ? text(name) : nameOf(value)},
                                   {"tensor", nameOf(value)}});
  }
  return outputs;
}

void PlanWriter::writeList(llvm::raw_ostream &os, StringRef key,
                           ArrayRef<json::Value> items, bool last) {
  os << "\"" << key << "\":[";
  for (auto [index, item] : llvm::enumerate(items))
    os << (index ? ",\n " : "\n ") << item;
  os << (last ? "\n]\n" : "\n],\n");
}

std::string PlanWriter::write() {
  std::string result;
  llvm::raw_string_ostream os(result);
  auto attribute = [&](StringRef name) {
    auto value = module->getAttrOfType<StringAttr>(name);
    return json::Value(value ? text(value) : std::string());
  };
  os << "{\"schema\":\"ashlar-plan\",\"version\":1,\n\"model\":"
     << attribute(nn::modelNameAttr)
     << ",\n\"format\":" << attribute(bfp::kFormatAttr) << ",\n";
  if (module->hasAttr(bfp::kRangeReasonAttr))
    os << "\"range_reason\":" << attribute(bfp::kRangeReasonAttr) << ",\n";
  writeList(os, "inputs", describeInputs());
  writeList(os, "outputs", describeOutputs());
  writeList(os, "tensors", describeTensors());
  writeList(os, "events", describeEvents());
  writeList(os, "ops", describeOps(), /*last=*/true);
  os << "}\n";
  return result;
}

static func::FuncOp findMain(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  return function && !function.getBody().empty() ? function : func::FuncOp();
}

std::string buildNumericPlanJson(ModuleOp module) {
  func::FuncOp function = findMain(module);
  return function ? PlanWriter(module, function).write() : std::string();
}

/// binary16 and bfloat16 widened to binary32; every other type as it is.
static HostTensor widen(HostTensor tensor) {
  bool half = tensor.type == ElementType::F16;
  if (!half && tensor.type != ElementType::BF16)
    return tensor;
  HostTensor wide = HostTensor::zeros(ElementType::F32, tensor.shape);
  for (uint64_t index = 0; index < tensor.numElements(); ++index) {
    // Both types convert to binary64 exactly, and back to binary32 as well.
    float value = static_cast<float>(tensor.asDouble(index));
    std::memcpy(wide.data.data() + index * sizeof(float), &value,
                sizeof(float));
  }
  return wide;
}

static llvm::Error addConstant(Value value, StringRef file,
                               support::FolderWriter &folder) {
  if (auto encode = value.getDefiningOp<bfp::EncodeOp>())
    value = encode.getInput();
  ElementsAttr elements = value.getDefiningOp<nn::ConstantOp>().getValue();
  nn::ElementStorage storage;
  std::optional<ArrayRef<char>> bytes = nn::rawElements(elements, storage);
  std::optional<ElementType> type =
      nn::toElementType(elements.getElementType());
  if (!bytes || !type)
    return makeError(ErrorClass::Internal, "constant for '{}' is not readable",
                     file.str());
  HostTensor tensor;
  tensor.type = *type;
  tensor.shape = SmallVector<int64_t>(
      cast<RankedTensorType>(elements.getType()).getShape());
  tensor.data.assign(bytes->begin(), bytes->end());
  return folder.add(file, support::formatNpy(widen(std::move(tensor))));
}

llvm::Error dumpPlan(ModuleOp module, StringRef directory) {
  func::FuncOp function = findMain(module);
  if (!function)
    return makeError(ErrorClass::Internal, "module has no function 'main'");
  auto folder = support::FolderWriter::create(directory);
  if (!folder)
    return folder.takeError();
  PlanNames names(function);
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults())
      if (isPlanConstant(result))
        if (llvm::Error error = addConstant(
                result, (names.getFileStem(result) + ".npy").str(), *folder))
          return error;
  // Last, so that a plan that is there is whole.
  if (llvm::Error error = folder->add(
          "plan.json", StringRef(PlanWriter(module, function).write())))
    return error;
  return folder->publish();
}

} // namespace ashlar::analysis
