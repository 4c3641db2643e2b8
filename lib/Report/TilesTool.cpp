// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-tiles: cuts the feature maps of a dumped run and prints what it would
// bring.

#include "ashlar/Partition/Compress.h"
#include "ashlar/Report/Tiles.h"
#include "ashlar/Support/Console.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/OptionTable.h"
#include "ashlar/Support/Version.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::report;
using partition::Algorithm;
using partition::Halo;
using partition::Options;
using partition::Partition;

#define ASHLAR_OPTIONS "lib/Report/TilesOptions.inc"
#include "ashlar/Support/DefineOptions.inc"

namespace {

struct TilesOptions {
  bool help = false, version = false;
  std::string folder, constants, machine = "a1", picture, node, report;
  Options cut;
  uint64_t units = 0;  ///< 0 = the machine's.
  uint64_t groups = 1; ///< 0 = the number of least cycles.
  machine::ScatterVariant variant = machine::ScatterVariant::D;
};

using Setting = support::Setting<TilesOptions>;

template <std::string TilesOptions::*member>
constexpr auto setText = support::setText<TilesOptions, member>;

std::string setUnits(TilesOptions &options, llvm::StringRef text) {
  if (text.getAsInteger(10, options.units) || options.units == 0 ||
      options.units > 4096)
    return "expected 1 to 4096";
  return "";
}

std::string setGroups(TilesOptions &options, llvm::StringRef text) {
  if (text == "auto")
    options.groups = 0;
  else if (text.getAsInteger(10, options.groups) || options.groups == 0)
    return "expected auto or a divisor of the number of units";
  return "";
}

std::string setAlgorithm(TilesOptions &options, llvm::StringRef text) {
  options.cut.algorithm = llvm::cantFail(partition::parseAlgorithm(text));
  return "";
}

std::string setMetric(TilesOptions &options, llvm::StringRef text) {
  options.cut.metric = llvm::cantFail(partition::parseMetric(text));
  return "";
}

std::string setThreshold(TilesOptions &options, llvm::StringRef text) {
  if (text.getAsDouble(options.cut.threshold) ||
      !std::isfinite(options.cut.threshold))
    return "expected a number";
  return "";
}

std::string setHalo(TilesOptions &options, llvm::StringRef text) {
  options.cut.halo = text == "none" ? Halo::None : Halo::Overlap;
  return "";
}

std::string setAlign(TilesOptions &options, llvm::StringRef text) {
  if (text.getAsInteger(10, options.cut.alignRows) ||
      options.cut.alignRows < 1 || options.cut.alignRows > 4096)
    return "expected 1 to 4096";
  options.cut.alignCols = options.cut.alignRows;
  return "";
}

std::string setVariant(TilesOptions &options, llvm::StringRef text) {
  options.variant = machine::ScatterVariant(text[0] - 'A');
  return "";
}

constexpr Setting settings[] = {
    {OPT_units, setUnits},
    {OPT_groups, setGroups},
    {OPT_partition, setAlgorithm},
    {OPT_metric, setMetric},
    {OPT_threshold, setThreshold},
    {OPT_halo, setHalo},
    {OPT_align, setAlign},
    {OPT_variant, setVariant},
    {OPT_machine, setText<&TilesOptions::machine>},
    {OPT_constants, setText<&TilesOptions::constants>},
    {OPT_report, setText<&TilesOptions::report>},
    {OPT_picture, setText<&TilesOptions::picture>},
    {OPT_node, setText<&TilesOptions::node>},
    {OPT_help, support::setHelp<TilesOptions>},
    {OPT_version, support::setVersion<TilesOptions>},
};
static_assert(support::OptionTable::allSet(optionInfos, settings),
              "every option of TilesOptions.td does something");

std::string helpText() {
  return "usage: ashlar-tiles DUMP_DIR [options]\n\n"
         "Cuts the input feature maps of convolutions, as ashlar-run "
         "--dump-tensors\nwrote them, into tiles of equal work. Prints, per "
         "layer, zeros, load balance,\ncycles of the sparse cluster's two "
         "modes, and the size of the compressed map.\n\n" +
         optionTable().describe() + "\n" + support::exitCodeLines;
}

/// Bytes of all channels, each in its smallest format, and as stored.
llvm::Expected<std::pair<uint64_t, uint64_t>>
compressedBytes(const MapLayer &layer) {
  const int64_t area = layer.geometry.y.in * layer.geometry.x.in;
  uint64_t small = 0;
  bool narrow = true;
  for (int16_t value : layer.mantissas)
    narrow &= value >= -128 && value <= 127;
  for (int64_t c = 0; c < layer.channels; ++c) {
    partition::Plane plane{
        layer.geometry.y.in, layer.geometry.x.in, narrow ? 1u : 2u, 0, {}};
    plane.values.assign(layer.mantissas.begin() + c * area,
                        layer.mantissas.begin() + (c + 1) * area);
    llvm::Expected<std::vector<uint8_t>> bytes =
        partition::compressSmallest(plane);
    if (!bytes)
      return bytes.takeError();
    small += bytes->size() - partition::kHeaderBytes;
  }
  return std::pair(small, uint64_t(area * layer.channels) * (narrow ? 1 : 2));
}

/// A layer cut one way.
struct Cut {
  Partition tiles;
  uint64_t groups = 1;
  TileTimes times;
};

class Study {
public:
  Study(const TilesOptions &options, const machine::Description &machine)
      : options(options), machine(machine) {}

