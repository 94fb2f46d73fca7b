"""Which operators, engines and chips an instruction has."""

# fmt: off
from neff_bench.rules.judges import called, operator
from neff_bench.rules.rule import rule

_DIVIDE = "multiply by nisa.reciprocal"

rule("E601", "nl.divide works in AWS's simulator alone", _DIVIDE, "notes harness torchneuronx", "DM", called("nki.language.divide"), since="2.29", until="2.32", says="unsupported operator 'divide'; NCC_IXCG864")
rule("E602", "tensor_tensor has no operator divide", _DIVIDE, "harness notes", "DM", operator("tensor_tensor", "op", "divide"), since="2.29", says="unsupported operator 'divide'")
rule("E603", "tensor_scalar has no operator divide", _DIVIDE, "attention notes", "DM", operator("tensor_scalar scalar_tensor_tensor", "op0 op1", "divide"), since="2.29", says="invalid kwarg 'op0': unsupported operator 'divide'")
rule("E604", "nl.mod and nl.fmod work in AWS's simulator alone", "subtract the multiple in float32", "notes", "DM", operator("tensor_tensor", "op", "mod", "fmod"), operator("tensor_scalar", "op0 op1", "mod", "fmod"), since="2.29", says="unsupported operator")
