// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flag table of ashlarc.

#include "Arguments.h"
#include "ArgumentRules.h"

#include "ashlar/Partition/Classify.h"
#include "ashlar/Partition/Partition.h"
#include "ashlar/Support/CommandLine.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Json.h"

#include <cmath>

namespace ashlar::pipelines {
namespace {

using Flag = support::Flag<CompilerArguments>;

std::string textOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

template <std::string CompilerArguments::*member>
std::string setText(CompilerArguments &arguments, llvm::StringRef text) {
  arguments.*member = text.str();
  return text.empty() ? "expected a value" : "";
}

template <bool CompilerArguments::*member>
std::string setSwitch(CompilerArguments &arguments, llvm::StringRef) {
  arguments.*member = true;
  return "";
}

std::string setPhase(CompilerArguments &arguments, llvm::StringRef text) {
  auto phase = parsePhase(text);
  if (!phase)
    return "expected one of " + phaseNames();
  arguments.compile.stopAfter = *phase;
  arguments.stopRequested = true;
  return "";
}

std::string setStart(CompilerArguments &arguments, llvm::StringRef text) {
  arguments.startAfter = parsePhase(text);
  return arguments.startAfter ? "" : "expected one of " + phaseNames();
}

std::string setResidual(CompilerArguments &arguments, llvm::StringRef text) {
  constexpr llvm::StringLiteral types[] = {"bfp", "bf16", "f32"};
  if (!llvm::is_contained(types, text))
    return "expected bfp, bf16 or f32";
  arguments.compile.residual = text.str();
  return "";
}

std::string setWeightScaling(CompilerArguments &arguments,
                             llvm::StringRef text) {
  if (text != "auto" && text != "off")
    return "expected auto or off";
  arguments.compile.weightScaling = text == "auto";
  return "";
}

std::string setFoldWidth(CompilerArguments &arguments, llvm::StringRef text) {
  constexpr llvm::StringLiteral modes[] = {"auto", "off", "stride", "lane",
                                           "both"};
  if (!llvm::is_contained(modes, text))
    return "expected auto, off, stride, lane or both";
  arguments.compile.foldWidth = text.str();
  return "";
}

std::string setPciPolicy(CompilerArguments &arguments, llvm::StringRef text) {
  if (text != "cycles" && text != "source")
    return "expected cycles or source";
  arguments.compile.pciPolicy = text.str();
  return "";
}

std::string setSparse(CompilerArguments &arguments, llvm::StringRef text) {
  constexpr llvm::StringLiteral modes[] = {"auto", "off", "tile", "scatter"};
  if (!llvm::is_contained(modes, text))
    return "expected auto, off, tile or scatter";
  arguments.compile.sparse.mode = text.str();
  return "";
}

std::string setRule(CompilerArguments &arguments, llvm::StringRef text) {
  arguments.compile.sparse.rule = text.str();
  return textOf(partition::parseRule(text).takeError());
}

std::string setScatterUnit(CompilerArguments &arguments, llvm::StringRef text) {
  if (text.size() != 1 || text[0] < 'A' || text[0] > 'D')
    return "expected A, B, C or D";
  arguments.compile.sparse.variant = text.str();
  return "";
}

std::string setPartition(CompilerArguments &arguments, llvm::StringRef text) {
  arguments.compile.sparse.algorithm = text.str();
  return textOf(partition::parseAlgorithm(text).takeError());
}

std::string setPartitionMetric(CompilerArguments &arguments,
                               llvm::StringRef text) {
  if (text == "cycles")
    return "expected nnz, density or zeros";
  arguments.compile.sparse.metric = text.str();
  return textOf(partition::parseMetric(text).takeError());
}

/// A share in steps of 1/10000.
std::string setPartitionThreshold(CompilerArguments &arguments,
                                  llvm::StringRef text) {
  double number = 0;
  if (text.getAsDouble(number) || !(number >= 0) || !(number <= 1))
    return "expected a number from 0 to 1";
  arguments.compile.sparse.threshold = std::lround(number * 10000);
  return "";
}

std::string setPartitionCuts(CompilerArguments &arguments,
                             llvm::StringRef text) {
  arguments.compile.sparse.cutTime = text.str();
  return textOf(partition::parseCutTime(text).takeError());
}

std::string setPartitionHalo(CompilerArguments &arguments,
                             llvm::StringRef text) {
  arguments.compile.sparse.halo = text.str();
  return textOf(partition::parseHaloMode(text).takeError());
}

std::string setMapCompression(CompilerArguments &arguments,
                              llvm::StringRef text) {
  constexpr llvm::StringLiteral modes[] = {"auto", "off", "bitmap", "coo",
                                           "quadtree"};
  if (!llvm::is_contained(modes, text))
    return "expected auto, off, bitmap, coo or quadtree";
  arguments.compile.mapCompression = text.str();
  return "";
}

std::string setTranspose(CompilerArguments &arguments, llvm::StringRef text) {
  constexpr llvm::StringLiteral modes[] = {"auto", "pe", "dma", "copy"};
  if (!llvm::is_contained(modes, text))
    return "expected auto, pe, dma or copy";
  arguments.compile.transpose = text.str();
  return "";
}

std::string setBatch(CompilerArguments &arguments, llvm::StringRef text) {
  int64_t batch = 0;
  if (text.getAsInteger(10, batch) || batch < 1 || batch > 65536)
    return "expected 1 to 65536";
  arguments.compile.import.batch = batch;
  return "";
}

std::string setThreads(CompilerArguments &arguments, llvm::StringRef text) {
  unsigned threads = 0;
  if (text.getAsInteger(10, threads) || threads == 0 || threads > 1024)
    return "expected 1 to 1024";
  arguments.compile.threads = threads;
  return "";
}

/// Parses a format; a complaint if it is none.
std::string parseInto(numerics::BlockFormat &format, llvm::StringRef text) {
  auto parsed = numerics::parseFormat(text);
  if (!parsed)
    return textOf(parsed.takeError());
  format = *parsed;
  return "";
}

std::string setFormat(CompilerArguments &arguments, llvm::StringRef text) {
  arguments.autoFormats = text == "auto";
  arguments.formatGiven = true;
  if (arguments.autoFormats)
    return "";
  numerics::BlockFormat format;
  std::string complaint = parseInto(format, text);
  arguments.compile.formats.activations = format;
  arguments.compile.formats.weights = format;
  return complaint;
}

template <std::optional<numerics::BlockFormat> CompilerArguments::*member>
std::string setOne(CompilerArguments &arguments, llvm::StringRef text) {
  return parseInto((arguments.*member).emplace(), text);
}

std::string setScale(CompilerArguments &arguments, llvm::StringRef text) {
  auto policy = numerics::parseScalePolicy(text);
  if (!policy)
    return textOf(policy.takeError());
  arguments.scale = *policy;
  return "";
}

/// A number in (0, limit].
std::string setPositive(std::optional<double> &value, llvm::StringRef text,
                        double limit) {
  double number = 0;
  if (text.getAsDouble(number) || !(number > 0) || !(number <= limit))
    return fmt::format("expected a number above 0, at most {}", limit);
  value = number;
  return "";
}

std::string setMinSnr(CompilerArguments &arguments, llvm::StringRef text) {
  return setPositive(arguments.search.target.minSnr, text, kMaxSnr);
}

std::string setMinAgreement(CompilerArguments &arguments,
                            llvm::StringRef text) {
  return setPositive(arguments.search.target.minAgreement, text, 100);
}

constexpr Flag flags[] = {
    {"o", "FILE", "output (a program; text with --compile-to)",
     setText<&CompilerArguments::output>, support::FileUse::Writes},
    {"machine", "NAME|FILE.yaml", "machine to compile for (a1)",
     [](CompilerArguments &a, llvm::StringRef text) {
       a.compile.machine = text.str();
       return std::string(text.empty() ? "expected a name or a file" : "");
     },
     support::FileUse::Reads},
    {"format", "FORMAT|auto",
     "bfp8 (default), bfp16, w=8,block=16,range=7, or a search", setFormat},
    {"activations", "FORMAT", "format of activations, if another",
     setOne<&CompilerArguments::activations>},
    {"weights", "FORMAT", "format of weights, if another",
     setOne<&CompilerArguments::weights>},
    {"formats", "FILE.json", "formats by node, as --dump-formats writes them",
     setText<&CompilerArguments::formatsFile>, support::FileUse::Reads},
    {"residual", "TYPE",
     "storage of what residual adds read: bfp (default), bf16 or f32",
     setResidual},
    {"weight-scaling", "MODE",
     "factors of output channels that make weights round better: auto "
     "(default) or off",
     setWeightScaling},
    {"scale", "POLICY",
     "scale exponents: runmax (default), fixed, fixed(e=-7), table, stats or "
     "predict",
     setScale},
    {"min-snr", "DB", "what --format=auto keeps: mean SNR of the outputs",
     setMinSnr},
    {"min-agreement", "PCT",
     "what --format=auto keeps: equal best classes on unseen inputs",
     setMinAgreement},
    {"calibrate", "FILE.npz",
     "samples for --format=auto, --scale and scatter mode, by input name",
     [](CompilerArguments &a, llvm::StringRef text) {
       a.search.calibration = SampleArchive(text.str());
       return std::string(text.empty() ? "expected a file" : "");
     },
     support::FileUse::Reads},
    {"dump-formats", "FILE.json", "write the formats that were compiled",
     setText<&CompilerArguments::dumpFormats>, support::FileUse::Writes},
    {"fold-w", "MODE", "W folding: auto (default), off, stride, lane or both",
     setFoldWidth},
    {"pci-policy", "POLICY",
     "rows of a lane: cycles (default: fewest), or source (its alignment rule)",
     setPciPolicy},
    {"sparse", "MODE",
     "sparse cluster: auto (default: fewest cycles), off, tile or scatter",
     setSparse},
    {"classify", "RULE",
     "sparse or dense: by cost (default), majority or threshold of zeros",
     setRule},
    {"scatter-unit", "A|B|C|D", "unit that scatters (D)", setScatterUnit},
    {"partition", "ALGORITHM",
     "cuts of scatter mode: p2 (default), p1, rows or uniform", setPartition},
    {"partition-metric", "METRIC",
     "what tiles have equal: nnz (default), density or zeros",
     setPartitionMetric},
    {"partition-threshold", "X", "largest difference of two tiles (0.03)",
     setPartitionThreshold},
    {"partition-cuts", "TIME",
     "cuts by profile or by counts at run time: auto (default), profile, "
     "runtime, always or always-profile",
     setPartitionCuts},
    {"partition-halo", "MODE",
     "tiles of the results (overlap, default), of the operand (disjoint), or "
     "auto: fewer cycles",
     setPartitionHalo},
    {"map-compression", "FORM",
     "maps in DRAM: auto (default: fewest cycles), off, bitmap, coo or "
     "quadtree",
     setMapCompression},
    {"transpose", "MODE",
     "transposes: auto (default), pe (the array), dma (through DRAM) or copy",
     setTranspose},
    {"batch", "N",
     "samples at a time, for models of one sample or an open batch", setBatch},
    {"input-shape", "NAME=1x3x224x224",
     "static shape of a graph input; or batch=1,seq=128: named dimensions",
     [](CompilerArguments &a, llvm::StringRef text) {
       return textOf(frontend::addInputShape(a.compile.import, text));
     }},
    {"large-constants", nullptr,
     "constants that the model makes may be larger than its file's size allows",
     [](CompilerArguments &a, llvm::StringRef) {
       a.compile.import.largeConstants = true;
       return std::string();
     }},
    {"no-host", nullptr,
     "nodes that need the host (docs/UserGuide.md) are unsupported",
     [](CompilerArguments &a, llvm::StringRef) {
       a.compile.import.useHost = false;
       return std::string();
     }},
    {"constant", "NAME=FILE.npy", "makes a graph input constant",
     [](CompilerArguments &a, llvm::StringRef text) {
       return textOf(frontend::addConstant(a.compile.import, text));
     },
     support::FileUse::ReadsNamed},
    {"compile-to", "PHASE", "stop after a phase and print its module",
     setPhase},
    {"compile-from", "PHASE",
     "the model is a file that --compile-to=PHASE -o wrote; go on from there",
     setStart},
    {"check", nullptr, "list every node: mapped, rewritten, unsupported, why",
     setSwitch<&CompilerArguments::check>},
    {"explain", nullptr, "print the decisions of all passes",
     setSwitch<&CompilerArguments::explain>},
    {"report", "FILE.json", "write the compile report (docs/ReportSchema.md)",
     setText<&CompilerArguments::report>, support::FileUse::Writes},
    {"html", "FILE.html", "write the timed program as a page to look at",
     setText<&CompilerArguments::html>, support::FileUse::Writes},
    {"layers", "FILE.csv", "write the timed layers as a table",
     setText<&CompilerArguments::layers>, support::FileUse::Writes},
    {"annotate", "FILE.onnx", "write the model with the cost of its nodes",
     setText<&CompilerArguments::annotated>, support::FileUse::Writes},
    {"dump-plan", "DIR", "write the numeric plan and its constants",
     [](CompilerArguments &a, llvm::StringRef text) {
       a.compile.dumpPlan = text.str();
       return std::string(text.empty() ? "expected a folder" : "");
     },
     support::FileUse::WritesDump},
    {"verify", nullptr,
     "compare every layer with the reference and with its error bound",
     setSwitch<&CompilerArguments::verify>},
    {"inputs", "FILE.npz", "samples for --verify, by input name",
     [](CompilerArguments &a, llvm::StringRef text) {
       a.verifyInputs = SampleArchive(text.str());
       return std::string(text.empty() ? "expected a file" : "");
     },
     support::FileUse::Reads},
    {"threads", "N", "threads (all hardware threads); results never change",
     setThreads},
    {"list-machines", nullptr, "print the built-in machines",
     setSwitch<&CompilerArguments::listMachines>},
    {"dump-machine", "NAME", "print a machine description as YAML",
     setText<&CompilerArguments::dumpMachine>},
    {"help", nullptr, "print this", setSwitch<&CompilerArguments::help>},
    {"version", nullptr, "print the version",
     setSwitch<&CompilerArguments::version>},
};

std::string setModel(CompilerArguments &arguments, llvm::StringRef text) {
  if (!arguments.compile.model.empty())
    return "second model after '" + arguments.compile.model + "', expected one";
  arguments.compile.model = text.str();
  return "";
}

/// Puts together what --format, --activations and --weights say, or reads the
/// table of --formats.
llvm::Error readFormats(CompilerArguments &arguments) {
  numerics::FormatTable &formats = arguments.compile.formats;
  formats.activations = arguments.activations.value_or(formats.activations);
  formats.weights = arguments.weights.value_or(formats.weights);
  if (arguments.formatsFile.empty())
    return llvm::Error::success();
  std::string text = arguments.formatsText;
  if (text.empty()) {
    auto bytes = support::readFile(arguments.formatsFile);
    if (!bytes)
      return bytes.takeError();
    text = (*bytes)->getBuffer().str();
  }
  // What --dump-formats adds to a table of numerics.
  if (auto json = support::parseJson(text)) {
    llvm::json::Object *object = json->getAsObject();
    if (object && object->getString("weight_scaling") == "off") {
      arguments.compile.weightScaling = false;
      object->erase("weight_scaling");
      text = llvm::formatv("{0}", *json).str();
    }
  } else {
    llvm::consumeError(json.takeError()); // Reported by parseFormatTable.
  }
  auto table = numerics::parseFormatTable(text, arguments.formatsFile);
  if (!table)
    return table.takeError();
  formats = std::move(*table);
  return llvm::Error::success();
}

/// What options say together.
llvm::Error settle(CompilerArguments &arguments) {
  if (llvm::Error error = checkSearch(arguments))
    return error;
  if (llvm::Error error = readFormats(arguments))
    return error;
  numerics::FormatTable &formats = arguments.compile.formats;
  formats.scale = arguments.scale.value_or(formats.scale);
  return llvm::Error::success();
}

/// Options that only mean something to the tool.
constexpr llvm::StringLiteral toolOptions[] = {
    "o",        "dump-formats", "compile-to",    "compile-from",
    "check",    "explain",      "report",        "dump-plan",
    "verify",   "inputs",       "html",          "layers",
    "annotate", "help",         "list-machines", "dump-machine",
    "version"};

} // namespace

llvm::Error parseLibraryOptions(llvm::ArrayRef<NamedOption> options,
                                CompilerArguments &arguments) {
  for (const auto &[name, value] : options) {
    const bool forTools = llvm::is_contained(toolOptions, name);
    const Flag *flag = llvm::find_if(
        flags, [&](const Flag &known) { return known.name == name; });
    if (forTools || flag == std::end(flags))
      return makeError(
          ErrorClass::Usage,
          "unknown option '{}'{}; see the options of ashlarc", name,
          forTools ? " (it is one of the tool ashlarc alone)" : "");
    if (!flag->value && value != "true" && value != "false")
      return makeError(ErrorClass::Usage,
                       "option '{}' is '{}', expected true or false", name,
                       value);
    if (!flag->value && value == "false")
      continue;
    if (name == "formats" && llvm::StringRef(value).starts_with("{")) {
      arguments.formatsFile = "formats";
      arguments.formatsText = value;
      continue;
    }
    const std::string complaint = flag->set(arguments, value);
    if (!complaint.empty())
      return makeError(ErrorClass::Usage, "option '{}' is '{}', {}", name,
                       value, complaint);
  }
  return settle(arguments);
}

llvm::Expected<CompilerArguments>
parseCompilerArguments(llvm::ArrayRef<std::string> args) {
  CompilerArguments arguments;
  if (llvm::Error error = support::parseCommandLine(
          args, llvm::ArrayRef<Flag>(flags), setModel, arguments))
    return error;
  bool answersAlone = arguments.help || arguments.version ||
                      arguments.listMachines || !arguments.dumpMachine.empty();
  if (answersAlone)
    return arguments;
  if (arguments.compile.model.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "no model given, expected ashlarc MODEL.onnx -o OUT.ash; "
                     "see --help");
  if (llvm::Error error = checkStart(arguments, args))
    return error;
  if (llvm::Error error = settle(arguments))
    return error;
  if (llvm::Error error = checkOutputs(arguments))
    return error;
  return arguments;
}

std::string compilerHelp() {
  return "usage: ashlarc MODEL.onnx -o OUT.ash [options]\n\n"
         "Compiles an ONNX model to a program for ashlar-run.\n\noptions:\n" +
         support::describeFlags(llvm::ArrayRef<Flag>(flags)) +
         "\nphases: " + phaseNames() + "\n" + support::exitCodeLines;
}

} // namespace ashlar::pipelines
