// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built-in machines, YAML in and out, and descriptions that make no sense.

#include "ashlar/Machine/Description.h"
#include "ashlar/Support/Error.h"
#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::machine;

namespace {

std::string messageOf(llvm::Expected<Description> result, ErrorClass kind) {
  if (result)
    return "accepted";
  llvm::Error error = result.takeError();
  EXPECT_EQ(support::classify(error), kind);
  return llvm::toString(std::move(error));
}

} // namespace

TEST(Description, BuiltinsAreValidAndRoundTrip) {
  for (llvm::StringRef name : builtinNames()) {
    auto machine = load(name);
    ASSERT_TRUE(static_cast<bool>(machine));
    EXPECT_EQ(machine->name, name);
    EXPECT_FALSE(machine->validate());
    const std::string yaml = toYaml(*machine);
    auto back = parseYaml(yaml, "m.yaml");
    ASSERT_TRUE(static_cast<bool>(back)) << llvm::toString(back.takeError());
    EXPECT_EQ(*back, *machine);
    EXPECT_EQ(toYaml(*back), yaml);
  }
}

TEST(Description, A1IsTheDesign) {
  auto a1 = llvm::cantFail(load("a1"));
  EXPECT_EQ(a1.dram.bytesPerCycle, 64u);
  EXPECT_EQ(a1.dram.latency, 200u);
  EXPECT_EQ(a1.sb.bytes(), 8u << 20);
  EXPECT_EQ(a1.xmBytes(), 16u * 65536);
  EXPECT_EQ(a1.pe.rows, 128u);
  EXPECT_EQ(a1.pe.columns, 64u);
  EXPECT_EQ(a1.psum.entries(), 2048u);
  EXPECT_EQ(a1.sparse.wmBytes, 524288u);
  EXPECT_EQ(a1.clockHz, 1000000000u);
  auto tiny = llvm::cantFail(load("a1-tiny"));
  EXPECT_EQ(tiny.pe.rows, 8u);
  EXPECT_EQ(tiny.pe.columns, 4u);
  EXPECT_EQ(tiny.pe.rowGroupGranularity, 2u);
  EXPECT_EQ(tiny.xmGroup, 4u);
  EXPECT_EQ(tiny.psum.entries(), 128u);
}

TEST(Description, A1IsTheIdealMachineWithPrices) {
  const Description ideal = llvm::cantFail(load("a1-ideal"));
  EXPECT_EQ(ideal, Description());
  Description a1 = llvm::cantFail(load("a1"));
  EXPECT_EQ(a1.dram.kind(), DramModel::Efficiency);
  EXPECT_EQ(a1.dram.efficiency, 90u);
  EXPECT_NE(a1.dma, ideal.dma);
  EXPECT_NE(a1.sb, ideal.sb);
  EXPECT_NE(a1.act, ideal.act);
  // Without them it is the other machine.
  a1.name = ideal.name;
  a1.dram.model = ideal.dram.model;
  a1.dram.efficiency = ideal.dram.efficiency;
  a1.dram.countsMisaligned = false;
  a1.dma.setupCycles = a1.dma.onchipLatency = a1.dma.runsPerCycle = 0;
  a1.dma.decodedCodesPerCycle = ideal.dma.decodedCodesPerCycle;
  a1.sb.banks = 0;
  a1.sb.ports = 1;
  a1.pe.groupsWait = false;
  a1.psum.writePorts = a1.psum.readBytesPerCycle = 0;
  a1.act.costExpensive = a1.act.costVeryExpensive = 1;
  a1.sparse.accumulateLatency = 1;
  a1.sparse.accumulatorBanks = a1.sparse.scanPositions = 0;
  a1.sparse.fmuWriteBytes = a1.sparse.routeBytes = 0;
  a1.sparse.windowShift = 0;
  a1.fetch = ideal.fetch;
  a1.host = ideal.host;
  EXPECT_EQ(a1, ideal);
}

TEST(Description, PartialYamlKeepsDefaults) {
  auto machine = parseYaml("name: mine\npe: {rows: 64}\n", "m");
  ASSERT_TRUE(static_cast<bool>(machine));
  EXPECT_EQ(machine->pe.rows, 64u);
  EXPECT_EQ(machine->pe.columns, 64u);
  EXPECT_EQ(machine->dram.latency, 200u);
}

