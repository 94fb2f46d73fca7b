import numpy as np
from machine import note


def dma_copy(dst, src, **_):
    note("Sync", "DMA_DIRECT2D", max(dst.nbytes, src.nbytes))
    dst[...] = np.asarray(src).reshape(dst.shape).astype(dst.dtype)


def tensor_tensor(dst, data1, data2, op, **_):
    note("Vector", "TENSOR_TENSOR")
    dst[...] = op(data1.astype(np.float32), data2.astype(np.float32)).astype(dst.dtype)


def tensor_copy(dst, src, **_):
    note("Vector", "COPY")
    dst[...] = src.astype(dst.dtype)


def memset(dst, value, **_):
    note("GpSimd", "MEMSET")
    dst[...] = value


def activation(dst, op, data, scale=1.0, **_):
    note("Scalar", "ACTIVATE")
    dst[...] = op(data.astype(np.float32) * scale).astype(dst.dtype)


def nc_matmul(dst, stationary, moving, **_):
    note("Tensor", "MATMUL", flops=2 * stationary.shape[0] * stationary.shape[1] * moving.shape[1])
    dst[...] += stationary.astype(np.float32).T @ moving.astype(np.float32)
