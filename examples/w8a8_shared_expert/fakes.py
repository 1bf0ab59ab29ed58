"""What the ops of torch_npu that model.py calls return, for machines without torch_npu.

For the schedule that is the statement `fakes "fakes.py"` under its `model`; `streamsched init` and `streamsched audit`
take `--fakes fakes.py`. As nothing here computes values, an audit needs `--fake` as well.
"""

import torch

torch.library.define("npu::npu_swiglu", "(Tensor self, int dim=-1) -> Tensor")
torch.library.define(
    "npu::npu_dynamic_quant", "(Tensor input, *, Tensor? smooth_scales=None, int? dst_type=None) -> (Tensor, Tensor)"
)
torch.library.define(
    "npu::npu_quant_matmul",
    "(Tensor x1, Tensor x2, Tensor scale, *, Tensor? offset=None, Tensor? pertoken_scale=None, Tensor? bias=None,"
    " int? output_dtype=None) -> Tensor",
)


@torch.library.register_fake("npu::npu_swiglu")
def npu_swiglu(x, dim=-1):
    return x.new_empty(*x.shape[:-1], x.shape[-1] // 2)


@torch.library.register_fake("npu::npu_dynamic_quant")
def npu_dynamic_quant(x, **options):
    return torch.empty_like(x, dtype=torch.int8), x.new_empty(x.shape[:-1], dtype=torch.float32)


@torch.library.register_fake("npu::npu_quant_matmul")
def npu_quant_matmul(x1, x2, scale, **options):
    return x1.new_empty(*x1.shape[:-1], x2.shape[-1], dtype=torch.bfloat16)
