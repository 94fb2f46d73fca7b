import ml_dtypes
import numpy as np
from machine import Tensor, asked, cores, note, shared, tensor

float32, float16, int32, uint32 = np.dtype("float32"), np.dtype("float16"), np.dtype("int32"), np.dtype("uint32")
bfloat16 = np.dtype(ml_dtypes.bfloat16)
sbuf, psum, hbm, shared_hbm, private_hbm = "sbuf", "psum", "hbm", "shared_hbm", "private_hbm"
add, subtract, multiply, maximum = np.add, np.subtract, np.multiply, np.maximum
exp = np.exp


class tile_size:  # noqa: N801  (its name in nki.language)
    pmax, psum_fmax, gemm_stationary_fmax, gemm_moving_fmax = 128, 512, 128, 512


def ndarray(shape, dtype, buffer=sbuf, name=""):
    if buffer != shared_hbm:
        return tensor(np.zeros(shape, dtype), "hbm" if "hbm" in buffer else buffer)
    asked["count"] += 1  # the second core has the tensor that the first one made
    return shared.setdefault((asked["count"], tuple(shape)), tensor(np.zeros(shape, dtype), "hbm"))


def zeros(shape, dtype, buffer=sbuf):
    return ndarray(shape, dtype, buffer)


def load(source):
    assert isinstance(source, Tensor)
    note("Sync", "DMA_DIRECT2D", source.nbytes)
    return tensor(source, sbuf)


def store(dst, value):
    note("Sync", "DMA_DIRECT2D", dst.nbytes)
    dst[...] = value.astype(dst.dtype)


def program_id(axis):
    return cores["here"]


def num_programs(axes=0):
    return cores["all"]


def affine_range(*bounds):
    return range(*bounds)
