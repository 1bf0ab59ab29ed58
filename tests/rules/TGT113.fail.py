import torch
import torch_npu  # noqa: F401


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.npu.Stream()
        self.ready, self.done = torch.npu.Event(), torch.npu.Event()

    def forward(self, x):
        a = x + 1
        torch.npu.current_stream().record_event(self.ready)
        with torch.npu.stream(self.side):
            self.ready.wait()
            y = a * 2
            self.done.record()
        self.done.wait()
        return y + 1
