// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of deferred constants, and constants made of others.

#include "dialects/NN/NNDeferred.h"
#include "ashlar/Support/ElementType.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNElements.h"

#include "mlir/IR/BuiltinDialect.h"

#include <cstring>

using namespace mlir;
using namespace ashlar::nn;

DeferredElements &DeferredElements::of(MLIRContext *context) {
  return *context->getOrLoadDialect<NNDialect>()
              ->getRegisteredInterface<DeferredElements>();
}

void DeferredElements::add(const void *resource, ElementsSource source) {
  llvm::sys::ScopedWriter lock(mutex);
  sources[resource] = std::make_shared<const ElementsSource>(std::move(source));
}

std::shared_ptr<const ElementsSource>
DeferredElements::find(const void *resource) const {
  llvm::sys::ScopedReader lock(mutex);
  return sources.lookup(resource);
}

void DeferredElements::addCheck(std::function<llvm::Error()> check) {
  llvm::sys::ScopedWriter lock(mutex);
  checks.push_back(std::move(check));
}

llvm::Error DeferredElements::runChecks() const {
  llvm::sys::ScopedReader lock(mutex);
  for (const std::function<llvm::Error()> &check : checks)
    if (llvm::Error error = check())
      return error;
  return llvm::Error::success();
}

std::shared_ptr<const ElementsSource>
ashlar::nn::deferredSource(ElementsAttr elements) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  if (!resource || resource.getRawHandle().getBlob() ||
      !elements.getContext()->getLoadedDialect<NNDialect>())
    return nullptr;
  return DeferredElements::of(elements.getContext())
      .find(resource.getRawHandle().getResource());
}

ElementsAttr ashlar::nn::deferElements(RankedTensorType type,
                                       ElementsSource source,
                                       llvm::StringRef hint) {
  const size_t bytes =
      type.getNumElements() * byteSize(*toElementType(type.getElementType()));
  DeferredElements &deferred = DeferredElements::of(type.getContext());
  if (deferred.isEnabled() && bytes >= DeferredElements::kLeastBytes &&
      type.getNumElements() > maxInlineElements) {
    DenseResourceElementsHandle handle =
        reserveResource(type.getContext(), hint);
    deferred.add(handle.getResource(), std::move(source));
    return DenseResourceElementsAttr::get(type, handle);
  }
  std::string made(bytes, '\0');
  if (!source({made.data(), made.size()}))
    return {};
  return makeElements(type, std::move(made), hint);
}

/// Bytes of binary32 numbers, which need not be aligned, times a factor.
static void multiply(char *bytes, double factor) {
  float value;
  std::memcpy(&value, bytes, sizeof(float));
  value = static_cast<float>(static_cast<double>(value) * factor);
  std::memcpy(bytes, &value, sizeof(float));
}

/// Loops that compilers turn into vector instructions.
static void multiply(llvm::MutableArrayRef<char> to,
                     llvm::ArrayRef<double> factors, int64_t run) {
  constexpr size_t width = sizeof(float);
  for (size_t c = 0; !to.empty(); c = c + 1 == factors.size() ? 0 : c + 1) {
    if (run == 1) {
      const size_t count = std::min(factors.size(), to.size() / width);
      for (size_t i = 0; i < count; ++i)
        multiply(to.data() + i * width, factors[i]);
      to = to.drop_front(count * width);
      c = factors.size() - 1;
      continue;
    }
    const size_t count = std::min<size_t>(run, to.size() / width);
    // Bytes that are written could be those of the factors, for all that a
    // compiler knows: read again each time, they would keep it from vectors.
    const double factor = factors[c];
    for (size_t i = 0; i < count; ++i)
      multiply(to.data() + i * width, factor);
    to = to.drop_front(count * width);
  }
}

ElementsAttr ashlar::nn::scaledElements(ElementsAttr elements,
                                        std::vector<double> factors,
                                        int64_t run, llvm::StringRef hint) {
  auto shape = cast<RankedTensorType>(elements.getType());
  auto type = shape.clone(Float32Type::get(elements.getContext()));
  auto source = [elements, factors = std::move(factors),
                 run](llvm::MutableArrayRef<char> to) {
    if (elements.getElementType().isF32()) {
      if (!copyElements(elements, to))
        return false;
    } else {
      const std::vector<float> wide = floatElements(elements);
      if (wide.size() * sizeof(float) != to.size())
        return false;
      std::memcpy(to.data(), wide.data(), to.size());
    }
    multiply(to, factors, run);
    return true;
  };
  return deferElements(type, std::move(source), hint);
}
