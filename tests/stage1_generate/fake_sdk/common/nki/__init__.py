"""The part of NKI that all generations share: the decorator."""

import os
from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
TARGET_AT_IMPORT = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE")


class Kernel:
    def __init__(self, func, lnc=None):
        self.func, self.lnc = func, lnc

    def __getitem__(self, lnc):
        return Kernel(self.func, lnc)

    def __call__(self, *args, **kwargs):
        raise AssertionError("stage 1 must not launch a kernel: that touches a device")


def jit(func):
    return Kernel(func)
