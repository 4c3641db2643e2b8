// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-tblgen: everything that is derived from the records of dialects/ISA.

#include "Model.h"
#include "ashlar/Support/ProcessGuard.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/TableGen/Main.h"

using namespace ashlar::tblgen;
using Backend = void (*)(const InstructionSet &, llvm::raw_ostream &);

namespace {
enum Action {
  GenEnums,
  GenStructs,
  GenDispatch,
  GenEncode,
  GenDecode,
  GenVerify,
  GenTables,
  GenDialect,
  GenDocs,
  GenJson,
  GenOperands,
  GenSystemVerilog
};
} // namespace

static llvm::cl::opt<Action> action(
    llvm::cl::desc("Output:"), llvm::cl::Required,
    llvm::cl::values(clEnumValN(GenEnums, "gen-enums", "enums and version"),
                     clEnumValN(GenStructs, "gen-structs", "structs"),
                     clEnumValN(GenDispatch, "gen-dispatch", "X-macro list"),
                     clEnumValN(GenEncode, "gen-encode", "encoders"),
                     clEnumValN(GenDecode, "gen-decode", "decoders"),
                     clEnumValN(GenVerify, "gen-verify", "field access"),
                     clEnumValN(GenTables, "gen-tables", "text tables"),
                     clEnumValN(GenDialect, "gen-dialect", "op list"),
                     clEnumValN(GenDocs, "gen-docs", "Markdown page"),
                     clEnumValN(GenJson, "gen-json", "JSON"),
                     clEnumValN(GenOperands, "gen-operands", "operand lists"),
                     clEnumValN(GenSystemVerilog, "gen-sv",
                                "SystemVerilog package")));

static bool emit(llvm::raw_ostream &os, const llvm::RecordKeeper &records) {
  static constexpr Backend backends[] = {
      emitEnums,  emitStructs, emitDispatch, emitEncode,
      emitDecode, emitVerify,  emitTables,   emitDialect,
      emitDocs,   emitJson,    emitOperands, emitSystemVerilog};
  backends[action](readInstructionSet(records), os);
  return false;
}

int main(int argc, char **argv) {
  ashlar::support::guardProcess("ashlar-tblgen");
  llvm::cl::ParseCommandLineOptions(argc, argv, "Ashlar ISA generator\n");
  return llvm::TableGenMain(argv[0], &emit);
}
