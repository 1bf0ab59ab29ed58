"""How torch spells the ATen ops whose Python name, form or argument order differs from the schema's.

Everything else follows a rule: an op that `schemas.txt` lists in a namespace of torch is called from there with the
schema's arguments. Keys are `name`, or `name.overload` where the overloads differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

F_IMPORT = "import torch.nn.functional as F"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BINARY: Mapping[str, str] = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div.Tensor": "/",
    "div.Scalar": "/",
    "floor_divide": "//",
    "remainder": "%",
    "pow": "**",
    "matmul": "@",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "__and__": "&",
    "__or__": "|",
    "__xor__": "^",
    "__lshift__": "<<",
    "__rshift__": ">>",
}
UNARY: Mapping[str, str] = {"neg": "-", "bitwise_not": "~"}

# Written `x.T`.
PROPERTIES: Mapping[str, str] = {"numpy_T": "T", "matrix_H": "H", "mT": "mT", "mH": "mH"}

# Written `x.view(1, -1)`, though torch may have a function of the name as well. In-place ops are methods unlisted.
METHODS = _words("""
    all amax amin any argmax argmin as_strided chunk clone contiguous count_nonzero cumprod cumsum detach diagonal
    expand expand_as flatten item logsumexp masked_fill masked_select max.default max.dim mean median min.default
    min.dim movedim narrow permute prod ravel repeat repeat_interleave.self_int repeat_interleave.self_Tensor reshape
    reshape_as squeeze std sum swapaxes swapdims t to transpose type_as unbind unflatten unfold unsqueeze var view
    view_as
    """)

# In-place operators as the methods that people call.
IN_PLACE_OPERATORS: Mapping[str, str] = {
    "__iand__": "bitwise_and_",
    "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_",
    "__ilshift__": "bitwise_left_shift_",
    "__irshift__": "bitwise_right_shift_",
}

# Take a list of integers as so many arguments: `x.view(1, -1)`, `torch.zeros(2, 3)`.
VARIADIC_SIZES = _words("empty expand ones permute rand randn repeat reshape view zeros")

# Take a list of tensors as so many arguments: `torch.einsum("ij,jk->ik", a, b)`.
VARIADIC_TENSORS = _words("""
    atleast_1d.Sequence atleast_2d.Sequence atleast_3d.Sequence block_diag broadcast_tensors cartesian_prod chain_matmul
    einsum meshgrid
    """)

# Optional arguments that people pass by position all the same: `x.flatten(1)`, `x.argmax(-1)`.
POSITIONAL: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(_words("all amax amin any argmax argmin std unbind var"), frozenset({"dim"})),
    "arange": frozenset({"step"}),
    "flatten": frozenset({"start_dim"}),
    "uniform_": frozenset({"from", "to"}),
}

# Tensors that people pass by name: `torch.clamp(x, min=low)`.
NAMED: Mapping[str, frozenset[str]] = dict.fromkeys(_words("clamp clamp_ clip clip_"), frozenset({"min", "max"}))


@dataclass(frozen=True, slots=True)
class Function:
    """A public function that an op goes by; `path` is what is called.

    `order` are the schema's parameters that come first in the function, where the order differs. `rename` maps
    parameters to the function's names for them. `drop` are those that it lacks (flags of a backend). `named` are
    passed by name although they have no default, or are tensors. `defaults` are those of the function where the
    schema has none. `extra` are more arguments, as text.
    """

    path: str
    order: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    drop: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    defaults: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""


# Names that functions take where the op takes their number.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "reduction": ("none", "mean", "sum"),
    "interpolation_mode": ("bilinear", "nearest", "bicubic"),
    "compute_mode": (
        "use_mm_for_euclid_dist_if_necessary",
        "use_mm_for_euclid_dist",
        "donot_use_mm_for_euclid_dist",
    ),
    "padding_mode": ("zeros", "border", "reflection"),
}

_SAME = {
    name: Function(f"F.{name}")
    for name in _words("""
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d avg_pool1d avg_pool2d avg_pool3d bilinear
    binary_cross_entropy binary_cross_entropy_with_logits channel_shuffle conv1d conv2d conv3d cosine_embedding_loss
    cosine_similarity ctc_loss glu hardshrink hinge_embedding_loss huber_loss kl_div l1_loss linear
    margin_ranking_loss max_pool1d max_pool2d max_pool3d mse_loss multi_margin_loss multilabel_margin_loss one_hot pad
    pairwise_distance pixel_shuffle pixel_unshuffle prelu rms_norm smooth_l1_loss soft_margin_loss softplus softshrink
    triplet_margin_loss
    """)
} | {f"conv_transpose{n}d": Function(f"F.conv_transpose{n}d") for n in (1, 2, 3)}

_DROPOUT = Function("F.dropout", rename={"train": "training"}, named=frozenset({"p", "train"}))
_NORM_DEFAULTS = {"weight": "None", "bias": "None", "training": "False", "momentum": "0.1", "eps": "1e-05"}
_CUDNN = frozenset({"cudnn_enable", "cudnn_enabled"})

# Activations: the same with `inplace=True` for the op whose name ends in an underscore.
_ACTIVATIONS = {
    name: Function(f"F.{name}")
    for name in _words("celu gelu hardsigmoid hardswish leaky_relu mish relu relu6 selu silu threshold")
} | {
    "elu": Function("F.elu", defaults={"alpha": "1.0"}),
    "hardtanh": Function("F.hardtanh", defaults={"min_val": "-1.0", "max_val": "1.0"}),
    "alpha_dropout": replace(_DROPOUT, path="F.alpha_dropout"),
    "dropout": _DROPOUT,
}

_RESIZE = {
    "upsample_nearest1d": "nearest",
    "upsample_nearest2d": "nearest",
    "upsample_nearest3d": "nearest",
    "_upsample_nearest_exact1d": "nearest-exact",
    "_upsample_nearest_exact2d": "nearest-exact",
    "_upsample_nearest_exact3d": "nearest-exact",
    "upsample_linear1d": "linear",
    "upsample_bilinear2d": "bilinear",
    "upsample_trilinear3d": "trilinear",
    "upsample_bicubic2d": "bicubic",
    "_upsample_bilinear2d_aa": "bilinear",
    "_upsample_bicubic2d_aa": "bicubic",
}
_INTERPOLATE = Function(
    "F.interpolate",
    order=("input", "output_size", "scale_factors"),
    rename={"output_size": "size", "scale_factors": "scale_factor"},
    named=frozenset({"output_size", "scale_factors", "align_corners"}),
    defaults={"output_size": "None", "scale_factors": "None"},
)


def _interpolate(op: str, mode: str) -> Function:
    antialias = ", antialias=True" if op.endswith("_aa") else ""
    return replace(_INTERPOLATE, extra=f'mode="{mode}"{antialias}')


FUNCTIONS: Mapping[str, Function] = {
    **_SAME,
    **_ACTIVATIONS,
    **{f"{name}_": replace(function, extra="inplace=True") for name, function in _ACTIVATIONS.items()},
    **{f"{op}.vec": _interpolate(op, mode) for op, mode in _RESIZE.items()},
    **{f"max_pool{n}d_with_indices": Function(f"F.max_pool{n}d", extra="return_indices=True") for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": Function(f"F.adaptive_max_pool{n}d", extra="return_indices=True") for n in (1, 2, 3)},
    "_conj": Function("torch.conj"),
    "_grouped_mm": Function("F.grouped_mm", named=frozenset({"offs", "bias", "out_dtype"})),
    "affine_grid_generator": Function("F.affine_grid", named=frozenset({"align_corners"})),
    "batch_norm": Function(
        "F.batch_norm",
        order=("input", "running_mean", "running_var", "weight", "bias"),
        named=frozenset({"training", "momentum", "eps"}),
        drop=_CUDNN,
        defaults=_NORM_DEFAULTS,
    ),
    "cdist": Function("torch.cdist"),
    "col2im": Function("F.fold"),
    "cross_entropy_loss": Function("F.cross_entropy"),
    "embedding": Function("F.embedding", order=("indices", "weight")),
    "grid_sampler": Function(
        "F.grid_sample",
        rename={"interpolation_mode": "mode"},
        named=frozenset({"interpolation_mode", "padding_mode", "align_corners"}),
    ),
    "group_norm": Function("F.group_norm", drop=_CUDNN),
    "im2col": Function("F.unfold"),
    "instance_norm": Function(
        "F.instance_norm",
        order=("input", "running_mean", "running_var", "weight", "bias"),
        named=frozenset({"use_input_stats", "momentum", "eps"}),
        drop=_CUDNN,
        defaults=_NORM_DEFAULTS | {"running_mean": "None", "running_var": "None", "use_input_stats": "True"},
    ),
    "layer_norm": Function("F.layer_norm", drop=_CUDNN),
    "log_sigmoid": Function("F.logsigmoid"),
    "log_softmax.int": Function("F.log_softmax", named=frozenset({"dim"})),
    "nll_loss_nd": Function("F.nll_loss"),
    "scaled_dot_product_attention": Function("F.scaled_dot_product_attention", named=frozenset({"attn_mask"})),
    "softmax.int": Function("F.softmax", named=frozenset({"dim"})),
    "split.Tensor": Function("torch.split"),
    "split.sizes": Function("torch.split"),
    "split_with_sizes": Function("torch.split"),
    "stft.default": Function("torch.stft", extra="center=False"),
}

# Ops that have a spelling though no namespace of torch has their name.
SPELLED = frozenset(FUNCTIONS) | _words("""
    __and__ __or__ __xor__ __lshift__ __rshift__ _local_scalar_dense _to_copy alias index.Tensor lift_fresh_copy
    matrix_H numpy_T slice.Tensor
    """)

# Ops whose namesake in Python is something else: another op, a property, other results.
NAMESAKES = _words("data index is_leaf norm output_nr retains_grad unique_consecutive")

# What torch.embedding_bag takes where there is no padding index; it returns a tuple, F.embedding_bag the first of it.
EMBEDDING_BAG = Function(
    "torch.embedding_bag",
    defaults={
        "scale_grad_by_freq": "False",
        "mode": "0",
        "sparse": "False",
        "per_sample_weights": "None",
        "include_last_offset": "False",
        "padding_idx": "None",
    },
)
