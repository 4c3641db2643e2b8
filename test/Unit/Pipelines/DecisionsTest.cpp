// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of decisions: what comparisons change in them, and their JSON.

#include "dialects/Ashlar/Decision.h"
#include "lib/Pipelines/DecisionList.h"
#include "gtest/gtest.h"

using namespace ashlar;
using ashlar::pipelines::DecisionList;

namespace {

struct Decisions : testing::Test {
  Decisions() { context.loadDialect<records::AshlarDialect>(); }

  records::DecisionAttr decision(llvm::StringRef choice,
                                 llvm::StringRef reason) {
    return records::Decision(&context, choice, reason).get();
  }

  mlir::MLIRContext context;
};

TEST_F(Decisions, TextIsEscapedAndCyclesAreNumbers) {
  DecisionList list;
  EXPECT_EQ(list.toJson(), "[]");
  list.add(
      records::Decision(&context, "a", "\"]\\\n").alternative("b", 7).get());
  list.add({});
  EXPECT_EQ(list.toJson(),
            R"x([{"alternatives":{"b":7},"choice":"a","node":"(program)",)x"
            R"x("reason":"\"]\\\n"}])x");
}

TEST_F(Decisions, ReasonsAreReplacedInOperandsToo) {
  records::Decision kept(&context, "kept", "placeholder");
  kept.facts.set(
      "operand",
      records::Facts(&context).set("reason", llvm::Twine("placeholder")).get());
  DecisionList list;
  list.add(kept.get());
  list.add(decision("kept", "another"));
  list.replaceReason("placeholder", "outcome");
  EXPECT_EQ(list.toJson(),
            R"x([{"choice":"kept","node":"(program)",)x"
            R"x("operand":{"reason":"outcome"},"reason":"outcome"},)x"
            R"x({"choice":"kept","node":"(program)","reason":"another"}])x");
}

TEST_F(Decisions, MeasuredCyclesGoWhereSavingsAre) {
  records::Decision saves(&context, "sparse-tile", "fewer cycles");
  saves.facts.set("cycles_saved", int64_t(5));
  DecisionList list;
  list.add(saves.get());
  list.add(decision("other", "no savings"));
  pipelines::MeasuredCycles measured;
  measured.dense.total = 90, measured.written.total = 70;
  list.addMeasured(measured);
  EXPECT_EQ(list.toJson().find("measured"), std::string::npos);
  measured.dense.nodes["(program)"] = 40;
  measured.written.nodes["(program)"] = 10;
  list.addMeasured(measured);
  EXPECT_EQ(
      list.toJson(),
      R"x([{"choice":"sparse-tile","cycles_saved":30,)x"
      R"x("measured":{"dense":40,"sparse-tile":10},)x"
      R"x("measured_network":{"dense":90,"sparse-tile":70},)x"
      R"x("node":"(program)","reason":"fewer cycles"},)x"
      R"x({"choice":"other","node":"(program)","reason":"no savings"}])x");
}

TEST_F(Decisions, OfTheProgramComeFromTheOtherList) {
  DecisionList own, other;
  own.add(decision("own", "x"));
  other.add(decision("other", "y"));
  own.takeProgramOf(other);
  EXPECT_EQ(own.toJson(),
            R"x([{"choice":"other","node":"(program)","reason":"y"}])x");
}

} // namespace
