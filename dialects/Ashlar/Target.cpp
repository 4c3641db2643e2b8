// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// #ashlar.target: the parameter table of a machine as attributes are written,
// and how passes read it.

#include "ashlar/Machine/Parameters.h"
#include "dialects/Ashlar/AshlarDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace ashlar::records {
namespace {

/// Reads parameters as the YAML that a machine file has, so that names, types
/// and limits are those of machine files.
class TargetParser {
public:
  explicit TargetParser(AsmParser &parser) : parser(parser) {}

  /// `, key = value` and `, section = {key = value, ...}`.
  ParseResult parseAll() {
    while (succeeded(parser.parseOptionalComma())) {
      std::string key;
      if (parser.parseKeywordOrString(&key) || parser.parseEqual())
        return failure();
      if (failed(parser.parseOptionalLBrace())) {
        if (parseValue(key))
          return failure();
        continue;
      }
      yaml += key + ": {";
      auto entry = [&]() -> ParseResult {
        std::string inner;
        if (parser.parseKeywordOrString(&inner) || parser.parseEqual() ||
            parseValue(inner))
          return failure();
        yaml.back() = ',';
        return success();
      };
      if (failed(parser.parseOptionalRBrace()) &&
          (parser.parseCommaSeparatedList(entry) || parser.parseRBrace()))
        return failure();
      yaml += "}\n";
    }
    return success();
  }

  std::string yaml;

private:
  ParseResult parseValue(llvm::StringRef key) {
    // Keywords first: an integer may be written as true or false as well.
    llvm::StringRef word;
    std::string text;
    int64_t number = 0;
    if (succeeded(parser.parseOptionalKeyword(&word)))
      text = word.str();
    else if (failed(parser.parseOptionalString(&text))) {
      if (parser.parseInteger(number))
        return failure();
      text = std::to_string(number);
    }
    if (llvm::any_of(text, [](char c) {
          return !llvm::isAlnum(c) && c != '-' && c != '_';
        }))
      return parser.emitError(parser.getCurrentLocation())
             << "expected a number or a name as '" << key << "'";
    yaml += (key + ": " + text + "\n").str();
    return success();
  }

  AsmParser &parser;
};

} // namespace

Attribute TargetAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  std::string name;
  TargetParser parameters(parser);
  if (parser.parseLess() || parser.parseString(&name) ||
      parameters.parseAll() || parser.parseGreater())
    return {};
  // A machine that only has a name is the default one.
  llvm::Expected<machine::Description> machine = machine::parseYaml(
      parameters.yaml.empty() ? "{}" : parameters.yaml, "#ashlar.target");
  if (machine) {
    machine->name = name;
    if (llvm::Error error = machine->validate())
      machine = std::move(error);
  }
  if (machine)
    return get(parser.getContext(), *machine);
  parser.emitError(loc) << llvm::toString(machine.takeError());
  return {};
}

void TargetAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printString(getMachine().name);
  llvm::StringRef section;
  for (const machine::Parameter &parameter :
       machine::parametersOf(getMachine())) {
    const bool begins = parameter.section != section;
    if (begins && !section.empty())
      printer << "}";
    if (begins && !parameter.section.empty())
      printer << ", " << parameter.section << " = {";
    else
      printer << ", ";
    section = parameter.section;
    printer << parameter.key << " = " << parameter.value;
  }
  printer << (section.empty() ? ">" : "}>");
}

FailureOr<machine::Description> machineOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto target =
      module ? module->getAttrOfType<TargetAttr>(kTargetAttr) : nullptr;
  if (target)
    return target.getMachine();
  (module ? module : op)->emitError()
      << "has no '" << kTargetAttr
      << "' attribute; ashlar-set-target gives a module its machine";
  return failure();
}

} // namespace ashlar::records
