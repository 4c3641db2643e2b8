// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ashlar/Support/Nearest.h"

#include <algorithm>

std::string ashlar::support::didYouMean(llvm::StringRef text,
                                        llvm::ArrayRef<llvm::StringRef> names) {
  llvm::StringRef nearest;
  unsigned best = ~0u;
  for (llvm::StringRef name : names) {
    const unsigned distance =
        text.edit_distance_insensitive(name, /*AllowReplacements=*/true);
    const unsigned limit = misspelling(std::max(text.size(), name.size()));
    if (distance <= limit && distance < best) {
      nearest = name;
      best = distance;
    }
  }
  return nearest.empty() ? "" : ", did you mean '" + nearest.str() + "'";
}
