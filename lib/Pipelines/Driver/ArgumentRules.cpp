// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flags that exclude or need each other.

#include "ArgumentRules.h"

#include "ashlar/Support/Error.h"

namespace ashlar::pipelines {
namespace {

/// What an option decides is decided once this phase has run.
struct Decided {
  llvm::StringLiteral option;
  Phase in;
};

/// Options that read the model itself are decided with its import.
constexpr Decided decided[] = {{"batch", Phase::Import},
                               {"bucket", Phase::Import},
                               {"input-shape", Phase::Import},
                               {"state", Phase::Import},
                               {"large-constants", Phase::Import},
                               {"constant", Phase::Import},
                               {"elements", Phase::Import},
                               {"check", Phase::Import},
                               {"calibrate", Phase::Import},
                               {"min-snr", Phase::Import},
                               {"min-agreement", Phase::Import},
                               {"verify", Phase::Import},
                               {"inputs", Phase::Import},
                               {"dead-channels", Phase::Fold},
                               {"format", Phase::Quantise},
                               {"activations", Phase::Quantise},
                               {"weights", Phase::Quantise},
                               {"formats", Phase::Quantise},
                               {"scale", Phase::Quantise},
                               {"residual", Phase::Quantise},
                               {"epilogue", Phase::Quantise},
                               {"weight-scaling", Phase::Quantise},
                               {"dump-formats", Phase::Quantise},
                               {"dump-plan", Phase::Quantise},
                               {"machine", Phase::Assign},
                               {"fold-w", Phase::Assign},
                               {"transpose", Phase::Assign},
                               {"pci-policy", Phase::Assign},
                               {"sparse", Phase::Assign},
                               {"zero-skip", Phase::Assign},
                               {"sparse-bias", Phase::Assign},
                               {"sparse-bind", Phase::Assign},
                               {"sparse-keep", Phase::Plan},
                               {"sparse-copies", Phase::Plan},
                               {"classify", Phase::Assign},
                               {"scatter-unit", Phase::Assign},
                               {"scatter-block", Phase::Assign},
                               {"scatter-order", Phase::Assign},
                               {"partition", Phase::Assign},
                               {"partition-metric", Phase::Assign},
                               {"partition-threshold", Phase::Assign},
                               {"partition-cuts", Phase::Assign},
                               {"partition-halo", Phase::Assign},
                               {"nm-weights", Phase::Assign},
                               {"pack-rows", Phase::Assign},
                               {"pool-drain", Phase::Assign},
                               {"function-engine", Phase::Assign},
                               {"map-compression", Phase::Plan},
                               {"weight-compression", Phase::Emit}};

} // namespace

llvm::Error checkSearch(const CompilerArguments &arguments) {
  const QualityTarget &target = arguments.search.target;
  const bool hasTarget = target.minSnr || target.minAgreement;
  const bool calibrated = !arguments.search.calibration.empty();
  if (arguments.autoFormats && !hasTarget)
    return makeError(ErrorClass::Usage, "{}",
                     "--format=auto has no target, expected --min-snr=DB or "
                     "--min-agreement=PCT");
  if (arguments.autoFormats && !calibrated)
    return makeError(ErrorClass::Usage, "{}",
                     "--format=auto has no samples, expected "
                     "--calibrate=FILE.npz");
  const bool oneGiven = arguments.activations || arguments.weights;
  if (oneGiven && arguments.autoFormats)
    return makeError(ErrorClass::Usage, "{}",
                     "--format=auto chooses the formats of activations and "
                     "weights, expected no other");
  if (!arguments.formatsFile.empty() && (arguments.formatGiven || oneGiven))
    return makeError(ErrorClass::Usage, "{}",
                     "--formats gives all formats, expected no --format, "
                     "--activations or --weights besides");
  if (arguments.compile.epilogue == "block" &&
      arguments.compile.residual != "bfp")
    return makeError(ErrorClass::Usage,
                     "--epilogue=block adds encoded residuals, expected no "
                     "--residual={}",
                     arguments.compile.residual);
  if (!arguments.autoFormats && hasTarget)
    return makeError(ErrorClass::Usage, "{}",
                     "--min-snr and --min-agreement need --format=auto");
  return llvm::Error::success();
}

llvm::Error checkStart(const CompilerArguments &arguments,
                       llvm::ArrayRef<support::GivenOption> given) {
  if (!arguments.startAfter)
    return llvm::Error::success();
  Phase start = *arguments.startAfter;
  if (arguments.compile.stopAfter < start)
    return makeError(
        ErrorClass::Usage, "--compile-to={} is before --compile-from={}",
        phaseName(arguments.compile.stopAfter).str(), phaseName(start).str());
  if (arguments.autoFormats)
    return makeError(ErrorClass::Usage, "{}",
                     "--format=auto compiles the model itself, expected no "
                     "--compile-from");
  for (const support::GivenOption &argument : given)
    for (const Decided &option : decided)
      if (option.in <= start &&
          llvm::StringRef(argument.name).ltrim('-') == option.option)
        return makeError(ErrorClass::Usage,
                         "--{} was decided in phase {}, expected none with "
                         "--compile-from={}",
                         option.option.str(), phaseName(option.in).str(),
                         phaseName(start).str());
  return llvm::Error::success();
}

llvm::Error checkOutputs(const CompilerArguments &arguments) {
  const bool timed = !arguments.html.empty() || !arguments.layers.empty() ||
                     !arguments.annotated.empty() ||
                     !arguments.explorer.empty();
  if (timed && (arguments.stopRequested || arguments.check))
    return makeError(ErrorClass::Usage, "{}",
                     "--html, --layers, --annotate and --model-explorer need "
                     "the whole program, expected no --compile-to or --check");
  for (auto [file, option] :
       {std::pair(&arguments.annotated, "--annotate"),
        std::pair(&arguments.explorer, "--model-explorer")})
    if (!file->empty() && arguments.startAfter)
      return makeError(ErrorClass::Usage,
                       "{} needs the ONNX model, expected no --compile-from",
                       option);
  if (!arguments.buckets.empty() &&
      (arguments.output.empty() || timed || arguments.stopRequested ||
       arguments.startAfter || arguments.verify || arguments.autoFormats ||
       !arguments.report.empty() || !arguments.dumpFormats.empty() ||
       !arguments.compile.dumpPlan.empty()))
    return makeError(ErrorClass::Usage, "{}",
                     "--bucket writes several programs with -o; reports, "
                     "phases, verification and searches are for one: compile "
                     "with --input-shape");
  if (arguments.verify && arguments.compile.import.batch > 0)
    return makeError(ErrorClass::Usage, "{}",
                     "--verify checks the model with its own batch, expected "
                     "no --batch; --input-shape fixes an open one");
  if (arguments.verify != !arguments.verifyInputs.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "--verify and --inputs=FILE.npz belong together, one is "
                     "missing");
  if (arguments.verify && arguments.stopRequested)
    return makeError(ErrorClass::Usage, "{}",
                     "--verify runs the whole program, expected no "
                     "--compile-to");
  if (arguments.quiet && arguments.explain)
    return makeError(ErrorClass::Usage, "{}",
                     "--quiet prints errors and warnings only, expected no "
                     "--explain; --report writes the same to a file");
  if (arguments.output.empty() && !arguments.check && !arguments.explain &&
      !arguments.verify && !arguments.stopRequested &&
      arguments.report.empty() && arguments.compile.dumpPlan.empty() && !timed)
    return makeError(ErrorClass::Usage, "{}",
                     "no output given, expected -o OUT.ash (or --check, "
                     "--explain, --compile-to); see --help");
  return llvm::Error::success();
}

} // namespace ashlar::pipelines
