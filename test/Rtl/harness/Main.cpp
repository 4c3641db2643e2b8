// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rtl-witness: random programs of one block, or the worked transposes, through
// the emulator and the hardware model (test/Rtl/README.md).

#include "Compare.h"
#include "Transposes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include <algorithm>
#include <fmt/format.h>

using namespace ashlar::rtl;
namespace cl = llvm::cl;

static cl::opt<std::string> block("block", cl::init("array"),
                                  cl::desc("array, drain, dma or transposes"));
static cl::opt<uint64_t> count("count", cl::init(100), cl::desc("programs"));
static cl::opt<uint64_t> seed("seed", cl::init(1), cl::desc("of the first"));
static cl::opt<std::string> size("size", cl::init("8x4"),
                                 cl::desc("of the array, or all"));
static cl::list<std::string>
    priced("prices", cl::CommaSeparated,
           cl::desc("that machines may have: engines, copies, ports"));
static cl::opt<bool> keep("no-shrink", cl::desc("print failures as they are"));
static cl::opt<bool> print("print", cl::desc("print every program"));

static Prices prices() {
  Prices prices;
  for (const std::string &name : priced) {
    prices.engines |= name == "engines";
    prices.copies |= name == "copies";
    prices.ports |= name == "ports";
  }
  return prices;
}

static void report(Chip &chip, const std::string &name, uint64_t number,
                   Draft draft, std::vector<std::string> differences) {
  if (!keep) {
    draft = shrink(chip, std::move(draft));
    Tally ignored;
    differences = compare(chip, draft, ignored);
  }
  fmt::print("FAILED --block={} --size={} --seed={} --count=1{}\n{}", block,
             name, number,
             priced.empty() ? "" : " --prices=" + llvm::join(priced, ","),
             printDraft(draft));
  fmt::print("{}", ashlar::machine::toYaml(draft.machine));
  for (const std::string &text : differences)
    fmt::print("  {}\n", text);
}

/// Programs of one block on one size; the number that failed.
static uint64_t campaign(const std::string &name, uint64_t first,
                         uint64_t programs, Tally &tally) {
  const std::unique_ptr<Chip> chip = makeChip(name);
  uint64_t failed = 0;
  for (uint64_t number = first; number < first + programs && failed < 3;
       ++number) {
    const Draft draft = drawProgram(number, block, chip->sizes(), prices());
    if (print)
      fmt::print("{}", printDraft(draft));
    std::vector<std::string> differences = compare(*chip, draft, tally);
    if (differences.empty())
      continue;
    ++failed;
    report(*chip, name, number, draft, std::move(differences));
  }
  return failed;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "RTL against the emulator\n");
  if (block == "transposes")
    return runTransposes() ? 0 : 1;
  // The array of the second worked transpose is for that only: its DRAM has no
  // room for the contents of random programs.
  static constexpr llvm::StringRef transposesOnly = "128x64";
  if (size == transposesOnly) {
    fmt::print(stderr,
               "rtl-witness: the array of size {} has no random "
               "programs, expected another size or --block=transposes\n",
               size);
    return 3;
  }
  std::vector<std::string> names = {size};
  if (size == "all") {
    names = chipNames();
    names.erase(std::remove(names.begin(), names.end(), transposesOnly),
                names.end());
  }
  Tally tally;
  uint64_t failed = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!makeChip(names[i])) {
      fmt::print(stderr, "rtl-witness: no array of size {}\n", names[i]);
      return 3;
    }
    const uint64_t begin = count * i / names.size();
    const uint64_t end = count * (i + 1) / names.size();
    failed += campaign(names[i], seed + begin, end - begin, tally);
  }
  fmt::print("{}: {} programs, {} instructions, {} cycles, {} entries and {} "
             "bytes compared, {} failed",
             block, tally.programs, tally.instructions, tally.cycles,
             tally.entries, tally.bytes, failed);
  fmt::print("; {} cycles of waiting for banks", tally.bankWaits);
  fmt::print("; {} cells wanted by two streams at once\n", tally.collisions);
  return failed ? 1 : 0;
}
