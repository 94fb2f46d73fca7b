"""Records a kernel: tensors that know shapes but no data, the recorder, and the rules that operations check."""
