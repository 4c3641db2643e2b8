// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of dialects and passes.

#include "ashlar/Pipelines/Registration.h"

#include "ashlar/Conversion/NNToNPU/NNToNPU.h"
#include "ashlar/Conversion/NPUToISA/NPUToISA.h"
#include "ashlar/Transforms/Ashlar/Passes.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "ashlar/Transforms/ISA/Passes.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "ashlar/Transforms/Tile/Passes.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/ISA/ISADialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

void ashlar::pipelines::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<records::AshlarDialect, nn::NNDialect, bfp::BFPDialect,
                  npu::NPUDialect, tile::TileDialect, isadialect::ISADialect,
                  mlir::func::FuncDialect>();
}

void ashlar::pipelines::registerPasses() {
  records::registerAshlarPasses();
  nn::registerNNPasses();
  nn::registerNNPipelines();
  bfp::registerBFPPasses();
  bfp::registerQuantisePipeline();
  registerConvertNNToNPUPass();
  npu::registerNPUPasses();
  tile::registerTilePasses();
  tile::registerTilePipeline();
  registerConvertNPUToISAPass();
  isadialect::registerISAPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
}
