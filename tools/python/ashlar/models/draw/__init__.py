# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks from their papers with seeded weights: no download, the same bytes everywhere."""

from collections.abc import Callable

import onnx

from . import images, small, transformers
from .graph import ExternalData
from .transformers import DecoderSize, decoder

# File names of trained networks of the same architecture, where there are such.
NETWORKS: dict[str, Callable[..., onnx.ModelProto]] = {
    "resnet50_v1.5": images.resnet50,
    "mobilenet_v2_1.0_224": images.mobilenet_v2,
    "densenet121": images.densenet121,
    "squeezenet1_1": images.squeezenet,
    "shufflenet_v2_1.0": images.shufflenet_v2,
    "vit_s16": transformers.vision("vit_s16", 384, 6),
    "vit_b16": transformers.vision("vit_b16", 768, 12),
    "decoder": decoder,
    "kwt1_ln17": transformers.keyword_transformer,
    "mobilenet_v1_0.25_128": small.mobilenet_v1,
    "resnet20_cifar10": small.resnet20,
    "resnet8_cifar10": small.resnet8,
    "kws_dscnn": small.ds_cnn,
    "mnist_cnn": small.mnist,
    "ad_autoencoder": small.autoencoder,
    "super_resolution_x3_96": small.super_resolution,
}

__all__ = ["NETWORKS", "DecoderSize", "ExternalData", "decoder"]
