"""Provides the NKI dialect without the AWS SDK: runs kernels as plain Python on shapes and records what they issue.

`install` puts `nki`, `nki.language`, `nki.isa` ... into `sys.modules` of the process that compiles, and only where the
real package is absent. `load.trace_kernel` runs one kernel and returns its `Program`.
"""
