import json


class IRWriter:
    @staticmethod
    def run(cu, output, save_weights, weights_dir):
        json.dump({"inputs": cu.inputs, "outputs": cu.outputs}, output)
