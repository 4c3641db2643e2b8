// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs passes on textual IR: the developer's tool behind the IR tests.
// Registers the project's dialects and passes, and of MLIR's `func` and the
// canonicalizer, which runs the folders.

#include "ashlar/Conversion/NNToNPU/NNToNPU.h"
#include "ashlar/Conversion/NPUToISA/NPUToISA.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "ashlar/Transforms/ISA/Passes.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/ISA/ISADialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NPU/NPUDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, ashlar::nn::NNDialect,
                  ashlar::bfp::BFPDialect, ashlar::npu::NPUDialect,
                  ashlar::isadialect::ISADialect>();
  ashlar::nn::registerNNPasses();
  ashlar::nn::registerNNPipelines();
  ashlar::bfp::registerBFPPasses();
  ashlar::bfp::registerQuantisePipeline();
  ashlar::registerConvertNNToNPUPass();
  ashlar::npu::registerNPUPasses();
  ashlar::registerConvertNPUToISAPass();
  ashlar::isadialect::registerISAPasses();
  mlir::registerCanonicalizerPass();
  return mlir::failed(
      mlir::MlirOptMain(argc, argv, "ashlar optimizer driver\n", registry));
}
