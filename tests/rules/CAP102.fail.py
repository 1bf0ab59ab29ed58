import torch


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.graph = torch.cuda.CUDAGraph()

    def forward(self, x):
        with torch.cuda.graph(self.graph):
            main = torch.cuda.current_stream()
            self.side.wait_stream(main)
            with torch.cuda.stream(self.side):
                y = x + 1
            z = x + 2
        return x
