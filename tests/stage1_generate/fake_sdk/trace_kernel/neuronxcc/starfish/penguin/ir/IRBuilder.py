class IRBuilder:
    current = None

    def __init__(self):
        self.inputs, self.outputs, self.cu = [], [], self
        IRBuilder.current = self

    def tensor(self, shape, dtype, name):
        self.inputs.append((name, tuple(shape), str(dtype)))
