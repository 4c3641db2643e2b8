// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions that passes left as attributes, as JSON for reports.

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Pipelines/Compile.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/ISA/ISADialect.h"
#include "dialects/NPU/ModuleAttributes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cassert>

using namespace mlir;

namespace ashlar::pipelines {
namespace {

/// The node of decisions about the whole program.
constexpr llvm::StringLiteral kProgramNode = "(program)";

/// An attribute as a JSON value; what JSON has no form for becomes its text.
llvm::json::Value toJson(Attribute attr) {
  if (auto text = dyn_cast<StringAttr>(attr))
    return text.getValue();
  if (auto number = dyn_cast<IntegerAttr>(attr))
    return number.getInt();
  // JSON has no infinity and no NaN.
  if (auto number = dyn_cast<FloatAttr>(attr);
      number && number.getValue().isFinite())
    return number.getValueAsDouble();
  if (auto dictionary = dyn_cast<DictionaryAttr>(attr)) {
    llvm::json::Object object;
    for (NamedAttribute entry : dictionary)
      object[entry.getName().getValue()] = toJson(entry.getValue());
    return object;
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  attr.print(stream);
  return text;
}

/// Residency and tiling, which every npu operation carries.
void addPlacement(Operation *op, llvm::json::OStream &decisions) {
  npu::MemoryAttr memory = npu::memoryOf(op);
  npu::TilingAttr tiling = npu::tilingOf(op);
  if (!memory || !tiling)
    return;
  std::string extents;
  for (int64_t extent : tiling.getTile().asArrayRef())
    extents += (extents.empty() ? "" : "x") + std::to_string(extent);
  decisions.value(llvm::json::Object{
      {"node", analysis::getNodeName(op->getLoc())},
      {"choice", memory.inStateBuffer() ? "resident" : "dram"},
      {"reason", memory.inStateBuffer()
                     ? "fits the state buffer from producer to last consumer"
                     : memory.getDram().getValue()},
      {"tile", extents}});
}

/// The node that a decision is about; a program belongs to none.
std::string nameOf(Operation *op) {
  return mlir::isa<isadialect::ProgramOp>(op)
             ? kProgramNode.str()
             : analysis::getNodeName(op->getLoc());
}

std::string toText(llvm::json::Array decisions) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::json::Value(std::move(decisions));
  return text;
}

/// A decision as an entry of the list.
llvm::json::Object entryOf(std::string node, records::DecisionAttr decision) {
  llvm::json::Object entry{{"node", std::move(node)},
                           {"choice", decision.getChoice().getValue()},
                           {"reason", decision.getReason().getValue()}};
  if (DictionaryAttr alternatives = decision.getAlternatives())
    entry["alternatives"] = toJson(alternatives);
  if (DictionaryAttr facts = decision.getFacts())
    for (NamedAttribute fact : facts)
      entry[fact.getName().getValue()] = toJson(fact.getValue());
  return entry;
}

} // namespace

// Entries are printed one by one: an array of them would copy all it has, maps
// and all, whenever it grows.
std::string collectDecisions(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream decisions(stream);
  decisions.arrayBegin();
  module.walk([&](Operation *op) {
    // A decision about the whole program comes last (programDecision).
    if (mlir::isa<ModuleOp>(op))
      return;
    for (NamedAttribute attr : op->getDiscardableAttrs())
      if (records::isDecisionName(attr.getName()))
        decisions.value(
            entryOf(nameOf(op), cast<records::DecisionAttr>(attr.getValue())));
    addPlacement(op, decisions);
  });
  decisions.arrayEnd();
  return text;
}

std::string programDecision(records::DecisionAttr decision) {
  llvm::json::Array decisions;
  if (decision)
    decisions.push_back(entryOf(kProgramNode.str(), decision));
  return toText(std::move(decisions));
}

std::string decisionsOfModule(ModuleOp module) {
  std::string all = "[]";
  for (llvm::StringRef name :
       {npu::kBanksDecisionAttr, npu::kExponentsDecisionAttr,
        npu::kComparisonsDecisionAttr})
    all =
        joinDecisions(all, programDecision(records::decisionOf(module, name)));
  return all;
}

std::string mergeDecisions(llvm::StringRef ofNodes, llvm::StringRef ofProgram) {
  auto parse = [](llvm::StringRef text) {
    llvm::json::Value value = llvm::cantFail(llvm::json::parse(text));
    return std::move(*value.getAsArray());
  };
  auto isOfProgram = [](const llvm::json::Value &entry) {
    return entry.getAsObject()->getString("node") == kProgramNode;
  };
  llvm::json::Array decisions;
  for (llvm::json::Value &entry : parse(ofNodes))
    if (!isOfProgram(entry))
      decisions.push_back(std::move(entry));
  for (llvm::json::Value &entry : parse(ofProgram))
    if (isOfProgram(entry))
      decisions.push_back(std::move(entry));
  return toText(std::move(decisions));
}

// The text of one array in that of the other: whole programs are compiled and
// compared by the hundred, and nobody reads the decisions of most.
std::string joinDecisions(llvm::StringRef first, llvm::StringRef second) {
  auto entriesOf = [](llvm::StringRef text) {
    assert(text.starts_with("[") && text.ends_with("]") && "not an array");
    return text.drop_front().drop_back();
  };
  const llvm::StringRef before = entriesOf(first), after = entriesOf(second);
  const llvm::StringRef comma = before.empty() || after.empty() ? "" : ",";
  return ("[" + before + comma + after + "]").str();
}

} // namespace ashlar::pipelines
