// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON report, summary and trace of hand-made statistics.

#include "ashlar/Report/Report.h"
#include "ashlar/Support/Error.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"
#include <map>

using namespace ashlar;
using namespace ashlar::report;
using llvm::json::Object;
using llvm::json::Value;

namespace {

RunStatistics sample() {
  RunStatistics s;
  s.model = "net";
  s.machine.name = "a1";
  s.timed = true;
  s.totalCycles = 1234567;
  s.idleCycles = 567;
  s.wallSeconds = 0.5;
  s.loadSeconds = 0.25;
  s.saturated = 3;
  s.engines.resize(3);
  EngineStatistics &dma = s.engines[0], &pe = s.engines[1];
  dma = {"dma0", 2, 1000000, {{"dram-busy", 234567}}, 96, 64000000};
  dma.useful = dma.work, dma.peak = 128, dma.unit = "bytes";
  pe = {"pe", 1, 1200000, {{"wait-dma0", 30000}, {"drained", 4567}}};
  pe.peak = 128 * 64, pe.unit = "products";
  pe.work = pe.busy * pe.peak / 4 * 3;
  pe.useful = pe.busy * pe.peak / 2;
  s.engines[2] = {"host", 0, 0, {{"drained", 1234567}}};
  NodeStatistics conv;
  conv.name = "conv1";
  conv.opType = "Conv";
  conv.engine = "pe";
  conv.absorbed = {"relu1"};
  conv.cycles = 1234000;
  conv.start = 1000, conv.end = 1236000;
  conv.busy = {1000000, 1200000, 0};
  conv.work = {dma.work, pe.work, 0};
  conv.issued = pe.work;
  conv.macs = pe.useful;
  conv.dramRead = 4096;
  s.nodes = {conv};
  s.decisionsJson = R"([{"node":"conv1","choice":"pe"}])";
  TimedInstruction copy, signal, wait, matmul;
  copy = {0, 10, 30, 0, 0, 0, "dma.copy"};
  signal = {30, 30, 30, 1, 0, 0, "sem.signal", true};
  wait = {30, 30, 30, 2, 1, 0, "sem.wait", true};
  matmul = {35, 50, 90, 3, 1, 0, "pe.matmul"};
  s.timeline = {copy, signal, wait, matmul};
  s.stalls = {{0, 30, 2, "wait-dma0"}, {30, 35, 3, "sb-busy"}};
  return s;
}

Value parsed(llvm::StringRef text) {
  return llvm::cantFail(llvm::json::parse(text));
}

} // namespace

TEST(JsonReport, FixedKeys) {
  const Value root = parsed(llvm::cantFail(toJson(sample())));
  const Object &report = *root.getAsObject();
  EXPECT_EQ(report.getInteger("schema_version"), 1);
  EXPECT_EQ(report.getString("model"), llvm::StringRef("net"));
  EXPECT_EQ(report.getString("machine"), llvm::StringRef("a1"));
  EXPECT_EQ(report.getInteger("total_cycles"), 1234567);
  EXPECT_EQ(report.getNumber("wall_seconds"), 0.5);
  EXPECT_EQ(report.getNumber("load_seconds"), 0.25);
  const Object &pe = *report.getObject("engines")->getObject("pe");
  EXPECT_EQ(pe.getInteger("busy"), 1200000);
  EXPECT_EQ(pe.getObject("stall")->getInteger("wait-dma0"), 30000);
  EXPECT_EQ(pe.getNumber("occupancy"), 0.75);
  EXPECT_EQ(pe.getNumber("utilisation"), 0.5);
  EXPECT_EQ(pe.getNumber("end_to_end"), 0.5 * 1200000 / 1234567);
  const Object &dma = *report.getObject("engines")->getObject("dma0");
  EXPECT_EQ(dma.getString("unit"), llvm::StringRef("bytes"));
  EXPECT_EQ(dma.getNumber("utilisation"), 0.5);
  const Object &node = *(*report.getArray("nodes"))[0].getAsObject();
  EXPECT_EQ(node.getString("name"), llvm::StringRef("conv1"));
  EXPECT_EQ(node.getString("op"), llvm::StringRef("Conv"));
  EXPECT_EQ(node.getString("engine"), llvm::StringRef("pe"));
  EXPECT_EQ(node.getInteger("cycles"), 1234000);
  EXPECT_EQ(node.getInteger("span"), 1235000);
  EXPECT_EQ(node.getObject("busy")->getInteger("pe"), 1200000);
  EXPECT_EQ(node.getObject("busy")->getInteger("host"), std::nullopt);
  EXPECT_EQ(node.getNumber("utilisation"), 0.5);
  const Object &machine = *report.getObject("machine_parameters");
  EXPECT_EQ(machine.getObject("pe")->getInteger("rows"), 128);
  EXPECT_EQ(machine.getObject("pe")->getBoolean("shadow_set"), true);
  EXPECT_EQ(machine.getObject("sparse")->getString("binding"),
            llvm::StringRef("static"));
  EXPECT_EQ(report.getObject("totals")->getInteger("copied"), 96);
  for (const char *key :
       {"macs", "dram_read", "dram_write", "copied", "sat", "unf"})
    EXPECT_TRUE(node.getInteger(key).has_value()) << key;
  EXPECT_EQ((*node.getArray("absorbed"))[0], Value("relu1"));
  EXPECT_EQ(
      (*report.getArray("decisions"))[0].getAsObject()->getString("choice"),
      llvm::StringRef("pe"));
}