TEST(Description, AFileStartsFromItsBase) {
  auto machine = parseYaml("base: a1-tiny\npe: {rows: 4}\n", "m.yaml");
  ASSERT_TRUE(static_cast<bool>(machine));
  Description expected = llvm::cantFail(load("a1-tiny"));
  expected.name = "m";
  expected.pe.rows = 4;
  EXPECT_EQ(*machine, expected);
  EXPECT_EQ(llvm::cantFail(parseYaml("xm_group: 8\nname: a1\n", "m")),
            llvm::cantFail(load("a1")));
  EXPECT_EQ(llvm::cantFail(parseYaml("name: a1-edge\nbase: a1-edge\n", "m")),
            llvm::cantFail(load("a1-edge")));
  const ErrorClass bad = ErrorClass::Malformed;
  EXPECT_NE(messageOf(parseYaml("base: b2\n", "m"), bad)
                .find("m:1: base is 'b2', expected one of a1, a1-ideal"),
            std::string::npos);
  EXPECT_NE(messageOf(parseYaml("xm_group: 8\nbase: a1-tiny\n", "m"), bad)
                .find("m:2: base 'a1-tiny' comes after parameters, expected "
                      "it before them"),
            std::string::npos);
  EXPECT_NE(messageOf(parseYaml("base: {a: 1}\n", "m"), bad)
                .find("base is not a plain value"),
            std::string::npos);
}

TEST(Description, PortsThatAreLeftOutFitTheAccumulators) {
  const char *const small = "psum: {banks: 1, entries_per_bank: 2}\n";
  EXPECT_EQ(llvm::cantFail(parseYaml(small, "m")).psum.writePorts, 2u);
  EXPECT_NE(messageOf(parseYaml("psum: {banks: 1, entries_per_bank: 2, "
                                "write_ports: 4}\n",
                                "m"),
                      ErrorClass::Malformed)
                .find("psum.write_ports is 4, expected at most"),
            std::string::npos);
}

TEST(Description, AMachineWithoutNameIsCalledByItsFile) {
  auto name = [](llvm::StringRef path, llvm::StringRef text = "xm_group: 4\n") {
    return llvm::cantFail(parseYaml(text, path)).name;
  };
  EXPECT_EQ(name("some/folder/half.size.yaml"), "half.size");
  EXPECT_EQ(name("a1"), "a1");
  EXPECT_EQ(name("x.yaml", "name: own\n"), "own");
  EXPECT_EQ(name("tw\xc3\xb6.yaml"), "tw\xc3\xb6");
  EXPECT_EQ(name("no\ntext\xff.yaml"), "no_text_");
  EXPECT_EQ(name(""), "unnamed");
}

TEST(Description, BindingsHaveNames) {
  auto machine = parseYaml("name: m\nsparse: {binding: mesh}\n", "m");
  ASSERT_TRUE(static_cast<bool>(machine));
  EXPECT_EQ(machine->sparse.binding, 2u);
  EXPECT_NE(toYaml(*machine).find("binding: mesh"), std::string::npos);
  EXPECT_NE(messageOf(parseYaml("sparse: {binding: ring}\n", "m"),
                      ErrorClass::Malformed)
                .find("m:1: sparse.binding is 'ring', expected one of static, "
                      "2x2, mesh, benes"),
            std::string::npos);
}

TEST(Description, ErrorsNameFieldFoundAndExpected) {
  const ErrorClass bad = ErrorClass::Malformed;
  EXPECT_NE(messageOf(parseYaml("name: m\npe:\n  rowz: 3\n", "m"), bad)
                .find("m:3: unknown field 'pe.rowz', expected one of rows"),
            std::string::npos);
  EXPECT_NE(messageOf(parseYaml("speed: 3\n", "m"), bad)
                .find("m:1: unknown field 'speed'"),
            std::string::npos);
  EXPECT_NE(messageOf(parseYaml("pe: {rows: many}\n", "m"), bad)
                .find("pe.rows is 'many', expected a whole number 1 to 4095"),
            std::string::npos);
  EXPECT_NE(messageOf(parseYaml("pe: {rows: 0}\n", "m"), bad)
                .find("pe.rows is 0, expected 1 to 4095 rows"),
            std::string::npos);
  EXPECT_NE(messageOf(parseYaml("pe: {rows: -8}\n", "m"), bad).find("'-8'"),
            std::string::npos);
  EXPECT_NE(messageOf(parseYaml("pe: 3\n", "m"), bad).find("not a mapping"),
            std::string::npos);
  EXPECT_NE(messageOf(parseYaml("pe: {shadow_set: 2}\n", "m"), bad)
                .find("pe.shadow_set is '2', expected one of false, true"),
            std::string::npos);
  EXPECT_NE(messageOf(parseYaml("pe: {rows: 8}\npe: {rows: 8}\n", "m"), bad)
                .find("appears twice"),
            std::string::npos);
}

