"""As much of torch as a traced kernel needs: shapes and dtypes."""


class Tensor:
    def __init__(self, shape, dtype, device="cpu"):
        self.shape, self.dtype, self.device = tuple(shape), dtype, device

    def __matmul__(self, other):
        return Tensor((*self.shape[:-1], other.shape[-1]), self.dtype)

    def __mul__(self, other):
        return Tensor(self.shape, self.dtype)

    def sigmoid(self):
        return Tensor(self.shape, self.dtype)


def zeros(shape, dtype, device="cpu"):
    return Tensor(shape, dtype, device)


float32, bfloat16, float16 = "float32", "bfloat16", "float16"
