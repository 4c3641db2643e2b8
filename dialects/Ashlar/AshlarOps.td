// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `ashlar` dialect: the machine that a module is compiled for, and what
// every phase may leave on an operation. It has no operations.

#ifndef ASHLAR_DIALECTS_ASHLAR_ASHLAROPS_TD
#define ASHLAR_DIALECTS_ASHLAR_ASHLAROPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Ashlar_Dialect : Dialect {
  let name = "ashlar";
  let cppNamespace = "::ashlar::records";
  let summary = "The machine of a module, and records of all phases";
  let description = [{
    The machine that a module is compiled for, which passes of all dialects
    read; why a pass chose what it chose, how much work an operation is by the
    network's own definition, the scale policy of what it encodes, and what a
    phase file says about itself. Lowering keeps these attributes. A program is
    the same without its decisions and counts; the scale policy is part of the
    numeric plan.

    The dialect verifies every attribute `ashlar.*`, on any operation, and
    refuses names that it does not have.
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Ashlar_DecisionAttr : AttrDef<Ashlar_Dialect, "Decision"> {
  let mnemonic = "decision";
  let summary = "What was chosen, why, and what else there was";
  let description = [{
    `alternatives` are the cycles that each choice was predicted or measured to
    take, `facts` whatever else a report may show about the choice, by name.
    `--explain` and the reports print decisions; no pass reads one to decide.

    Example: `#ashlar.decision<choice = "rows-2", reason = "fewer cycles",
    alternatives = {"rows-1" = 90, "rows-2" = 80}>`

    - decision_c1: choice and reason are not empty.
    - decision_c2: each alternative has an i64 that is not negative.
    - decision_c3: no fact is called choice, reason, alternatives or node, which
      are the keys of the others in a report.
  }];
  let parameters = (ins "::mlir::StringAttr":$choice,
      "::mlir::StringAttr":$reason,
      OptionalParameter<"::mlir::DictionaryAttr">:$alternatives,
      OptionalParameter<"::mlir::DictionaryAttr">:$facts);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Ashlar_TargetAttr : AttrDef<Ashlar_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "The machine that a module is compiled for";
  let description = [{
    Name and parameters of docs/Machine.md, sections in braces. Omitted
    parameters are those of the built-in machine `base`, which comes first, else
    of `a1`; all are printed. The text is read once: the attribute holds the
    description.

    Example: `#ashlar.target<"small", xm_group = 4, sb = {partitions = 8}>`
  }];
  let parameters = (ins AttrParameter<"::ashlar::machine::Description",
      "the machine", "const ::ashlar::machine::Description &">:$machine);
  let hasCustomAssemblyFormat = 1;
}

def Ashlar_ScaleAttr : AttrDef<Ashlar_Dialect, "Scale"> {
  let mnemonic = "scale";
  let summary = "The policy that chooses the scale exponent of an encode event";
  let description = [{
    The policy is written as for `--scale` (docs/BlockFloatingPoint.md). The text
    is read once: the attribute holds the policy.

    Example: `#ashlar.scale<"stats(k=3,n=512)">`

    - scale_c1: a constant policy (fixed, table) has its exponent.
  }];
  let parameters = (ins AttrParameter<"::ashlar::numerics::ScalePolicy",
      "the policy", "const ::ashlar::numerics::ScalePolicy &">:$policy);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // ASHLAR_DIALECTS_ASHLAR_ASHLAROPS_TD
