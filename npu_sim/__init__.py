"""The simulated NPU: a small CANN runtime under which the unmodified torch_npu wheel runs on any machine.

`environment` starts a process under it, `control` steers it from inside that process, `log` reads what was launched.
"""
