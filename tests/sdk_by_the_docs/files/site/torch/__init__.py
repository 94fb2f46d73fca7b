"""As much of torch as a traced function needs, on numpy: AWS's index has a torch of its own, which is not here."""

import numpy as np

float32, float16 = np.dtype("float32"), np.dtype("float16")


class Tensor(np.ndarray):
    """An array with torch's methods."""

    def sigmoid(self):
        return (1 / (1 + np.exp(-self))).astype(self.dtype)


def zeros(shape, dtype=float32, device=None):
    return np.zeros(shape, dtype).view(Tensor)