  llvm::Error run(llvm::ArrayRef<MapLayer> layers);
  /// Of what happened in place of what could.
  llvm::Error runMeasured(llvm::ArrayRef<MapLayer> layers);

private:
  llvm::Error chooseDrawn(llvm::ArrayRef<MapLayer> layers);
  llvm::Expected<Cut> cut(const MapLayer &layer, Algorithm algorithm,
                          uint64_t groups) const;
  llvm::Expected<Cut> bestCut(const MapLayer &layer) const;
  llvm::Error row(const MapLayer &layer);
  llvm::Error draw(const MapLayer &layer, const Cut &cut) const;

  const TilesOptions &options;
  const machine::Description &machine;
  std::string text;
  double uniformSum = 0, cutSum = 0;
  uint64_t scatter = 0, tile = 0, best = 0, rows = 0;
  const MapLayer *drawn = nullptr;
};

} // namespace

llvm::Expected<Cut> Study::cut(const MapLayer &layer, Algorithm algorithm,
                               uint64_t groups) const {
  Options how = options.cut;
  how.algorithm = algorithm;
  how.units = int64_t(options.units / groups);
  llvm::Expected<Partition> tiles =
      partition::partition(layer.counts(), layer.geometry, how);
  if (!tiles)
    return tiles.takeError();
  TileTimes times = timeTiles(machine, options.variant, layer, *tiles, groups);
  return Cut{std::move(*tiles), groups, std::move(times)};
}

/// The number of groups of least cycles in scatter mode; of equals the least.
llvm::Expected<Cut> Study::bestCut(const MapLayer &layer) const {
  if (options.groups)
    return cut(layer, options.cut.algorithm, options.groups);
  llvm::Expected<Cut> best = cut(layer, options.cut.algorithm, 1);
  for (uint64_t groups = 2; best && groups <= options.units; ++groups) {
    if (options.units % groups || groups > uint64_t(layer.results))
      continue;
    llvm::Expected<Cut> other = cut(layer, options.cut.algorithm, groups);
    if (!other || other->times.scatterCycles < best->times.scatterCycles)
      best = std::move(other);
    else
      llvm::consumeError(other.takeError());
  }
  return best;
}

llvm::Error Study::draw(const MapLayer &layer, const Cut &cut) const {
  TilePicture picture;
  picture.title = fmt::format(
      "{}: {} x {} x {}, {} tiles by {}, {} groups, max / mean {:.3f}, {}",
      layer.name, layer.channels, layer.geometry.y.in, layer.geometry.x.in,
      cut.tiles.tiles.size(), partition::name(options.cut.algorithm).str(),
      cut.groups, cut.times.imbalance(), cut.tiles.met ? "MET" : "BEST_EFFORT");
  picture.counts = layer.counts();
  for (const partition::Tile &tile : cut.tiles.tiles)
    picture.tiles.push_back(tile.input);
  picture.busy = cut.times.scatter;
  return support::writeFileAtomically(options.picture,
                                      llvm::StringRef(drawTiles(picture)));
}

