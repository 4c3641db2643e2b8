// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the options of ashlarc do; Options.td lists them.

#include "Arguments.h"
#include "ArgumentRules.h"

#include "ashlar/Partition/Partition.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Json.h"
#include "ashlar/Support/Nearest.h"
#include "ashlar/Support/OptionTable.h"

#include <cmath>

namespace ashlar::pipelines {

#define ASHLAR_OPTIONS "lib/Pipelines/Driver/Options.inc"
#include "ashlar/Support/DefineOptions.inc"

namespace {

using Setting = support::Setting<CompilerArguments>;

std::string textOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

template <std::string CompilerArguments::*member>
constexpr auto setText = support::setText<CompilerArguments, member>;

template <bool CompilerArguments::*member>
constexpr auto setSwitch = support::setSwitch<CompilerArguments, member>;

/// Stores one of the values that the option lists.
template <std::string CompileOptions::*member>
std::string setListed(CompilerArguments &arguments, llvm::StringRef text) {
  arguments.compile.*member = text.str();
  return "";
}

template <std::string SparseOptions::*member>
std::string setSparse(CompilerArguments &arguments, llvm::StringRef text) {
  arguments.compile.sparse.*member = text.str();
  return "";
}

std::string setPhase(CompilerArguments &arguments, llvm::StringRef text) {
  arguments.compile.stopAfter = *parsePhase(text);
  arguments.stopRequested = true;
  return "";
}

std::string setStart(CompilerArguments &arguments, llvm::StringRef text) {
  arguments.startAfter = parsePhase(text);
  return "";
}

std::string setWeightScaling(CompilerArguments &arguments,
                             llvm::StringRef text) {
  arguments.compile.weightScaling = text == "auto";
  return "";
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

std::string setScatterBlock(CompilerArguments &arguments,
                            llvm::StringRef text) {
  auto [rows, cols] = text.split('x');
  std::array<int64_t, 2> block{0, 0};
  if (rows.getAsInteger(10, block[0]) || cols.getAsInteger(10, block[1]) ||
      block[0] < 1 || block[0] > 255 || block[1] < 1 || block[1] > 255)
    return "expected rows and columns from 1 to 255, as in 3x3";
  arguments.compile.sparse.block = block;
  return "";
}

std::string setBatch(CompilerArguments &arguments, llvm::StringRef text) {
  int64_t batch = 0;
  if (text.getAsInteger(10, batch) || batch < 1 || batch > 65536)
    return "expected 1 to 65536";
  arguments.compile.import.batch = batch;
  return "";
}

std::string setBuckets(CompilerArguments &arguments, llvm::StringRef text) {
  auto [name, sizes] = text.rsplit(':');
  llvm::SmallVector<llvm::StringRef> parts;
  sizes.split(parts, ',');
  if (name.empty() || !text.contains(':') || !arguments.buckets.empty())
    return "expected one NAME:1,16,64";
  for (llvm::StringRef part : parts) {
    int64_t size = 0;
    if (part.getAsInteger(10, size) || size < 1 ||
        (!arguments.buckets.empty() && size <= arguments.buckets.back()))
      return "expected sizes from 1 on, each larger than the one before";
    arguments.buckets.push_back(size);
  }
  arguments.bucketDimension = name.str();
  return "";
}

std::string setThreads(CompilerArguments &arguments, llvm::StringRef text) {
  unsigned threads = 0;
  if (text.getAsInteger(10, threads) || threads == 0 || threads > 1024)
    return "expected 1 to 1024";
  arguments.compile.threads = threads;
  return "";
}

/// Parses a format; a problem if it is none.
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
  std::string problem = parseInto(format, text);
  arguments.compile.formats.activations = format.withoutRows();
  arguments.compile.formats.weights = format;
  return problem;
}

std::string setActivations(CompilerArguments &arguments, llvm::StringRef text) {
  numerics::BlockFormat &format = arguments.activations.emplace();
  std::string problem = parseInto(format, text);
  return problem.empty() && format.rows != 1
             ? "rows= is of weights, feature maps share exponents along one "
               "axis: give it to --weights or --format"
             : problem;
}

std::string setWeights(CompilerArguments &arguments, llvm::StringRef text) {
  return parseInto(arguments.weights.emplace(), text);
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

constexpr Setting settings[] = {
    {OPT_o, setText<&CompilerArguments::output>},
    {OPT_machine,
     [](CompilerArguments &a, llvm::StringRef text) {
       a.compile.machine = text.str();
       return std::string(text.empty() ? "expected a name or a file" : "");
     }},
    {OPT_format, setFormat},
    {OPT_activations, setActivations},
    {OPT_weights, setWeights},
    {OPT_formats, setText<&CompilerArguments::formatsFile>},
    {OPT_residual, setListed<&CompileOptions::residual>},
    {OPT_epilogue, setListed<&CompileOptions::epilogue>},
    {OPT_weight_scaling, setWeightScaling},
    {OPT_scale, setScale},
    {OPT_min_snr, setMinSnr},
    {OPT_min_agreement, setMinAgreement},
    {OPT_calibrate,
     [](CompilerArguments &a, llvm::StringRef text) {
       a.search.calibration = SampleArchive(text.str());
       return std::string(text.empty() ? "expected a file" : "");
     }},
    {OPT_dump_formats, setText<&CompilerArguments::dumpFormats>},
    {OPT_fold_w, setListed<&CompileOptions::foldWidth>},
    {OPT_pci_policy, setListed<&CompileOptions::pciPolicy>},
    {OPT_sparse, setSparse<&SparseOptions::mode>},
    {OPT_zero_skip, setSparse<&SparseOptions::zeroSkip>},
    {OPT_sparse_bias, setSparse<&SparseOptions::bias>},
    {OPT_sparse_bind, setSparse<&SparseOptions::bind>},
    {OPT_sparse_keep, setSparse<&SparseOptions::keep>},
    {OPT_sparse_copies, setSparse<&SparseOptions::copies>},
    {OPT_dead_channels, setSparse<&SparseOptions::deadChannels>},
    {OPT_classify, setSparse<&SparseOptions::rule>},
    {OPT_scatter_unit, setSparse<&SparseOptions::variant>},
    {OPT_scatter_block, setScatterBlock},
    {OPT_scatter_order, setSparse<&SparseOptions::order>},
    {OPT_partition, setSparse<&SparseOptions::algorithm>},
    {OPT_partition_metric, setSparse<&SparseOptions::metric>},
    {OPT_partition_threshold, setPartitionThreshold},
    {OPT_partition_cuts, setSparse<&SparseOptions::cutTime>},
    {OPT_partition_halo, setSparse<&SparseOptions::halo>},
    {OPT_map_compression, setListed<&CompileOptions::mapCompression>},
    {OPT_weight_compression, setListed<&CompileOptions::weightCompression>},
    {OPT_nm_weights, setListed<&CompileOptions::nmWeights>},
    {OPT_pack_rows, setListed<&CompileOptions::packRows>},
    {OPT_function_engine, setListed<&CompileOptions::functionEngine>},
    {OPT_pool_drain, setListed<&CompileOptions::poolDrain>},
    {OPT_transpose, setListed<&CompileOptions::transpose>},
    {OPT_schedule, setListed<&CompileOptions::schedule>},
    {OPT_batch, setBatch},
    {OPT_input_shape,
     [](CompilerArguments &a, llvm::StringRef text) {
       return textOf(frontend::addInputShape(a.compile.import, text));
     }},
    {OPT_bucket, setBuckets},
    {OPT_state,
     [](CompilerArguments &a, llvm::StringRef text) {
       return textOf(frontend::addState(a.compile.import, text));
     }},
    {OPT_large_constants,
     [](CompilerArguments &a, llvm::StringRef) {
       a.compile.import.largeConstants = true;
       return std::string();
     }},
    {OPT_no_host,
     [](CompilerArguments &a, llvm::StringRef) {
       a.compile.import.useHost = false;
       return std::string();
     }},
    {OPT_constant,
     [](CompilerArguments &a, llvm::StringRef text) {
       return textOf(frontend::addConstant(a.compile.import, text));
     }},
    {OPT_elements,
     [](CompilerArguments &a, llvm::StringRef text) {
       return textOf(frontend::addElements(a.compile.import, text));
     }},
    {OPT_compile_to, setPhase},
    {OPT_compile_from, setStart},
    {OPT_check, setSwitch<&CompilerArguments::check>},
    {OPT_explain, setSwitch<&CompilerArguments::explain>},
    {OPT_report, setText<&CompilerArguments::report>},
    {OPT_html, setText<&CompilerArguments::html>},
    {OPT_layers, setText<&CompilerArguments::layers>},
    {OPT_annotate, setText<&CompilerArguments::annotated>},
    {OPT_model_explorer,
     [](CompilerArguments &a, llvm::StringRef text) {
       a.explorer = text.str();
       return std::string(text.empty() ? "expected a folder" : "");
     }},
    {OPT_dump_plan,
     [](CompilerArguments &a, llvm::StringRef text) {
       a.compile.dumpPlan = text.str();
       return std::string(text.empty() ? "expected a folder" : "");
     }},
    {OPT_verify, setSwitch<&CompilerArguments::verify>},
    {OPT_inputs,
     [](CompilerArguments &a, llvm::StringRef text) {
       a.verifyInputs = SampleArchive(text.str());
       return std::string(text.empty() ? "expected a file" : "");
     }},
    {OPT_threads, setThreads},
    {OPT_quiet,
     [](CompilerArguments &a, llvm::StringRef) {
       a.quiet = true;
       a.showProgress = a.search.showProgress = false;
       return std::string();
     }},
    {OPT_list_machines, setSwitch<&CompilerArguments::listMachines>},
    {OPT_dump_machine, setText<&CompilerArguments::dumpMachine>},
    {OPT_help, support::setHelp<CompilerArguments>},
    {OPT_version, support::setVersion<CompilerArguments>},
};
static_assert(support::OptionTable::allSet(optionInfos, settings),
              "every option of Options.td does something");

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

/// What is wrong with an option that libraries do not have, and the option that
/// it misspells.
llvm::Error unknownOption(const support::OptionTable &table,
                          const std::string &name, bool forTool) {
  std::string nearest;
  const unsigned edits = support::misspelling(name.size());
  const bool close =
      !forTool &&
      table.findNearest("--" + name, nearest, llvm::opt::Visibility(),
                        /*MinimumLength=*/3, edits) <= edits;
  return makeError(
      ErrorClass::Usage, "unknown option '{}'{}{}; see the options of ashlarc",
      name, forTool ? " (it is an option of the tool ashlarc only)" : "",
      close
          ? ", did you mean '" +
                llvm::StringRef(nearest).ltrim('-').split('=').first.str() + "'"
          : "");
}

} // namespace

llvm::Error parseLibraryOptions(llvm::ArrayRef<NamedOption> options,
                                CompilerArguments &arguments) {
  const support::OptionTable &table = optionTable();
  for (const auto &[name, value] : options) {
    const std::optional<unsigned> id = table.find(name);
    const bool forTool =
        id && table.hasFlag(*id, support::optionflags::ToolOnly);
    if (!id || forTool)
      return unknownOption(table, name, forTool);
    if (table.isSwitch(*id) && value != "true" && value != "false")
      return makeError(ErrorClass::Usage,
                       "option '{}' is '{}', expected true or false", name,
                       value);
    if (table.isSwitch(*id) && value == "false")
      continue;
    if (*id == OPT_formats && llvm::StringRef(value).starts_with("{")) {
      arguments.formatsFile = "formats";
      arguments.formatsText = value;
      continue;
    }
    std::string problem = table.checkValue(*id, value);
    if (problem.empty())
      problem = support::settingOf(llvm::ArrayRef(settings), *id)
                    .set(arguments, value);
    if (!problem.empty())
      return makeError(ErrorClass::Usage, "option '{}' is '{}', {}", name,
                       value, problem);
  }
  return settle(arguments);
}

llvm::Expected<CompilerArguments>
parseCompilerArguments(llvm::ArrayRef<std::string> args) {
  CompilerArguments arguments;
  auto given = support::parseCommandLine(
      optionTable(), args, llvm::ArrayRef(settings), setModel, arguments);
  if (!given)
    return given.takeError();
  bool answersAlone = arguments.help || arguments.version ||
                      arguments.listMachines || !arguments.dumpMachine.empty();
  if (answersAlone)
    return arguments;
  if (arguments.compile.model.empty())
    return makeError(ErrorClass::Usage, "{}",
                     "no model given, expected ashlarc MODEL.onnx -o OUT.ash; "
                     "see --help");
  if (llvm::Error error = checkStart(arguments, *given))
    return error;
  // A module of a phase file names its machine.
  if (arguments.startAfter &&
      llvm::none_of(*given, [](const support::GivenOption &option) {
        return llvm::StringRef(option.name).ltrim('-') == "machine";
      }))
    arguments.compile.machine.clear();
  if (llvm::Error error = settle(arguments))
    return error;
  if (llvm::Error error = checkOutputs(arguments))
    return error;
  return arguments;
}

std::string compilerHelp() {
  return "usage: ashlarc MODEL.onnx -o OUT.ash [options]\n\n"
         "Compiles an ONNX model to a program for ashlar-run.\n\n" +
         optionTable().describe() + "\nphases: " + phaseNames() + "\n" +
         support::exitCodeLines;
}

} // namespace ashlar::pipelines
