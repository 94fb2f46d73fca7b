"""Declares the rules of instructions in general, and of a kernel's own Python. A refusal that no rule of another file knows is looked for here."""

# fmt: off
from neff_bench.rules.judges import refusal
from neff_bench.rules.rule import rule

rule("S455", "operands of one instruction have the same partitions", "slices of equal size", "isa", "D", refusal(r"^\w+: \w+ has \d+ partitions, expected \d+"))
rule("S456", "operands of one instruction have the same number of elements in a partition", "slices of equal size", "isa", "D", refusal(r"^\w+: \w+ has \d+ elements in a partition, expected \d+"))
rule("S457", "an operand for each partition is (rows, 1)", "one element in each partition", "isa", "D", refusal(r"^\w+: \w+ must hold one element in each partition"))
rule("S458", "what an instruction writes has a shape of its own", "the shape that the message names", "isa", "D", refusal(r"^\w+: ([\w ]+ must (be \[|be a multiple|hold one element|have one element more)|source \d+ has)"))
rule("D352", "operands have the dtypes that the instruction takes", "nisa.tensor_copy into a tile of that dtype", "isa", "D", refusal(r"^\w+: [\w ]+ must (have|be) (the dtype|one dtype|a float|an integer|u?int|float|bfloat)"))
rule("E652", "an instruction has no such operator", "another instruction", "isa dtypes", "D", refusal(r"^\w+: \w+ \w+ is not supported here"))
rule("E653", "an instruction has engines of its own", "leave engine= out", "isa", "D", refusal(r"^\w+: runs on [\w ]+, not on"))
rule("P240", "a tile is not iterated over", "a loop over numbers, and a slice", "views", "M", refusal("cannot be iterated over"))
rule("P241", "a kernel sees the names of its module alone", "define it at the top of the file", "parser profile", "FM", refusal("^NameError: "), says="failed to resolve name")
rule("N157", "tiles have no such attribute", "a method of the API reference", "stubs old", "DA", refusal("^(a (tensor of nki|tile of neuronxcc.nki|tensor with block dimensions)|nki's Annotation) has no attribute"), says="has no attribute")
rule("K955", "an assertion of the kernel fails", "what the message asks for", "guide nkilib", "D", refusal("^AssertionError: "))
rule("K956", "the kernel's own Python fails", "what the message asks for", "guide", "D", refusal("^(KeyError|IndexError|ZeroDivisionError|OverflowError|UnboundLocalError|TypeError|ValueError|RuntimeError|NotImplementedError): |^AttributeError: '(NoneType|bool|int|float|str|tuple|list|dict)' object "))
rule("S459", "tiles that are combined have one shape, or one that repeats", "slices of equal size", "errors", "D", refusal("cannot be broadcast to"))
rule("P251", "a tensor has no value while a kernel is compiled", "the nl or nisa function; a number", "errors guide", "D", refusal("^a tensor, whose value is not known|^numpy's functions do not take tensors"), says="err_ambiguous_tensor_truth_value")
rule("S462", "the arguments of an instruction are what its page says", "what the message asks for", "isa language", "D", refusal("^(NkiValidationError|CapacityError): "))
