// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verification finds what a pass breaks, and says which one: after every
// pass in turn the activation functions of the network are exchanged.

#include "lib/Pipelines/Verification/Verify.h"

#include "ashlar/Pipelines/Registration.h"
#include "ashlar/Support/Npz.h"
#include "dialects/ISA/ISADialect.h"
#include "dialects/NN/NNOps.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::pipelines;

namespace {

constexpr llvm::StringLiteral model = ASHLAR_DEMO_NETWORK "/glyphs.onnx";

/// One sample of the demo network in a file of its own.
class Inputs {
public:
  Inputs() {
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("verify", "npz", path));
    HostTensor image = HostTensor::zeros(support::ElementType::F32,
                                         llvm::ArrayRef<int64_t>{1, 1, 28, 28});
    auto *pixels = reinterpret_cast<float *>(image.data.data());
    for (int i = 0; i < 28 * 28; ++i)
      pixels[i] = static_cast<float>((i * 37) % 255) / 128 - 1;
    if (llvm::Error error = support::writeNpz(path, {{"image", image}}))
      ADD_FAILURE() << llvm::toString(std::move(error));
  }
  ~Inputs() { llvm::sys::fs::remove(path); }
  llvm::StringRef file() const { return path; }

private:
  llvm::SmallString<128> path;
};

std::optional<Verification> check(const CompileOptions &options) {
  static Inputs inputs;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto result = verify(options, SampleArchive(inputs.file().str()), context);
  if (!result) {
    ADD_FAILURE() << llvm::toString(result.takeError());
    return std::nullopt;
  }
  return std::move(*result);
}

CompileOptions demo() {
  CompileOptions options;
  options.model = model.str();
  options.threads = 1;
  return options;
}

/// The same in a program: the drains that apply relu.
bool exchangeDrains(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation *> drains;
  module.walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef() == "isa.act.drain")
      drains.push_back(op);
  });
  bool any = false;
  for (mlir::Operation *op : drains) {
    isa::Instruction instruction =
        llvm::cantFail(isadialect::toInstruction(op));
    auto &drain = std::get<isa::ActDrain>(instruction);
    if (drain.function != isa::Function::Relu)
      continue;
    drain.function = isa::Function::Abs;
    mlir::OpBuilder builder(op);
    isadialect::createOp(builder, op->getLoc(), instruction);
    op->erase();
    any = true;
  }
  return any;
}

/// relu becomes abs; true if there was one.
bool exchangeFunctions(mlir::ModuleOp module) {
  bool any = exchangeDrains(module);
  module.walk([&](mlir::Operation *op) {
    if (auto unary = llvm::dyn_cast<nn::UnaryOp>(op);
        unary && unary.getFunction() == nn::UnaryFunction::Relu) {
      unary.setFunction(nn::UnaryFunction::Abs);
      any = true;
    }
    auto name = op->getAttrOfType<mlir::StringAttr>("function");
    if (name && name.getValue() == "relu") {
      op->setAttr("function", mlir::StringAttr::get(op->getContext(), "abs"));
      any = true;
    }
  });
  return any;
}

TEST(Verify, CleanNetworkKeepsItsBounds) {
  std::optional<Verification> result = check(demo());
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->violation);
  ASSERT_EQ(result->phases.size(), 6u);
  for (const PhaseCheck &phase : result->phases) {
    EXPECT_GE(phase.layers, 9u);
    EXPECT_LE(phase.worst, kFoldTolerance);
  }
  ASSERT_GE(result->layers.size(), 9u);
  for (const LayerCheck &layer : result->layers) {
    EXPECT_TRUE(layer.guaranteed) << layer.name;
    EXPECT_LE(layer.ratio, 1) << layer.name;
  }
}

/// The phases after it agree with what was imported: only the definition of the
/// operator tells.
TEST(Verify, NamesTheNodeThatIsImportedWrongly) {
  CompileOptions options = demo();
  options.afterPass = [&](llvm::StringRef pass, mlir::ModuleOp module) {
    if (pass == phaseName(Phase::Import))
      EXPECT_TRUE(exchangeFunctions(module));
  };
  std::optional<Verification> result = check(options);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->violation);
  EXPECT_EQ(result->violation->phase, Phase::Import);
  EXPECT_EQ(result->violation->layer, "relu1");
  EXPECT_TRUE(
      llvm::StringRef(result->violation->text).starts_with("Relu gives "))
      << result->violation->text;
  for (const PhaseCheck &phase : llvm::drop_begin(result->phases))
    EXPECT_LE(phase.worst, kFoldTolerance) << phaseName(phase.phase).str();
}

TEST(Verify, NamesThePassThatChangedALayer) {
  std::vector<std::string> passes;
  CompileOptions options = demo();
  options.afterPass = [&](llvm::StringRef pass, mlir::ModuleOp) {
    if (pass != phaseName(Phase::Import) && !llvm::is_contained(passes, pass))
      passes.push_back(pass.str());
  };
  ASSERT_TRUE(check(options));
  std::map<Phase, unsigned> named;
  for (const std::string &broken : passes) {
    bool changed = false;
    options.afterPass = [&](llvm::StringRef pass, mlir::ModuleOp module) {
      if (pass == broken)
        changed |= exchangeFunctions(module);
    };
    std::optional<Verification> result = check(options);
    ASSERT_TRUE(result);
    if (!changed)
      continue;
    ASSERT_TRUE(result->violation) << broken;
    EXPECT_NE(result->violation->layer, "") << broken;
    EXPECT_EQ(result->violation->pass, broken);
    ++named[result->violation->phase];
    // After the memory plan only the emulator tells.
    if (result->violation->phase >= Phase::Tile)
      EXPECT_EQ(result->violation->layer, result->layers[1].name) << broken;
  }
  for (Phase phase : {Phase::Simplify, Phase::Fold, Phase::Quantise,
                      Phase::Assign, Phase::Plan, Phase::Tile, Phase::Emit})
    EXPECT_GE(named[phase], 2u) << phaseName(phase).str();
}

TEST(Verify, ScaleExponentsBelowTheirBlocksAreAViolation) {
  CompileOptions options = demo();
  auto policy = numerics::parseScalePolicy("fixed(e=-12)");
  ASSERT_TRUE(bool(policy));
  options.formats.scale = *policy;
  std::optional<Verification> result = check(options);
  ASSERT_TRUE(result && result->violation);
  EXPECT_EQ(result->violation->phase, Phase::Quantise);
  EXPECT_EQ(result->violation->pass, "ashlar-bfp-choose-scales");
  EXPECT_NE(result->violation->text.find("operand elements"),
            std::string::npos);
}

} // namespace
