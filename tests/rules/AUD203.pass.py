# $ streamsched audit serve.py -- --layers 2
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, required=True)
layers = parser.parse_args().layers

side = torch.cuda.Stream()
x = torch.ones(8, 8, device="cuda")
for _ in range(layers):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x * 2
    torch.cuda.current_stream().wait_stream(side)
    x = x + y
