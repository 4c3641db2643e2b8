# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images: decoding, and recipes applied to them."""

import io
import warnings

import numpy as np
from PIL import Image

from .recipes import Recipe

FILTERS = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC,
           "lanczos": Image.LANCZOS}
SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm", ".webp", ".tif", ".tiff", ".gif")


class BadSample(Exception):
    """A sample that cannot be used; the others can."""


def decode(data: bytes) -> np.ndarray:
    """The pixels of a file, uint8, height x width x 3 (x 1 for grey ones)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                mode = "L" if image.mode in ("1", "L", "I;16", "I") else "RGB"
                return pixels(np.asarray(image.convert(mode)))
    except Exception as error:  # PIL raises many kinds
        words = "no image that can be decoded" if "cannot identify" in str(error) else f"not decoded: {error}"
        raise BadSample(" ".join(words.split())) from None


def pixels(array: np.ndarray) -> np.ndarray:
    """An image with its channels on the last axis."""
    return array[..., None] if array.ndim == 2 else array


def _resized(image: np.ndarray, size: tuple[int, int], interpolation: str) -> np.ndarray:
    """Height x width; filters of PIL, which weigh all pixels when they shrink."""
    if image.shape[:2] == size:
        return image
    if image.dtype != np.uint8:
        raise BadSample(f"resize works on 8-bit images, this one is {image.dtype}")
    picture = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
    return pixels(np.asarray(picture.resize((size[1], size[0]), FILTERS[interpolation])))


def _target(image: np.ndarray, resize: int | list[int]) -> tuple[int, int]:
    """Height and width: both given, or the short side."""
    if isinstance(resize, list) and len(resize) == 2:
        return resize[0], resize[1]
    short = resize[0] if isinstance(resize, list) else resize
    height, width = image.shape[:2]
    if height <= width:
        return short, max(short, round(width * short / height))
    return max(short, round(height * short / width)), short


def _cropped(image: np.ndarray, crop: int | list[int]) -> np.ndarray:
    """The middle."""
    sides = crop if isinstance(crop, list) else [crop]
    height, width = sides[0], sides[-1]
    if image.shape[0] < height or image.shape[1] < width:
        raise BadSample(f"{image.shape[1]}x{image.shape[0]} pixels, less than the crop of {width}x{height}")
    top, left = (image.shape[0] - height) // 2, (image.shape[1] - width) // 2
    return image[top:top + height, left:left + width]


def _coloured(image: np.ndarray, colour: str) -> np.ndarray:
    """Three channels or one; grey by the weights of ITU-R 601 as PIL has them."""
    if colour == "grey":
        if image.shape[2] == 1:
            return image
        return pixels(np.asarray(Image.fromarray(image).convert("L")))
    if image.shape[2] == 1:
        image = np.repeat(image, 3, axis=2)
    return image[..., ::-1] if colour == "bgr" else image


def prepare(image: np.ndarray, recipe: Recipe) -> np.ndarray:
    """One sample of the model's input, without the axis of the batch."""
    if recipe.resize is not None:
        image = _resized(image, _target(image, recipe.resize), recipe.interpolation)
    if recipe.crop is not None:
        image = _cropped(image, recipe.crop)
    image = _coloured(image, recipe.colour)
    if recipe.type in ("uint8", "int8") and (recipe.divide, recipe.mean, recipe.std) == (1, 0, 1):
        # Codes of quantised networks: int8 is the pixel minus 128.
        values = image if recipe.type == "uint8" else (image.astype(np.int16) - 128).astype(np.int8)
    else:
        values = _scaled(image, recipe).astype(recipe.type)
    return np.ascontiguousarray(values.transpose(2, 0, 1) if recipe.layout == "nchw" else values)


def _scaled(image: np.ndarray, recipe: Recipe) -> np.ndarray:
    """(pixel / divide - mean) / std in binary32."""
    values = image.astype(np.float32)
    for name in ("mean", "std"):
        count = len(getattr(recipe, name)) if isinstance(getattr(recipe, name), list) else 1
        if count not in (1, image.shape[2]):
            raise BadSample(f"{name} has {count} values, the image {image.shape[2]} channels")
    if recipe.divide != 1:
        values = values / np.float32(recipe.divide)
    return (values - np.asarray(recipe.mean, np.float32)) / np.asarray(recipe.std, np.float32)
