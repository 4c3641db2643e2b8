// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search for formats as JSON for the compile report and as text for
// --explain.

#include "FormatSearch.h"

#include "ashlar/Support/Error.h"

#include <fmt/format.h>

namespace ashlar::pipelines {
namespace {

llvm::json::Value toJson(const Candidate &candidate) {
  llvm::json::Object object{{"label", candidate.label}};
  if (!candidate.failure.empty()) {
    object["failure"] = candidate.failure;
    return object;
  }
  const Quality &quality = candidate.quality;
  object["formats"] = numerics::toJson(candidate.formats);
  if (candidate.counted) {
    object["cycles"] = static_cast<int64_t>(candidate.cycles);
    object["weight_bytes"] = static_cast<int64_t>(candidate.weightBytes);
  }
  object["snr_db"] = quality.snr;
  object["snr_standard_error_db"] = quality.snrError;
  object["expected_agreement_percent"] = quality.agreement;
  object["counted_agreement_percent"] = quality.counted;
  object["reaches"] = candidate.reaches;
  return object;
}

/// "relu_3 weights w=6,block=16,range=7" for every operand with its own.
std::string nodesText(const numerics::FormatTable &table) {
  std::string text;
  for (const auto &[node, formats] : table.nodes) {
    text += fmt::format("{:<32} formats         ", node);
    if (formats.activations)
      text += " activations " + numerics::toString(*formats.activations);
    if (formats.weights)
      text += " weights " + numerics::toString(*formats.weights);
    text += "\n";
  }
  return text;
}

} // namespace

llvm::json::Value toJson(const SearchResult &result) {
  llvm::json::Object target;
  if (result.target.minSnr)
    target["min_snr_db"] = *result.target.minSnr;
  if (result.target.minAgreement)
    target["min_agreement_percent"] = *result.target.minAgreement;
  llvm::json::Array candidates;
  for (const Candidate &candidate : result.candidates)
    candidates.push_back(toJson(candidate));
  return llvm::json::Object{{"target", std::move(target)},
                            {"samples", static_cast<int64_t>(result.samples)},
                            {"uniform", static_cast<int64_t>(result.uniform)},
                            {"chosen", static_cast<int64_t>(result.chosen)},
                            {"candidates", std::move(candidates)}};
}

llvm::Error nothingReaches(const SearchResult &result) {
  const Candidate *least = nullptr;
  for (const Candidate &candidate : result.candidates)
    if (candidate.failure.empty() &&
        (!least || candidate.quality.noise < least->quality.noise))
      least = &candidate;
  if (!least)
    return makeError(ErrorClass::Unsupported, "{}",
                     result.candidates.front().failure);
  std::string wanted;
  if (result.target.minSnr)
    wanted += fmt::format(" --min-snr={}", *result.target.minSnr);
  if (result.target.minAgreement)
    wanted += fmt::format(" --min-agreement={}", *result.target.minAgreement);
  return makeError(
      ErrorClass::Unsupported,
      "no format reaches{} on the calibration samples; the best found is {} "
      "with {:.1f} dB (standard error {:.1f}) and {:.2f} % expected agreement",
      wanted, least->label, least->quality.snr, least->quality.snrError,
      least->quality.agreement);
}

std::string describe(const SearchResult &result) {
  std::string text =
      fmt::format("formats: {} candidates on {} samples; cycles, weight bytes, "
                  "SNR, expected and counted agreement\n",
                  result.candidates.size(), result.samples);
  for (size_t i = 0; i < result.candidates.size(); ++i) {
    const Candidate &candidate = result.candidates[i];
    const char *mark = i == result.chosen    ? "chosen"
                       : i == result.uniform ? "uniform"
                       : candidate.reaches   ? "reaches"
                                             : "";
    if (!candidate.failure.empty()) {
      text += fmt::format("{:>3} {:<8} {}: {}\n", i, "refused", candidate.label,
                          candidate.failure);
      continue;
    }
    auto counted = [&](uint64_t number) {
      return candidate.counted ? std::to_string(number) : "-";
    };
    text += fmt::format(
        "{:>3} {:<8} {:>10} {:>10} {:>7.2f} dB {:>7.3f} % {:>6.1f} %  {}\n", i,
        mark, counted(candidate.cycles), counted(candidate.weightBytes),
        candidate.quality.snr, candidate.quality.agreement,
        candidate.quality.counted, candidate.label);
  }
  return text + nodesText(result.formats());
}

} // namespace ashlar::pipelines
