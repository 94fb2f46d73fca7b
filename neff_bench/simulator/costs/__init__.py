"""Says what operations cost: machine instructions, engine times and DMA packets."""