TEST(JsonReport, EnergyOfNodesAddsUp) {
  RunStatistics s = sample();
  EXPECT_EQ(llvm::cantFail(toJson(s)).find("energy"), std::string::npos);
  s.energyTable = llvm::cantFail(energy::parseTable(
      "node_nm: 7\n"
      "sources: {a: book}\n"
      "dram: {read: {value: 0.1, unit: pJ/byte, source: a}}\n"
      "sb: {read: {value: 0.3, unit: pJ/byte, source: a},\n"
      "     area: {value: 1, unit: um2/byte, source: a}}\n"
      "leakage: {value: 1000, unit: mW/mm2, source: a}\n",
      "own.yaml"));
  s.nodes[0].actions.add(energy::Action::DramRead, 4097);
  s.nodes[0].actions.add(energy::Action::SrRead, 5);
  s.nodes[0].actions.addWidth(energy::Component::Pe, 8, 16, 11);
  s.unassigned.actions.add(energy::Action::SbRead, 7);
  const std::string text = llvm::cantFail(toJson(s));
  EXPECT_NE(text.find("\"energy_pj\": 409.7,"), std::string::npos);
  EXPECT_NE(text.find("\"dynamic_pj\": 411.8,"), std::string::npos);
  const Value root = parsed(text);
  const Object &report = *root.getAsObject();
  EXPECT_EQ(report.getObject("actions")->getInteger("dram.read"), 4097);
  EXPECT_EQ(report.getObject("unassigned")->getNumber("energy_pj"), 2.1);
  const Object &node = *(*report.getArray("nodes"))[0].getAsObject();
  EXPECT_EQ(node.getObject("energy")->getNumber("dram"), 409.7);
  const Object &pair = *(*node.getArray("multiplications"))[0].getAsObject();
  EXPECT_EQ(pair.getInteger("stationary_bits"), 16);
  EXPECT_EQ(pair.getInteger("count"), 11);
  const Object &energy = *report.getObject("energy");
  EXPECT_EQ((*energy.getArray("unpriced"))[0], Value("sr.read"));
  // 8 MiB of 1 um2 leak 1 W per mm2 for 1,234,567 ns.
  EXPECT_DOUBLE_EQ(*energy.getNumber("leakage_w"), 8.388608);
  const double joules = 8.388608 * 1234567e-9 + 411.8e-12;
  EXPECT_NEAR(*energy.getNumber("total_pj") * 1e-12 / joules, 1, 1e-12);
  EXPECT_NEAR(*energy.getNumber("edp_js") / (joules * 1234567e-9), 1, 1e-12);
  EXPECT_EQ(
      energy.getObject("prices")->getObject("sb.read")->getString("source"),
      llvm::StringRef("book"));
  EXPECT_EQ(report.getObject("area")->getNumber("total_um2"), 8388608);
  s.timed = false;
  EXPECT_EQ(llvm::cantFail(toJson(s)).find("energy"), std::string::npos);
}

