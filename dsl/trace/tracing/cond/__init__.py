"""`torch.cond`: its branches, and what the user calls them."""
