// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compile report.

#include "Build.h"

#include "ashlar/Machine/Json.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace ashlar::pipelines {
namespace {

/// What constants take, of all nodes and of each.
void addStorage(llvm::json::Object &report, const WeightStorage &storage) {
  const NodeStorage total = storage.total();
  if (total.weights == 0)
    return;
  report["weights"] = total.weights;
  report["weight_bytes"] =
      total.mantissas + total.exponents + total.coefficients;
  report["bits_per_weight"] = total.bitsPerWeight();
  report["parameter_bytes"] = total.parameters;
  report["tensor_bytes"] = total.tensors;
  report["padding_bytes"] = total.padding;
  report["omitted_bytes"] = total.omitted;
  llvm::json::Array nodes;
  for (const NodeStorage &node : storage.nodes)
    nodes.push_back(
        llvm::json::Object{{"node", llvm::json::fixUTF8(node.node)},
                           {"weights", node.weights},
                           {"mantissas", node.mantissas},
                           {"exponents", node.exponents},
                           {"coefficients", node.coefficients},
                           {"parameters", node.parameters},
                           {"tensors", node.tensors},
                           {"padding", node.padding},
                           {"omitted", node.omitted},
                           {"bits_per_weight", node.bitsPerWeight()}});
  report["storage"] = std::move(nodes);
}

/// Tensors that stay in DRAM from run to run.
void addKept(llvm::json::Object &report, const container::Cache &cache) {
  if (cache.empty())
    return;
  llvm::json::Array tensors;
  for (const container::KeptTensor &kept : cache.tensors) {
    uint64_t bytes = support::byteSize(kept.type);
    for (int64_t extent : kept.shape)
      bytes *= static_cast<uint64_t>(extent);
    tensors.push_back(
        llvm::json::Object{{"name", llvm::json::fixUTF8(kept.name)},
                           {"output", llvm::json::fixUTF8(kept.output)},
                           {"type", support::name(kept.type)},
                           {"shape", llvm::json::Array(kept.shape)},
                           {"axis", kept.axis},
                           {"rows", kept.rows},
                           {"bytes", static_cast<int64_t>(bytes)}});
  }
  report["kept_tensors"] = std::move(tensors);
}

/// The machine that was compiled for.
const machine::Description &machineOf(const CompileResult &result) {
  if (result.program)
    return result.program->machine;
  return (*result.module)
      ->getAttrOfType<records::TargetAttr>(records::kTargetAttr)
      .getMachine();
}

} // namespace

std::string formatText(const CompilerArguments &arguments) {
  if (arguments.startAfter && *arguments.startAfter >= Phase::Quantise)
    return "as quantised";
  return numerics::toString(arguments.compile.formats);
}

llvm::json::Array decisionsOf(const CompileResult &result) {
  auto decisions = llvm::json::parse(result.decisionsJson);
  if (!decisions) {
    llvm::consumeError(decisions.takeError());
    return {};
  }
  llvm::json::Array *entries = decisions->getAsArray();
  return entries ? std::move(*entries) : llvm::json::Array();
}

llvm::Expected<std::string> reportText(const CompilerArguments &arguments,
                                       const Build &build) {
  const CompileResult &result = build.result;
  const machine::Description &machine = machineOf(result);
  llvm::json::Object phases;
  for (const PhaseTime &time : result.times)
    phases[phaseName(time.phase)] = time.seconds;
  llvm::json::Object report{{"schema_version", 1},
                            {"kind", "compile"},
                            {"model", arguments.compile.model},
                            {"machine", llvm::json::fixUTF8(machine.name)},
                            {"machine_parameters", machine::toJson(machine)},
                            {"format", formatText(arguments)},
                            {"phase_seconds", std::move(phases)}};
  if (build.search)
    report["format_search"] = toJson(*build.search);
  if (build.verification)
    report["verification"] = toJson(*build.verification);
  report["decisions"] = decisionsOf(result);
  if (result.program) {
    uint64_t bytes = 0;
    for (const container::Segment &segment : result.program->constants)
      bytes += segment.bytes.size();
    report["instructions"] =
        static_cast<int64_t>(result.program->nodeOfInstruction.size());
    report["constant_bytes"] = static_cast<int64_t>(bytes);
    report["dram_bytes"] = static_cast<int64_t>(result.program->dramBytes);
  }
  if (result.program)
    addKept(report, result.program->cache);
  addStorage(report, result.weights);
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report))).str();
}

} // namespace ashlar::pipelines
