# $ streamsched audit m.py:M --input "x: bf16[64, 7168]" --fake
import torch


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            y = x + 1
        main.wait_stream(self.side)
        y.record_stream(main)
        if y.sum() > 0:
            y = y * 2
        return y
