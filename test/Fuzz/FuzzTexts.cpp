// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptions in text, machines and energy tables in YAML and tables of
// formats in JSON: any text is refused, or means something that can be written
// again.

#include "ashlar/Energy/Prices.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Numerics/FormatTable.h"
#include "ashlar/Support/Json.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdlib>

using namespace ashlar;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  if (auto machine = machine::parseYaml(text, "fuzz")) {
    const std::string written = machine::toYaml(*machine);
    auto again = machine::parseYaml(written, "fuzz");
    if (!again || machine::toYaml(*again) != written)
      std::abort();
  } else {
    llvm::consumeError(machine.takeError());
  }
  if (auto table = numerics::parseFormatTable(text, "fuzz")) {
    const std::string written =
        llvm::formatv("{0}", numerics::toJson(*table)).str();
    auto again = numerics::parseFormatTable(written, "fuzz");
    if (!again ||
        llvm::formatv("{0}", numerics::toJson(*again)).str() != written)
      std::abort();
  } else {
    llvm::consumeError(table.takeError());
  }
  if (auto table = energy::parseTable(text, "fuzz")) {
    const energy::Prices prices(*table, machine::Description());
    (void)energy::decimalText(prices.area().total());
  } else {
    llvm::consumeError(table.takeError());
  }
  if (auto json = support::parseJson(text))
    (void)llvm::formatv("{0}", *json).str();
  else
    llvm::consumeError(json.takeError());
  return 0;
}
