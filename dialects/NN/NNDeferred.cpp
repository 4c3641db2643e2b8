// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of deferred constants, and constants made of others.

#include "dialects/NN/NNDeferred.h"
#include "ashlar/Support/ElementType.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNElements.h"

#include "mlir/IR/BuiltinDialect.h"
#include "llvm/ADT/STLExtras.h"

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

std::optional<ElementFacts> DeferredElements::factsOf(
    const void *resource,
    llvm::function_ref<std::optional<ElementFacts>()> find) {
  {
    llvm::sys::ScopedReader lock(mutex);
    if (auto known = facts.find(resource); known != facts.end())
      return known->second;
  }
  std::optional<ElementFacts> found = find();
  if (found) {
    llvm::sys::ScopedWriter lock(mutex);
    facts.try_emplace(resource, *found);
  }
  return found;
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
  if (!source(0, {made.data(), made.size()}))
    return {};
  return makeElements(type, std::move(made), hint);
}

/// Bytes of binary32 numbers, which need not be aligned, times a factor: of
/// binary64, whose product is rounded once, or of binary32, where that is the
/// same.
template <typename Factor>
static void multiply(char *bytes, size_t count, Factor factor) {
  for (size_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, bytes + i * sizeof(float), sizeof(float));
    value = static_cast<float>(static_cast<Factor>(value) * factor);
    std::memcpy(bytes + i * sizeof(float), &value, sizeof(float));
  }
}

/// The same with a factor for each number.
template <typename Factor>
static void multiplyEach(char *bytes, llvm::ArrayRef<Factor> factors) {
  for (size_t i = 0; i < factors.size(); ++i)
    multiply(bytes + i * sizeof(float), 1, factors[i]);
}

/// Element `element` and those after it times factors[element / run % number of
/// factors]. Loops that compilers turn into vector instructions.
template <typename Factor>
static void multiply(llvm::MutableArrayRef<char> to, size_t element,
                     llvm::ArrayRef<Factor> factors, size_t run) {
  size_t channel = element / run % factors.size(), before = element % run;
  while (!to.empty()) {
    const size_t left = to.size() / sizeof(float);
    size_t count;
    if (run == 1) {
      count = std::min(factors.size() - channel, left);
      multiplyEach(to.data(), factors.slice(channel, count));
      channel = 0;
    } else {
      count = std::min(run - before, left);
      multiply(to.data(), count, Factor(factors[channel]));
      channel = channel + 1 == factors.size() ? 0 : channel + 1;
    }
    before = 0;
    to = to.drop_front(count * sizeof(float));
  }
}

/// Floats from byte `first` on as binary32, whatever their width is.
static bool copyAsBinary32(ElementsAttr elements, size_t first,
                           llvm::MutableArrayRef<char> to) {
  if (elements.getElementType().isF32())
    return copyPart(elements, first, to);
  const std::vector<float> wide = floatElements(elements);
  if (wide.size() * sizeof(float) < first + to.size())
    return false;
  std::memcpy(to.data(), reinterpret_cast<const char *>(wide.data()) + first,
              to.size());
  return true;
}

ElementsAttr ashlar::nn::scaledElements(ElementsAttr elements,
                                        std::vector<double> factors,
                                        int64_t run, llvm::StringRef hint) {
  auto shape = cast<RankedTensorType>(elements.getType());
  auto type = shape.clone(Float32Type::get(elements.getContext()));
  std::vector<float> narrow(factors.begin(), factors.end());
  if (!llvm::equal(narrow, factors))
    narrow.clear();
  auto source = [elements, factors = std::move(factors),
                 narrow = std::move(narrow),
                 run](size_t first, llvm::MutableArrayRef<char> to) {
    if (!copyAsBinary32(elements, first, to))
      return false;
    const size_t element = first / sizeof(float);
    if (narrow.empty())
      multiply<double>(to, element, factors, run);
    else
      multiply<float>(to, element, narrow, run);
    return true;
  };
  return deferElements(type, std::move(source), hint);
}