TEST(Description, ContradictionsAreListedTogether) {
  const std::string text =
      messageOf(parseYaml("xm_group: 3\ndram: {burst_bytes: 48}\n", "m"),
                ErrorClass::Malformed);
  EXPECT_NE(text.find("burst_bytes is 48, expected a power of two"),
            std::string::npos);
  EXPECT_NE(text.find("xm_group is 3, expected a power of two"),
            std::string::npos);
  EXPECT_NE(
      messageOf(parseYaml("pe: {rows: 256}\n", "m"), ErrorClass::Malformed)
          .find("at most sb.partitions 128"),
      std::string::npos);
}

TEST(Description, ContradictionsNameTheirLines) {
  const ErrorClass bad = ErrorClass::Malformed;
  // Both parameters are in the file.
  EXPECT_NE(messageOf(parseYaml("name: m\nsb:\n  partitions: 64\npe:\n  rows: "
                                "128\n",
                                "m.yaml"),
                      bad)
                .find("pe.rows is 128, expected at most sb.partitions 64 (row "
                      "i reads partition i) (lines 3, 5)"),
            std::string::npos);
  // One is that of the base.
  EXPECT_NE(messageOf(parseYaml("psum:\n  write_ports: 4000\n", "m"), bad)
                .find("(psum.banks * psum.entries_per_bank) 2048 (line 2)"),
            std::string::npos);
  EXPECT_NE(
      messageOf(parseYaml("name: m\nact: {cost_medium: 9}\n", "m"), bad)
          .find("cheap <= medium <= expensive <= very_expensive (line 2)"),
      std::string::npos);
  // Each finding has its own lines.
  EXPECT_NE(messageOf(parseYaml("sb:\n  ports: 65\n  banks: 300\n", "m"), bad)
                .find("0: accesses never conflict (line 3); sb.ports is 65, "
                      "expected 1 to 64 accesses per bank and cycle (line 2)"),
            std::string::npos);
}

TEST(Description, TerabytesAreCapacityErrors) {
  for (const char *yaml :
       {"dram: {bytes: 1099511627776}", "dram: {bytes: 18446744073709551615}",
        "sb: {bytes_per_partition: 8589934592}",
        "sb: {partitions: 4088, bytes_per_partition: 16777216}",
        "psum: {banks: 1024, entries_per_bank: 1048576}",
        "sparse: {tcus: 256, fmu_bytes: 16777216}"})
    EXPECT_NE(messageOf(parseYaml(yaml, "m"), ErrorClass::Capacity), "accepted")
        << yaml;
}

TEST(Description, HostileYaml) {
  const std::string deep(100000, '[');
  const std::string dashes = [] {
    std::string text = "pe: ";
    for (int i = 0; i < 100000; ++i)
      text += "- ";
    return text;
  }();
  for (const std::string &text :
       {std::string(), std::string("- 1\n- 2\n"), std::string("pe: [1"),
        std::string("{"), std::string("a: &x\nb: *x\n"), std::string("? - -\n"),
        std::string("name: a\n---\nname: b\n"), std::string("\0name", 5), deep,
        dashes, std::string("pe: {rows: 99999999999999999999999}\n"),
        std::string("\xff\xfe"), std::string("name: ''\n"),
        std::string("pe: {? {a: b} : 3}\n"), std::string("pe: !!int 3\n"),
        std::string("%YAML 9.9\n"), std::string("'"), std::string("\"\\x")})
    EXPECT_NE(messageOf(parseYaml(text, "m"), ErrorClass::Malformed),
              "accepted")
        << text.substr(0, 40);
}

TEST(Description, UnknownNameListsBuiltins) {
  EXPECT_NE(messageOf(load("b2"), ErrorClass::Usage)
                .find("expected one of a1, a1-ideal, a1-iso, a1-edge, "
                      "a1-tiny, fig3-4x4, fig4-128x64"),
            std::string::npos);
}
