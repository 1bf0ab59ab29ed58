import threading

import torch


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def run(self, x):
        with torch.cuda.stream(self.side):
            self.result = x + 1

    def forward(self, x):
        thread = threading.Thread(target=self.run, args=(x,))
        thread.start()
        thread.join()
        return self.result * 2
