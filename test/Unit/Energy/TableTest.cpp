// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables: prices between published sizes, exact sums, the tables that ship.

#include "ashlar/Energy/Prices.h"
#include "ashlar/Support/Error.h"
#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::energy;

static Table table(const std::string &lines) {
  return llvm::cantFail(
      parseTable("node_nm: 7\nsources: {a: book}\n" + lines, "own.yaml"));
}

static uint64_t priceOf(const Table &table, Action action,
                        const machine::Description &machine = {}) {
  const Prices prices(table, machine);
  return prices.of(action) ? prices.of(action)->millionths : ~uint64_t(0);
}

TEST(Table, UnitsBecomeMillionthsOfAPicojoule) {
  auto dram = [](const std::string &text) {
    return priceOf(table("dram:\n  read: {" + text + ", source: a}\n"),
                   Action::DramRead);
  };
  EXPECT_EQ(dram("value: 7.03, unit: pJ/bit"), 56240000u);
  EXPECT_EQ(dram("value: 1.84, unit: nJ/64bit"), 230000000u);
  EXPECT_EQ(dram("value: 249, unit: fJ/bit"), 1992000u);
  EXPECT_EQ(dram("value: 0, unit: pJ/byte"), 0u);
}

TEST(Table, MemoriesFollowTheRootOfTheirSize) {
  Table t = table("sram:\n"
                  "  read:\n"
                  "    - {bytes: 1024, value: 1, unit: pJ/byte, source: a}\n"
                  "    - {bytes: 16384, value: 4, unit: pJ/byte, source: a}\n"
                  "  write: {bytes: 4096, value: 2, unit: pJ/byte, source: a}\n"
                  "xm:\n"
                  "  read: {value: 9, unit: pJ/byte, source: a}\n");
  machine::Description machine;
  auto read = [&](uint64_t bytes) {
    machine.sb.bytesPerPartition = bytes;
    return priceOf(t, Action::SbRead, machine);
  };
  // Roots 32 and 128: straight between them, in proportion outside.
  EXPECT_EQ(read(1024), 1000000u);
  EXPECT_EQ(read(16384), 4000000u);
  EXPECT_EQ(read(4096), 2000000u);
  EXPECT_EQ(read(256), 500000u);
  EXPECT_EQ(read(65536), 8000000u);
  EXPECT_EQ(priceOf(t, Action::SbWrite, machine), 8000000u);
  // A line of its own goes before those of `sram`, whatever the size.
  EXPECT_EQ(priceOf(t, Action::XmRead, machine), 9000000u);
  EXPECT_EQ(priceOf(t, Action::DramRead, machine), ~uint64_t(0));
}

TEST(Table, MultipliersFollowTheSquareOfTheirDigits) {
  Table t =
      table("pe:\n"
            "  multiply:\n"
            "    - {bits: 8, value: 0.2, unit: pJ/op, source: a}\n"
            "    - {bits: 32, value: 3.1, unit: pJ/op, source: a}\n"
            "  area: {bits: 8, value: 90, unit: um2/multiplier, source: a}\n");
  machine::Description machine;
  auto multiply = [&](uint64_t bits) {
    machine.pe.cellDigitBits = bits;
    return priceOf(t, Action::PeMultiply, machine);
  };
  EXPECT_EQ(multiply(8), 200000u);
  EXPECT_EQ(multiply(4), 50000u);
  // (256 - 64) / (1024 - 64) of the way.
  EXPECT_EQ(multiply(16), 780000u);
  const Prices prices(t, machine);
  EXPECT_EQ(prices.areaOf(Component::Pe)->millionths, 360000000u);
  EXPECT_EQ(toDouble(prices.area().total()), 360.0 * 128 * 64);
  EXPECT_EQ(prices.withoutArea().size(), 13u);
}

