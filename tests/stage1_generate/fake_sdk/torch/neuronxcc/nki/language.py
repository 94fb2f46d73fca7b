class nc:
    def __init__(self, count):
        self.count = count
