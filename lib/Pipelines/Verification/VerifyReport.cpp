// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of --verify as text and as JSON.

#include "../FormatSearch/FormatQuality.h"
#include "Verify.h"

#include <fmt/format.h>

#include <cmath>

namespace ashlar::pipelines {
namespace {

std::string verdictOf(const LayerCheck &layer) {
  return layer.ratio > 1 ? "LEAVES ITS BOUND" : "";
}

/// JSON has no infinity.
llvm::json::Value number(double value) {
  if (std::isfinite(value))
    return value;
  return "inf";
}

llvm::json::Value toJson(const LayerCheck &layer) {
  llvm::json::Object object{
      {"name", llvm::json::fixUTF8(layer.name)},
      {"op", layer.op},
      {"snr_db", decibels(layer.signal, layer.noise)},
      {"saturated", static_cast<int64_t>(layer.saturated)},
      {"vanished", static_cast<int64_t>(layer.vanished)}};
  if (layer.guaranteed) {
    object["max_error"] = number(layer.maxError);
    object["max_bound"] = number(layer.maxBound);
    object["error_to_bound"] = number(layer.ratio);
  }
  return object;
}

} // namespace

std::map<std::string, double> layerRatios(const Verification &verification) {
  std::map<std::string, double> ratios;
  for (const LayerCheck &layer : verification.layers)
    if (layer.noise > 0 && layer.signal > 0)
      ratios[layer.name] = decibels(layer.signal, layer.noise);
  return ratios;
}

std::string describe(const Verification &verification) {
  std::string text = fmt::format(
      "verify: {} samples, against binary64 without formats\n"
      "{:<10} {:>7} {:>12}  {}\n",
      verification.samples, "phase", "layers", "difference", "largest at");
  for (const PhaseCheck &check : verification.phases)
    text += fmt::format("{:<10} {:>7} {:>12.3g}  {}\n",
                        phaseName(check.phase).str(), check.layers, check.worst,
                        check.layer);
  text += fmt::format("{:<32} {:<12} {:>9} {:>11} {:>11} {:>11} {:>9} {:>9}\n",
                      "layer", "op", "SNR dB", "max error", "bound",
                      "error/bound", "saturated", "vanished");
  for (const LayerCheck &layer : verification.layers) {
    text += fmt::format("{:<32} {:<12} {:>9.2f} ", layer.name, layer.op,
                        decibels(layer.signal, layer.noise));
    if (layer.guaranteed)
      text += fmt::format("{:>11.4g} {:>11.4g} {:>11.4g}", layer.maxError,
                          layer.maxBound, layer.ratio);
    else
      text += fmt::format("{:>11} {:>11} {:>11}", "-", "-", "-");
    text += fmt::format(" {:>9} {:>9} {}\n", layer.saturated, layer.vanished,
                        verdictOf(layer));
  }
  if (!verification.violation)
    return text + "verify: every layer keeps its bound\n";
  return text;
}

llvm::json::Value toJson(const Verification &verification) {
  llvm::json::Array phases, layers;
  for (const PhaseCheck &check : verification.phases)
    phases.push_back(
        llvm::json::Object{{"phase", phaseName(check.phase)},
                           {"layers", static_cast<int64_t>(check.layers)},
                           {"difference", number(check.worst)},
                           {"layer", llvm::json::fixUTF8(check.layer)}});
  for (const LayerCheck &layer : verification.layers)
    layers.push_back(toJson(layer));
  llvm::json::Object report{
      {"samples", static_cast<int64_t>(verification.samples)},
      {"tolerance", kFoldTolerance},
      {"phases", std::move(phases)},
      {"layers", std::move(layers)}};
  if (const auto &violation = verification.violation)
    report["violation"] =
        llvm::json::Object{{"layer", llvm::json::fixUTF8(violation->layer)},
                           {"phase", phaseName(violation->phase)},
                           {"pass", violation->pass},
                           {"text", violation->text}};
  return report;
}

} // namespace ashlar::pipelines