llvm::Error Study::row(const MapLayer &layer) {
  llvm::Expected<Cut> chosen = bestCut(layer);
  if (!chosen)
    return chosen.takeError();
  llvm::Expected<Cut> even = cut(layer, Algorithm::Uniform, chosen->groups);
  if (!even)
    return even.takeError();
  auto bytes = compressedBytes(layer);
  if (!bytes)
    return bytes.takeError();
  const partition::CountMap counts = layer.counts();
  const TileTimes &times = chosen->times;
  const uint64_t values = uint64_t(counts.rows * counts.cols) * counts.capacity;
  const uint64_t nonZeros = partition::PrefixSums(counts).total();
  text += fmt::format(
      "{:<20} {:>13} {:>5.1f} % {:>7} {:>8.3f} {:>8.3f} {:>6.1f} % {:<11} "
      "{:>9} {:>9} {:>5.1f} %\n",
      llvm::StringRef(layer.name).take_back(20).str(),
      fmt::format("{}x{}x{}", layer.channels, counts.rows, counts.cols),
      100.0 * double(values - nonZeros) / double(values),
      fmt::format("{}x{}", chosen->tiles.tiles.size(), chosen->groups),
      even->times.imbalance(), times.imbalance(), 100 * chosen->tiles.spread,
      chosen->tiles.met ? "MET" : "BEST_EFFORT", times.scatterCycles,
      times.tileCycles, 100.0 * double(bytes->first) / double(bytes->second));
  uniformSum += even->times.imbalance();
  cutSum += times.imbalance();
  scatter += times.scatterCycles;
  tile += times.tileCycles;
  best += std::min(times.scatterCycles, times.tileCycles);
  ++rows;
  return &layer == drawn ? draw(layer, *chosen) : llvm::Error::success();
}

/// The layer to draw, if one is.
llvm::Error Study::chooseDrawn(llvm::ArrayRef<MapLayer> layers) {
  if (layers.empty())
    return makeError(ErrorClass::Usage,
                     "{}: no convolution of a two-dimensional encoded map",
                     options.folder);
  if (options.picture.empty())
    return llvm::Error::success();
  uint64_t most = 0;
  for (const MapLayer &layer : layers) {
    uint64_t nonZeros = partition::PrefixSums(layer.counts()).total();
    if (options.node.empty() ? !drawn || nonZeros > most
                             : layer.name == options.node) {
      most = nonZeros;
      drawn = &layer;
    }
  }
  return drawn ? llvm::Error::success()
               : makeError(ErrorClass::Usage, "{}: no convolution '{}'",
                           options.folder, options.node);
}

