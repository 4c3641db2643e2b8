// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SVG by hand: rectangles and text only, integer or fixed-point coordinates.

#include "ashlar/Report/Tiles.h"

#include <algorithm>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::report;
using partition::Box;
using partition::PrefixSums;

namespace {

constexpr int64_t kSide =
    480; ///< Pixels of the longer side of the feature map.
constexpr int64_t kCells = 64; ///< Heat-map cells along it.
constexpr int64_t kTop = 40;   ///< Room for the title.
constexpr int64_t kLeft = 16;
constexpr int64_t kBars = 220; ///< Longest bar.

std::string escaped(llvm::StringRef text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '&':
      out += "&amp;";
      break;
    default:
      out += c;
    }
  return out;
}

class Drawing {
public:
  explicit Drawing(const TilePicture &picture)
      : picture(picture), sums(picture.counts),
        longest(std::max(picture.counts.rows, picture.counts.cols)) {}

  std::string draw() {
    int64_t height = std::max(kTop + pixels(picture.counts.rows) + kLeft,
                              kTop + barPitch() * count() + kLeft);
    text +=
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
                    "height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                    "font-family=\"sans-serif\" font-size=\"12\">\n",
                    barLeft() + kBars + 110, height);
    text += fmt::format("<rect width=\"100%\" height=\"100%\" "
                        "fill=\"white\"/>\n<text x=\"{}\" y=\"22\" "
                        "font-size=\"14\">{}</text>\n",
                        kLeft, escaped(picture.title));
    heat();
    cuts();
    bars();
    return text + "</svg>\n";
  }

private:
  int64_t count() const { return int64_t(picture.busy.size()); }
  int64_t pixels(int64_t position) const { return position * kSide / longest; }
  int64_t barLeft() const { return kLeft + pixels(picture.counts.cols) + 56; }
  int64_t barPitch() const {
    return count() ? std::clamp<int64_t>(kSide / count(), 6, 28) : 6;
  }

  void heat() {
    const partition::CountMap &map = picture.counts;
    int64_t step = (longest + kCells - 1) / kCells;
    text += "<g>\n";
    for (int64_t y = 0; y < map.rows; y += step)
      for (int64_t x = 0; x < map.cols; x += step) {
        Box box{y, x, std::min(step, map.rows - y),
                std::min(step, map.cols - x)};
        double share =
            double(sums.sum(box)) / (double(box.area()) * double(map.capacity));
        text +=
            fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
                        "fill=\"{}\"/>\n",
                        kLeft + pixels(x), kTop + pixels(y),
                        pixels(x + box.cols) - pixels(x),
                        pixels(y + box.rows) - pixels(y), colour(share));
      }
    text += "</g>\n";
  }

  /// White without non-zeros to dark blue for all non-zero.
  static std::string colour(double share) {
    auto mix = [&](int full) { return int(255 - share * (255 - full) + 0.5); };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(8), mix(48), mix(107));
  }

  void cuts() {
    for (const Box &tile : picture.tiles) {
      if (tile.empty())
        continue;
      text += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" "
          "stroke=\"#d9480f\" stroke-width=\"1.5\"/>\n",
          kLeft + pixels(tile.x0), kTop + pixels(tile.y0),
          pixels(tile.x0 + tile.cols) - pixels(tile.x0),
          pixels(tile.y0 + tile.rows) - pixels(tile.y0));
    }
  }

  void bars() {
    uint64_t most = 0, sum = 0;
    for (uint64_t busy : picture.busy) {
      most = std::max(most, busy);
      sum += busy;
    }
    if (!most)
      return;
    int64_t pitch = barPitch();
    for (int64_t i = 0; i < count(); ++i) {
      uint64_t busy = picture.busy[size_t(i)];
      int64_t y = kTop + i * pitch;
      text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
                          "fill=\"#2b8a3e\"/>\n",
                          barLeft(), y,
                          int64_t(double(busy) / double(most) * kBars + 0.5),
                          pitch - 2);
      if (pitch >= 12)
        text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" "
                            "font-size=\"10\">{}</text>\n<text x=\"{}\" "
                            "y=\"{}\" font-size=\"10\">{}</text>\n",
                            barLeft() - 6, y + pitch - 4, i,
                            barLeft() + kBars + 6, y + pitch - 4, busy);
    }
    // The mean: what a perfect cut would give every unit.
    int64_t mean =
        barLeft() +
        int64_t(double(sum) / double(count()) / double(most) * kBars + 0.5);
    text += fmt::format("<line x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\" "
                        "stroke=\"black\" stroke-dasharray=\"4 3\"/>\n",
                        mean, kTop - 4, kTop + pitch * count());
  }

  const TilePicture &picture;
  PrefixSums sums;
  int64_t longest;
  std::string text;
};

} // namespace

std::string report::drawTiles(const TilePicture &picture) {
  return Drawing(picture).draw();
}