TEST(Table, SumsAreExactAndBoundsFollowTheUncertainty) {
  Table t = table(
      "dram:\n"
      "  read: {value: 0.1, unit: pJ/byte, source: a, uncertainty: 2}\n"
      "  write: {value: 0.3, unit: pJ/byte, source: a, uncertainty: 4}\n");
  const Prices prices(t, {});
  ActionCounts first, second;
  first.add(Action::DramRead, 3);
  second.add(Action::DramWrite, uint64_t(1) << 63);
  second.add(Action::SrRead, 1);
  Amounts sum = prices.energyOf(first);
  sum += prices.energyOf(second);
  ActionCounts both = first;
  both += second;
  EXPECT_EQ(decimalText(sum.total()), "2767011611056432742.7");
  EXPECT_EQ(decimalText(prices.energyOf(both).total()),
            decimalText(sum.total()));
  EXPECT_EQ(decimalText(0), "0");
  EXPECT_EQ(decimalText(1), "0.000001");
  const auto [low, high] = prices.boundsOf(first);
  EXPECT_DOUBLE_EQ(low, 0.15);
  EXPECT_DOUBLE_EQ(high, 0.6);
  EXPECT_EQ(prices.unpriced(both), std::vector<Action>{Action::SrRead});
  // Counts stay at the largest number.
  both.add(Action::DramWrite, ~uint64_t(0));
  EXPECT_EQ(both.of(Action::DramWrite), ~uint64_t(0));
}

TEST(Table, ShippedTablesPriceEveryAction) {
  for (llvm::StringRef name : builtinTables()) {
    llvm::Expected<Table> shipped = loadTable(name);
    ASSERT_TRUE(static_cast<bool>(shipped)) << name.str();
    EXPECT_EQ(shipped->name, name);
    const Prices prices(*shipped, {});
    for (unsigned a = 0; a < numActions; ++a) {
      const auto &price = prices.of(static_cast<Action>(a));
      ASSERT_TRUE(price.has_value()) << fullName(static_cast<Action>(a));
      EXPECT_FALSE(price->source.empty());
      EXPECT_GE(price->nodeNm, 7u);
    }
  }
  // Horowitz's numbers at the sizes that he gives.
  const Table n45 = llvm::cantFail(loadTable("n45"));
  machine::Description machine;
  machine.sb.bytesPerPartition = 32768;
  EXPECT_EQ(priceOf(n45, Action::SbRead, machine), 2500000u);
  EXPECT_EQ(priceOf(n45, Action::PeMultiply), 200000u);
  const Table n7 = llvm::cantFail(loadTable("n7"));
  machine.sb.bytesPerPartition = 4 << 20;
  EXPECT_EQ(priceOf(n7, Action::SbRead, machine), 1992000u);
  EXPECT_EQ(priceOf(n7, Action::SbWrite, machine), 2344000u);
  EXPECT_EQ(priceOf(n7, Action::PeMultiply) + priceOf(n7, Action::PeAccumulate),
            84000u);
}

TEST(Table, HostileTextsAreRefused) {
  for (const std::string &text :
       {std::string(), std::string("- 1"), std::string("node_nm: 7\0", 11),
        std::string(4096, '['), std::string("node_nm: 0\n"),
        std::string("node_nm: 7.5\n"), std::string("? [a]\n: b\n"),
        std::string("node_nm: 7\n---\nnode_nm: 7\n"),
        std::string("node_nm: 7\nsram: {read: []}\n"),
        std::string("node_nm: 7\ndma:\n  move: {\x7f"
                    "alue: 1, unit: pJ/bit}\n"),
        std::string("node_nm: 7\ndram: {read: *x}\n")}) {
    llvm::Expected<Table> bad = parseTable(text, "bad.yaml");
    ASSERT_FALSE(static_cast<bool>(bad)) << text;
    llvm::Error error = bad.takeError();
    EXPECT_EQ(support::classify(error), ErrorClass::Malformed);
    llvm::consumeError(std::move(error));
  }
}
