"""`tf.image`: images of other sizes, cut, turned, of other colours."""

# ruff: noqa: F401
# isort: off
# fmt: off
from tfc.graph.functions.images import (
    ResizeMethod, adjust_brightness, adjust_contrast, adjust_gamma, adjust_hue, adjust_saturation,
    central_crop, convert_image_dtype, crop_to_bounding_box, decode_bmp, decode_gif, decode_image,
    decode_jpeg, decode_png, flip_left_right, flip_up_down, grayscale_to_rgb, hsv_to_rgb,
    pad_to_bounding_box, per_image_standardization, random_brightness, random_contrast,
    random_flip_left_right, random_flip_up_down, resize_area, resize_bicubic, resize_bilinear,
    resize_image_with_crop_or_pad, resize_images, resize_nearest_neighbor, rgb_to_grayscale,
    rgb_to_hsv, rot90, transpose_image,
)
from tfc.graph.functions.convolutions import extract_image_patches
# fmt: on
# isort: on
