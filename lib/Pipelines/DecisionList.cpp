// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions as attributes, and as JSON for reports.

#include "DecisionList.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/ISA/ISADialect.h"
#include "dialects/NPU/ModuleAttributes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <iterator>

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

/// Residency and tiling, which every npu operation carries; null before they
/// are planned.
records::DecisionAttr placementOf(Operation *op) {
  npu::MemoryAttr memory = npu::memoryOf(op);
  npu::TilingAttr tiling = npu::tilingOf(op);
  if (!memory || !tiling)
    return {};
  std::string extents;
  for (int64_t extent : tiling.getTile().asArrayRef())
    extents += (extents.empty() ? "" : "x") + std::to_string(extent);
  records::Decision decision(
      op->getContext(), memory.inStateBuffer() ? "resident" : "dram",
      memory.inStateBuffer()
          ? "fits the state buffer from producer to last consumer"
          : memory.getDram().getValue());
  decision.facts.set("tile", llvm::Twine(extents));
  return decision.get();
}

/// The node that a decision is about; a program belongs to none.
std::string nameOf(Operation *op) {
  return mlir::isa<isadialect::ProgramOp>(op)
             ? kProgramNode.str()
             : analysis::getNodeName(op->getLoc());
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

DecisionList DecisionList::ofNodes(ModuleOp module) {
  DecisionList list;
  module.walk([&](Operation *op) {
    // A decision about the whole program comes last (ofProgram).
    if (mlir::isa<ModuleOp>(op))
      return;
    for (NamedAttribute attr : op->getDiscardableAttrs())
      if (records::isDecisionName(attr.getName()))
        list.entries.push_back(
            {nameOf(op), cast<records::DecisionAttr>(attr.getValue())});
    if (records::DecisionAttr placement = placementOf(op))
      list.entries.push_back({nameOf(op), placement});
  });
  return list;
}

DecisionList DecisionList::ofProgram(ModuleOp module) {
  DecisionList list;
  for (llvm::StringRef name :
       {npu::kBanksDecisionAttr, npu::kExponentsDecisionAttr,
        npu::kComparisonsDecisionAttr})
    list.add(records::decisionOf(module, name));
  return list;
}

void DecisionList::append(DecisionList other) {
  entries.insert(entries.end(), std::make_move_iterator(other.entries.begin()),
                 std::make_move_iterator(other.entries.end()));
}

void DecisionList::add(records::DecisionAttr ofProgram) {
  if (ofProgram)
    entries.push_back({kProgramNode.str(), ofProgram});
}

void DecisionList::takeProgramOf(const DecisionList &other) {
  llvm::erase_if(entries,
                 [](const Entry &entry) { return entry.node == kProgramNode; });
  for (const Entry &entry : other.entries)
    if (entry.node == kProgramNode)
      entries.push_back(entry);
}

void DecisionList::replaceReason(llvm::StringRef placeholder,
                                 llvm::StringRef reason) {
  for (Entry &entry : entries) {
    records::Decision decision(entry.decision);
    if (entry.decision.getReason().getValue() == placeholder)
      decision.because(reason);
    // The decision of a layer whose operand stays in the cluster has one of
    // its own.
    if (auto operand = decision.facts.getAs<DictionaryAttr>("operand"))
      if (auto own = operand.getAs<StringAttr>("reason");
          own && own.getValue() == placeholder)
        decision.facts.set(
            "operand",
            records::Facts(operand).set("reason", llvm::Twine(reason)).get());
    entry.decision = decision.get();
  }
}

void DecisionList::addMeasured(const MeasuredCycles &measured) {
  for (Entry &entry : entries) {
    records::Decision decision(entry.decision);
    const auto dense = measured.dense.nodes.find(entry.node),
               written = measured.written.nodes.find(entry.node);
    if (!decision.facts.getAs<Attribute>("cycles_saved") ||
        dense == measured.dense.nodes.end() ||
        written == measured.written.nodes.end())
      continue;
    auto named = [&](uint64_t array, uint64_t cluster) {
      return records::Facts(entry.decision.getContext())
          .set("dense", static_cast<int64_t>(array))
          .set(entry.decision.getChoice().getValue(),
               static_cast<int64_t>(cluster))
          .get();
    };
    decision.facts.set("measured", named(dense->second, written->second))
        .set("measured_network",
             named(measured.dense.total, measured.written.total))
        .set("cycles_saved",
             static_cast<int64_t>(dense->second - written->second));
    entry.decision = decision.get();
  }
}

// Entries are printed one by one: an array of them would copy all it has, maps
// and all, whenever it grows.
std::string DecisionList::toJson() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream decisions(stream);
  decisions.arrayBegin();
  for (const Entry &entry : entries)
    decisions.value(entryOf(entry.node, entry.decision));
  decisions.arrayEnd();
  return text;
}

} // namespace ashlar::pipelines
