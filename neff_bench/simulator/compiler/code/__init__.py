"""Leads from instructions to machine code: buffers get addresses, instructions an order, DMAs their queues and descriptors."""
