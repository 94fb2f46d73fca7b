from nki._sdk import HABITS

if HABITS["nki"] == "standalone":
    raise ImportError("NKI 0.2 has no nki.compiler; its compiler is neuronxcc.nki_standalone")