TEST(JsonReport, HostileNames) {
  RunStatistics s = sample();
  s.model = "\xff\"\n";
  s.nodes[0].name = "a\xc3";
  s.engines[0].name = "\x80";
  EXPECT_TRUE(static_cast<bool>(llvm::json::parse(llvm::cantFail(toJson(s)))));
  EXPECT_TRUE(static_cast<bool>(llvm::json::parse(toTrace(s))));
  // A name may hold unmatched brackets.
  s.decisionsJson = "[\"]]]\", \"[[[\"]";
  EXPECT_TRUE(static_cast<bool>(llvm::json::parse(llvm::cantFail(toJson(s)))));
  for (const std::string &text :
       {std::string("{"), std::string(1 << 20, '[')}) {
    s.decisionsJson = text;
    llvm::Expected<std::string> bad = toJson(s);
    ASSERT_FALSE(static_cast<bool>(bad));
    llvm::Error error = bad.takeError();
    EXPECT_EQ(support::classify(error), ErrorClass::Malformed);
    llvm::consumeError(std::move(error));
  }
}

TEST(Statistics, UsefulWorkIsNeverMoreThanWasDone) {
  RunStatistics s = sample();
  NodeStatistics &node = s.nodes[0];
  const EngineStatistics &pe = s.engines[1];
  EXPECT_EQ(node.useful(1, pe), node.macs);
  // Skipped zeros: the model has more products than were issued.
  node.macs = ~uint64_t(0);
  EXPECT_EQ(node.useful(1, pe), node.work[1]);
  EXPECT_EQ(node.utilisation(1, pe), 0.75);
  // Two passes per product.
  node.macs = node.issued = node.work[1] / 2;
  EXPECT_EQ(node.useful(1, pe), node.work[1]);
  // Engines that do not multiply have no products of the model.
  EXPECT_EQ(node.useful(0, s.engines[0]), node.work[0]);
  node.busy.clear(), node.work.clear();
  EXPECT_EQ(node.utilisation(1, pe), 0);
}

TEST(Summary, OneScreen) {
  RunStatistics s = sample();
  for (int i = 0; i < 100; ++i) {
    NodeStatistics node = s.nodes[0];
    node.name = "node with a name that is much longer than its column " +
                std::to_string(i);
    node.cycles = 10;
    s.nodes.push_back(node);
  }
  for (int i = 0; i < 10; ++i)
    s.engines.push_back(s.engines[0]);
  s.energyTable = llvm::cantFail(energy::loadTable("n7"));
  for (unsigned a = 0; a < energy::numActions; ++a)
    s.nodes[0].actions.add(static_cast<energy::Action>(a), ~uint64_t(0) / 2);
  llvm::SmallVector<llvm::StringRef> lines;
  const std::string text = toSummary(s);
  llvm::StringRef(text).rtrim().split(lines, '\n');
  EXPECT_LE(lines.size(), 24u);
  for (llvm::StringRef line : lines)
    EXPECT_LE(line.size(), 120u) << line.str();
  EXPECT_NE(text.find("net on a1: 1,234,567 cycles (1.235 ms at 1.00 GHz)"),
            std::string::npos);
  EXPECT_NE(text.find("PE utilisation 50.0 % busy, 48.6 % end to end"),
            std::string::npos);
  EXPECT_NE(text.find("95 more"), std::string::npos);
  // A component of the energy, but nothing that worked.
  EXPECT_EQ(text.find("host busy"), std::string::npos);
}

TEST(Trace, SlicesDoNotOverlapAndStallsFillGaps) {
  const Value root = parsed(toTrace(sample()));
  std::map<int64_t, int64_t> end;
  std::vector<std::string> names;
  for (const Value &value : *root.getAsObject()->getArray("traceEvents")) {
    const Object &event = *value.getAsObject();
    if (event.getString("ph") != llvm::StringRef("X"))
      continue;
    const int64_t track = *event.getInteger("tid");
    const int64_t begin = *event.getInteger("ts");
    EXPECT_GE(begin, end[track]);
    end[track] = begin + *event.getInteger("dur");
    names.push_back(event.getString("name")->str());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"dma.copy conv1", "wait-dma0",
                                             "sb-busy", "pe.matmul conv1"}));
  EXPECT_EQ(end[1], 10);
  EXPECT_EQ(end[2], 50);
}
