class _Launched:
    def __init__(self, kernel, grid=None):
        self.kernel, self.grid = kernel, grid

    def __getitem__(self, grid):
        return _Launched(self.kernel, grid)

    def __call__(self, *args, **kwargs):
        return self.kernel(*args, grid=self.grid, **kwargs)


def nki_jit():
    return _Launched
