"""Where each op comes from: noted while the model is traced."""
