// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands around the instructions of a program: the op that holds them and
// the tables of the container (docs/BinaryFormat.md). These ops have no
// encoding; emission reads them.

#ifndef ASHLAR_ISA_PROGRAM_OPS
#define ASHLAR_ISA_PROGRAM_OPS

include "dialects/ISA/ISABase.td"
include "mlir/IR/BuiltinAttributes.td"

class ISA_TableOp<string mnemonic, list<Trait> traits = []>
    : Op<ISA_Dialect, mnemonic, traits # [HasParent<"ProgramOp">]>;

def ISA_TensorTypeAttr
    : TypeAttrBase<"::mlir::RankedTensorType", "type of a ranked tensor">;

def ISA_ProgramOp : Op<ISA_Dialect, "program", [
    SingleBlock, NoTerminator, NoRegionArguments, IsolatedFromAbove]> {
  let summary = "A program: tables first, then instructions in program order.";
  let description = [{
    Holds one block of `isa` ops. Instructions are in program order; the location
    of each names the ONNX node that it works for, one of the `isa.node` ops.
    `dram_bytes` is the DRAM that the program uses, from address 0; semaphores
    0 to `semaphores` - 1 are in use.

    ```mlir
    isa.program "glyphs" dram 20480 semaphores 4 {
      isa.binding input "image" : tensor<1x1x16x16xf32> at 0
      isa.node "Conv_0" {op_type = "conv", engine = "pe"}
      isa.xr.set
    }
    ```
  }];
  let arguments = (ins StrAttr:$model, I64Attr:$dram_bytes,
                       I64Attr:$semaphores);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $model `dram` $dram_bytes `semaphores` $semaphores
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def ISA_BindingOp : ISA_TableOp<"binding"> {
  let summary = "A graph input or output: row-major in DRAM, in its ONNX type.";
  let description = [{
    Constraints:
    - binding_c1: the type is statically shaped, of integers or floats.
    - binding_c2: the address is in DRAM: not negative, below 2^40.
    - binding_c3: `extent` of an output is an axis whose extent each run decides
      and the address of that extent, an i64.
  }];
  let arguments = (ins UnitAttr:$output, StrAttr:$name,
                       ISA_TensorTypeAttr:$type, I64Attr:$address,
                       OptionalAttr<DenseI64ArrayAttr>:$extent);
  let assemblyFormat =
    "(`output` $output^):(`input`)? $name `:` $type `at` $address attr-dict";
  let hasVerifier = 1;
}

def ISA_DataOp : ISA_TableOp<"data"> {
  let summary = "Bytes that lie in DRAM before cycle 0.";
  let arguments = (ins I64Attr:$address, ElementsAttr:$bytes);
  let assemblyFormat = "`at` $address `=` $bytes attr-dict";
  let hasVerifier = 1;
}

def ISA_StateOp : ISA_TableOp<"state"> {
  let summary = "What a run leaves for the next.";
  let description = [{
    Numbers of 16 bits in DRAM that the program reads when it starts and writes
    before it ends; `initial` are those before the first run. The address is as
    that of a binding.
  }];
  let arguments = (ins I64Attr:$address, DenseI16ArrayAttr:$initial);
  let assemblyFormat = "`at` $address `=` $initial attr-dict";
  let hasVerifier = 1;
}

def ISA_CacheOp : ISA_TableOp<"cache"> {
  let summary = "What a program keeps from run to run belongs to a model.";
  let description = [{
    `model` is the checksum of the model's file; `position` the input that tells
    how many rows of the kept tensors are filled, empty if none is asked for.
  }];
  let arguments = (ins I64Attr:$model, StrAttr:$position);
  let assemblyFormat = "$model `position` $position attr-dict";
}

def ISA_KeptOp : ISA_TableOp<"kept"> {
  let summary = "A tensor that a run leaves in DRAM for the next.";
  let description = [{
    Input `name` of the model, which output `result` of the run before replaces:
    `rows` indices of `axis`, or with axis -1 all of it. Zeros before the first
    run.

    Constraints:
    - kept_c1: the type is statically shaped, of integers or floats.
    - kept_c2: the address is in DRAM: not negative, below 2^40.
    - kept_c3: the axis is -1, or one of the type.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$result,
                       ISA_TensorTypeAttr:$type, I64Attr:$address,
                       I64Attr:$axis, I64Attr:$rows);
  let assemblyFormat = [{
    $name `from` $result `:` $type `at` $address `axis` $axis `rows` $rows
    attr-dict
  }];
  let hasVerifier = 1;
}

def ISA_NodeOp : ISA_TableOp<"node"> {
  let summary = "An ONNX node that instructions work for.";
  let description = [{
    `engine` is where it mainly runs, `absorbed` are the nodes fused into it,
    `planned` the tensors of the numeric plan that it computes, `macs` the
    multiply-accumulates of the network's definition.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$op_type, StrAttr:$engine,
                       I64Attr:$macs, StrArrayAttr:$absorbed,
                       StrArrayAttr:$planned);
  let assemblyFormat = "$name attr-dict";
}

def ISA_ProofOp : ISA_TableOp<"proof"> {
  let summary = "Why no accumulation of a node leaves its accumulator.";
  let description = [{
    Sums of `terms` products stay below 2^bits (docs/Numerics.md 4).
  }];
  let arguments = (ins StrAttr:$node, I64Attr:$terms, I64Attr:$bits);
  let assemblyFormat = "$node `terms` $terms `bits` $bits attr-dict";
}

def ISA_PlannedOp : ISA_TableOp<"planned"> {
  let summary = "A tensor of the numeric plan is complete here.";
  let description = [{
    Follows the instruction after which the tensor is complete and still
    unchanged: there `ashlar-run --dump-tensors` copies it out. The attributes
    are those of container::TensorPlacement; the element type of `type` is the
    tensor's storage. `cells` of a compressed tensor are cellChannels, cellBytes
    and cellPitch.

    Constraints:
    - planned_c1: the type is statically shaped; the axis is one of it or -1;
      there is a stride for each dimension, and one for exponents or none.
    - planned_c2: addresses, registers and counts are not negative and fit the
      container's fields.
  }];
  let arguments = (ins StrAttr:$name, ISA_TensorTypeAttr:$type,
                       UnitAttr:$in_dram, I64Attr:$base, I64Attr:$partition,
                       I64Attr:$channel_axis, I64Attr:$tile_stride,
                       DenseI64ArrayAttr:$strides,
                       DefaultValuedAttr<I64Attr, "1">:$lanes,
                       DefaultValuedAttr<I64Attr, "0">:$lane_pitch,
                       DefaultValuedAttr<I64Attr, "-1">:$lane_axis,
                       I64Attr:$exponent_base,
                       DenseI64ArrayAttr:$exponent_strides, I64Attr:$xr,
                       OptionalAttr<DenseI64ArrayAttr>:$cells);
  let assemblyFormat = "$name `:` $type attr-dict";
  let hasVerifier = 1;
}

#endif // ASHLAR_ISA_PROGRAM_OPS
