raise RuntimeError("Failed to initialize NRT runtime")
