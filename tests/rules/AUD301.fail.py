# $ streamsched audit m.py:M --input "x: f32[8, 8]" --against models/staggered.sched
import torch
from models.staggered import Block


class M(Block):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        scores = self.gate(x)
        with torch.cuda.stream(self.side):
            shared_out = self.shared(x)
        out = self.routed(x) * scores
        main.wait_stream(self.side)
        return out + shared_out