llvm::Error Study::runMeasured(llvm::ArrayRef<MapLayer> all) {
  llvm::Expected<llvm::StringMap<UnitRun>> runs = readUnitRuns(options.report);
  if (!runs)
    return runs.takeError();
  std::vector<MapLayer> layers;
  for (const MapLayer &layer : all)
    if (runs->count(layer.name))
      layers.push_back(layer);
  if (layers.empty())
    return makeError(ErrorClass::Usage,
                     "{}: no convolution of '{}' ran in scatter mode",
                     options.report, options.folder);
  if (llvm::Error error = chooseDrawn(layers))
    return error;
  text = fmt::format("{:<20} {:>13} {:>7} {:>6} {:>9} {:>9} {:>9}\n", "layer",
                     "map", "zeros", "tiles", "max/mean", "busiest", "cycles");
  for (const MapLayer &layer : layers) {
    const UnitRun &run = runs->find(layer.name)->second;
    const partition::CountMap counts = layer.counts();
    const double values =
        double(counts.rows * counts.cols) * double(counts.capacity);
    const std::vector<uint64_t> busy = run.busy();
    const double imbalance = run.imbalance(options.units);
    text += fmt::format(
        "{:<20} {:>13} {:>5.1f} % {:>6} {:>9.3f} {:>9} {:>9}\n",
        llvm::StringRef(layer.name).take_back(20).str(),
        fmt::format("{}x{}x{}", layer.channels, counts.rows, counts.cols),
        100 - 100 * double(partition::PrefixSums(counts).total()) / values,
        run.tiles().size(), imbalance,
        *std::max_element(busy.begin(), busy.end()), run.cycles);
    cutSum += imbalance;
    if (&layer != drawn)
      continue;
    TilePicture picture;
    picture.title =
        fmt::format("{}: {} x {} x {}, {} tiles, max / mean {:.3f}, {} cycles",
                    layer.name, layer.channels, counts.rows, counts.cols,
                    run.tiles().size(), imbalance, run.cycles);
    picture.counts = counts;
    for (const partition::Box &tile : run.tiles())
      picture.tiles.push_back(layer.geometry.inputOf(tile));
    picture.busy = busy;
    if (llvm::Error error = support::writeFileAtomically(
            options.picture, llvm::StringRef(drawTiles(picture))))
      return error;
  }
  text +=
      fmt::format("{} layers in scatter mode: mean max / mean of {} units "
                  "{:.3f}\n",
                  layers.size(), options.units, cutSum / double(layers.size()));
  support::printOut(text);
  return support::finishOut();
}

llvm::Error Study::run(llvm::ArrayRef<MapLayer> layers) {
  if (llvm::Error error = chooseDrawn(layers))
    return error;
  text = fmt::format("{:<20} {:>13} {:>7} {:>7} {:>8} {:>8} {:>8} {:<11} "
                     "{:>9} {:>9} {:>7}\n",
                     "layer", "map", "zeros", "tiles", "uniform",
                     partition::name(options.cut.algorithm).str(), "spread",
                     "flag", "scatter", "tile mode", "bytes");
  for (const MapLayer &layer : layers)
    if (llvm::Error error = row(layer))
      return error;
  text += fmt::format("{} layers: mean max / mean of units {:.3f} uniform, "
                      "{:.3f} {}; cycles {} scatter, {} tile mode, {} the "
                      "better per layer\n",
                      rows, uniformSum / double(rows), cutSum / double(rows),
                      partition::name(options.cut.algorithm).str(), scatter,
                      tile, best);
  support::printOut(text);
  return support::finishOut();
}

static llvm::Error runTiles(TilesOptions &options) {
  if (options.folder.empty())
    return makeError(ErrorClass::Usage, "no folder given, see --help");
  llvm::Expected<machine::Description> machine = machine::load(options.machine);
  if (!machine)
    return machine.takeError();
  if (options.units == 0)
    options.units = machine->sparse.tcus;
  if (options.units == 0)
    return machine::requireCluster(*machine, "a study without --units=N");
  if (options.groups && options.units % options.groups)
    return makeError(ErrorClass::Usage,
                     "{} groups do not divide {} compute units", options.groups,
                     options.units);
  llvm::Expected<std::vector<MapLayer>> layers =
      readMapLayers(options.folder, options.constants);
  if (!layers)
    return layers.takeError();
  Study study(options, *machine);
  return options.report.empty() ? study.run(*layers)
                                : study.runMeasured(*layers);
}

int report::runTilesTool(llvm::ArrayRef<std::string> args) {
  TilesOptions options;
  auto folder = [](TilesOptions &o, llvm::StringRef text) -> std::string {
    if (!o.folder.empty())
      return "expected one folder";
    o.folder = text.str();
    return "";
  };
  llvm::Error error = support::parseCommandLine<TilesOptions>(
                          optionTable(), args, settings, folder, options,
                          support::FileUse::ReadsDump)
                          .takeError();
  if (!error && options.help) {
    support::printOut(helpText());
    error = support::finishOut();
  } else if (!error && options.version) {
    support::printOut(support::versionLine("ashlar-tiles") + "\n");
    error = support::finishOut();
  } else if (!error) {
    error = runTiles(options);
  }
  return reportAndExitCode("ashlar-tiles", std::move(error));
}
